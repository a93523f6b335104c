//! Likely causes in words, for every way in which they arise.

mod shared;

use openoutcry::record::{AgentTrajectory, DatasetName, Digest, Fill, RunTrajectory};
use openoutcry::{Backtest, CostModel, Dataset, Difference, Terms, Window, agents, integrity_differences, replay_run};
use shared::forged;

fn captured(data: &Dataset) -> RunTrajectory {
    let window = Window { start: 19, end: 50 };
    let backtest = Backtest::new(data, window, 0, CostModel::default()).unwrap().with_name("a market");
    backtest.capture(&mut agents::Momentum).unwrap().1
}

fn up(value: &mut f64) {
    *value = f64::from_bits(value.to_bits() + 1);
}

fn trade(run: &mut RunTrajectory, step: usize) {
    run.steps[step].decision = "{\"orders\":[{\"action\":\"sell\",\"symbol\":\"S000\",\"target_weight\":-0.5}]}".into();
}

/// Returns the first difference after a change, with the chain rebuilt or not.
fn first(data: &Dataset, change: fn(&mut RunTrajectory), is_forged: bool, terms: &Terms<'_>) -> Difference {
    let mut run = captured(data);
    change(&mut run);
    let run = if is_forged { forged(&run) } else { run };
    replay_run(data, &run, terms).unwrap().differences.swap_remove(0)
}

type Way = (&'static str, fn(&mut RunTrajectory), bool, &'static str, &'static str);

const WAYS: [Way; 13] = [
    ("a number", |run| up(&mut run.steps[7].nav), false, "witness_edited", "an observation, NAV or cash was edited"),
    ("an ending", |run| run.end.as_mut().unwrap().terminated = true, false, "witness_edited", "the ending was edited"),
    (
        "two numbers of a step",
        |run| {
            up(&mut run.steps[7].nav);
            up(&mut run.steps[7].cash);
        },
        false,
        "steps_moved",
        "several numbers of a step were edited",
    ),
    ("a dropped step", |run| drop(run.steps.remove(7)), false, "steps_moved", "steps are missing"),
    ("a dropped last step", |run| drop(run.steps.pop()), false, "steps_moved", "steps are missing"),
    ("a window", |run| run.header.window.end = 51, true, "steps_moved", "the window of the header was edited"),
    (
        "numbers of two steps",
        |run| {
            up(&mut run.steps[7].nav);
            up(&mut run.steps[12].nav);
        },
        true,
        "decision_edited",
        "numbers of several steps",
    ),
    ("a decision", |run| trade(run, 7), true, "decision_edited", "an earlier decision"),
    ("a decision of this step", |run| trade(run, 7), false, "decision_edited", "a decision or its fault was edited"),
    ("the first trade", |run| trade(run, 0), true, "rules", "its first trade was edited"),
    ("costs", |run| run.header.costs.fee_bps += 1.0, true, "rules", "costs, limits or the fill key differ"),
    ("a lookback", |run| run.header.lookback = 5, true, "header_edited", "the header or the first step was edited"),
    ("a name", |run| run.header.dataset.name.push('!'), false, "header_edited", "the header or its link was edited"),
];

#[test]
fn a_likely_cause_covers_every_way_in_which_it_arises() {
    let data = Dataset::synthetic(4, 60, 1).unwrap();
    for (name, change, is_forged, slug, words) in WAYS {
        let found = first(&data, change, is_forged, &Terms::default());
        assert_eq!(found.cause.slug(), slug, "{name}: {found:?}");
        assert!(found.because().contains(words), "{name}: {}", found.because());
    }
}

#[test]
fn a_market_of_another_name_or_key_is_not_named_as_other_data() {
    let data = Dataset::synthetic(4, 60, 1).unwrap();
    let header = captured(&data).header;
    let known = |commitment| DatasetName {
        commitment,
        fingerprint: header.dataset.fingerprint,
        name: header.dataset.name.clone(),
    };
    let lie: fn(&mut RunTrajectory) = |run| run.header.dataset.commitment = Some(Digest([9; 32]));
    let rename: fn(&mut RunTrajectory) = |run| run.header.dataset.name.push('!');
    for (change, market, words) in [
        (lie, known(Some(Digest([7; 32]))), "sealed under another key"),
        (lie, known(None), "without its key"),
        (rename, known(None), "under another name"),
    ] {
        let terms = Terms { markets: std::slice::from_ref(&market), ..Terms::default() };
        let text = first(&data, change, true, &terms).because();
        assert!(text.contains(words) && text.contains("header was edited"), "{text}");
        assert!(!text.contains("data differ"), "{text}");
    }
}

#[test]
fn other_data_and_a_seed_of_fills_keep_the_words_of_their_cause() {
    let data = Dataset::synthetic(4, 60, 1).unwrap();
    let other = Dataset::synthetic(4, 60, 2).unwrap();
    let found = replay_run(&other, &captured(&data), &Terms::default()).unwrap().differences;
    assert_eq!(found[0].because(), "the data differ from those of the run, or the header was edited");
    let mut run = captured(&data);
    run.header.fill = Fill::Seed(1);
    let first = replay_run(&data, &run, &Terms::default()).unwrap().differences.swap_remove(0);
    assert_eq!(first.cause.slug(), "header_edited", "without a new chain its link differs");
}

#[test]
fn an_edited_digest_may_be_the_digest_itself() {
    let data = Dataset::synthetic(4, 60, 1).unwrap();
    let record = AgentTrajectory::new("x", vec![captured(&data)], 0);
    let own = AgentTrajectory { digest: Some(Digest([1; 32])), ..record.clone() };
    let renamed = AgentTrajectory { agent_id: "y".into(), ..record };
    for changed in [own, renamed] {
        let found = integrity_differences(&changed, None).unwrap();
        assert_eq!(found[0].because(), "the agent, its trials, harness, list of runs or the digest itself was edited");
    }
}
