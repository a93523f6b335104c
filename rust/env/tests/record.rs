//! Records: captured runs replay to the bit, and every change is identified.

mod shared;

use std::convert::Infallible;

use openoutcry::record::{AgentTrajectory, Digest, Fault, Place, RunTrajectory};
use openoutcry::scenario::{Key, ScenarioSpec};
use openoutcry::{
    AgentAnswer, Backtest, BacktestError, Cause, CostModel, Dataset, Decision, FillKey, Limits, MarketObservation,
    Order, OrderTable, Run, Terms, Window, agents, replay_run, replay_submission, run_backtest_capture,
};
use shared::forged;

const COSTS: CostModel = CostModel { slippage_jitter: 0.5, cash_bps: 80.0, ..default_costs() };

const fn default_costs() -> CostModel {
    CostModel { fee_bps: 1.0, slippage_bps: 2.0, financing_bps: 100.0, borrow_bps: 25.0, ..CostModel::zero() }
}

/// Returns a market with late listings, delistings, halts and dividends.
fn market() -> Dataset {
    let spec = ScenarioSpec { n_symbols: 5, n_days: 80, late_listings: 0.5, ..ScenarioSpec::named("hard").unwrap() };
    spec.dataset(&Key::from_seed("train", 3)).unwrap()
}

fn window() -> Window {
    Window { start: 19, end: 50 }
}

fn backtest(data: &Dataset) -> Backtest<'_> {
    Backtest::new(data, window(), u64::MAX, COSTS).unwrap().with_name("a market")
}

fn captured(data: &Dataset) -> (Run, RunTrajectory) {
    backtest(data).capture(&mut agents::Momentum).unwrap()
}

fn same(left: &Run, right: &Run) -> bool {
    let bits = |values: &[f64]| values.iter().map(|value| (value + 0.0).to_bits()).collect::<Vec<_>>();
    bits(&left.nav) == bits(&right.nav)
        && bits(&left.orders.to_vec()) == bits(&right.orders.to_vec())
        && left.events == right.events
        && left.refusals == right.refusals
        && left.terminated_at == right.terminated_at
}

fn verified(data: &Dataset, run: &RunTrajectory) -> bool {
    let text = AgentTrajectory::new("x", vec![run.clone()], 0).to_json();
    let read = AgentTrajectory::from_json(&text).unwrap();
    replay_run(data, &read.runs[0], &Terms::default()).unwrap().is_verified()
}

#[test]
fn a_captured_agent_runs_as_it_does_without_a_record_and_replays() {
    let data = market();
    for name in agents::BASELINES {
        let make = || agents::baseline(name, 3).unwrap();
        let (run, record) = backtest(&data).capture(&mut *make()).unwrap();
        assert!(same(&run, &backtest(&data).run(&mut *make()).unwrap()), "{name}");
        assert!(verified(&data, &record), "{name}");
        assert_eq!(record.steps.len(), 30);
    }
}

#[test]
fn the_answers_of_a_function_are_kept_as_they_came_and_told_line_by_line() {
    let data = market();
    let answer = |text: &str| {
        let shown = MarketObservation::from_json(text).unwrap();
        format!(" {{\"orders\": [], \"reasoning\": \"é\\n {}\"}}\n", shown.date)
    };
    let mut lines = String::new();
    let (run, record) = backtest(&data)
        .try_capture::<BacktestError>(
            |text| Ok(AgentAnswer::strict(answer(text))),
            |line| {
                lines.push_str(line);
                Ok(())
            },
        )
        .unwrap();
    assert!(verified(&data, &record));
    assert!(record.steps[0].decision.starts_with(" {\"orders\": [], \"reasoning\": \"é\\n "));
    let whole = AgentTrajectory::new("x", vec![record], 0).to_lines();
    let told: Vec<&str> = whole.lines().skip(1).take(32).collect();
    assert_eq!(lines.lines().collect::<Vec<_>>(), told);
    assert_eq!(run.nav.len(), 31);
}

/// Returns rows with every kind of weight.
///
/// Holds, both zeros, weights out of range, and orders for symbols that are not listed.
fn rows(data: &Dataset, seed: u64) -> Vec<f64> {
    let values = [f64::NAN, 0.0, -0.0, 0.3, -0.25, 150.0, 1e-300, 0.1 + 0.2];
    let mut state = seed;
    let cells = window().n_decisions() * data.n_symbols();
    (0..cells)
        .map(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            values[(state >> 61) as usize]
        })
        .collect()
}

#[test]
fn rows_of_weights_are_captured_as_decisions_that_replay_to_the_same_bits() {
    let data = market();
    let mut refused = 0;
    for seed in 0..40 {
        let orders = OrderTable::new(rows(&data, seed), data.n_symbols());
        let (run, record) = backtest(&data).capture_orders(&orders).unwrap();
        let plain = backtest(&data).run_table(orders).unwrap();
        assert!(same(&run, &plain), "{seed}");
        refused += plain.events.iter().filter(|(_, event)| event.slug() == "refused").count();
        assert!(verified(&data, &record), "{seed}");
        let record = AgentTrajectory::new("x", vec![record], 0);
        let submitted = &replay_submission(&data, &record, COSTS).unwrap().runs[0];
        let trace = submitted.trace.as_ref().unwrap();
        assert_eq!((&trace.nav, &submitted.returns), (&plain.nav, &plain.returns()));
        assert_eq!(trace.delayed, backtest(&data).run_delayed(&plain).unwrap().returns());
        let events = plain.events.iter().filter(|(_, event)| event.slug() == "refused").count() as u64;
        assert_eq!(trace.events.get("refused").copied().unwrap_or(0), events, "{seed}");
    }
    assert!(refused > 100, "{refused}");
    let mut infinite = rows(&data, 0);
    infinite[7] = f64::INFINITY;
    let error = backtest(&data).capture_orders(&OrderTable::new(infinite, data.n_symbols())).unwrap_err();
    assert_eq!(error.slug(), "weight_not_finite");
}

#[test]
fn an_account_that_ends_early_has_an_early_end() {
    let data = Dataset::synthetic(1, 120, 0).unwrap();
    let limits = Limits { maintenance_margin: 0.9, ..Limits::off() };
    let name = data.symbols()[0].clone();
    let bold = |_: &MarketObservation| Decision { orders: vec![Order::new(&name, 30.0)], reasoning: String::new() };
    let (run, record) = Backtest::new(&data, Window { start: 19, end: 120 }, 0, COSTS)
        .unwrap()
        .with_limits(limits)
        .unwrap()
        .capture(&mut { bold })
        .unwrap();
    let ended = run.terminated_at.unwrap();
    assert_eq!(record.steps.len(), ended + 1);
    assert!(record.end.as_ref().unwrap().terminated);
    assert!(verified(&data, &record));
    let record = AgentTrajectory::new("x", vec![record], 0);
    let submitted = replay_submission(&data, &record, COSTS).unwrap();
    assert_eq!(submitted.runs[0].terminated_at, Some(ended));
    assert_eq!(submitted.runs[0].returns, run.returns());
    assert_eq!(submitted.runs[0].trace.as_ref().unwrap().gross.len(), 100);
}

#[test]
fn a_decision_that_json_cannot_say_is_refused() {
    let data = market();
    let order = |target_weight, confidence| Order { target_weight, confidence, ..Order::new("S000", 0.1) };
    for (order, slug) in [
        (order(f64::NAN, None), "weight_not_finite"),
        (order(0.1, Some(1.5)), "confidence_out_of_range"),
        (order(0.1, Some(f64::NAN)), "confidence_out_of_range"),
    ] {
        let decision = Decision { orders: vec![order], reasoning: String::new() };
        let error = run_backtest_capture(&data, &mut |_: &MarketObservation| decision.clone(), window(), 0, COSTS);
        assert_eq!(error.unwrap_err().slug(), slug);
    }
}

type Change = fn(&mut RunTrajectory);

/// Returns the first place, field and cause that a replay reports after a change.
fn named(data: &Dataset, change: Change, is_forged: bool) -> Option<(Place, &'static str, Cause)> {
    let mut run = captured(data).1;
    change(&mut run);
    let run = if is_forged { forged(&run) } else { run };
    let replay = replay_run(data, &run, &Terms::default()).unwrap();
    replay.differences.first().map(|first| (first.place, first.field, first.cause))
}

fn up(value: &mut f64) {
    *value = f64::from_bits(value.to_bits() + 1);
}

fn short(run: &mut RunTrajectory, step: usize) {
    run.steps[step].decision = "{\"orders\":[{\"action\":\"sell\",\"symbol\":\"S000\",\"target_weight\":-0.5}]}".into();
}

fn of_another_version(run: &mut RunTrajectory) {
    run.header.engine_version = "0.0.9".into();
    short(run, 7);
}

const CHANGES: [(&str, Change, Place, &str, Cause); 15] = [
    ("a witness", |run| up(&mut run.steps[7].nav), Place::Step(7), "nav", Cause::WitnessEdited),
    ("cash", |run| up(&mut run.steps[7].cash), Place::Step(7), "cash", Cause::WitnessEdited),
    ("what was shown", |run| run.steps[7].observation.0[0] ^= 1, Place::Step(7), "observation", Cause::WitnessEdited),
    ("the end", |run| up(&mut run.end.as_mut().unwrap().nav), Place::End, "nav", Cause::WitnessEdited),
    ("an ending", |run| run.end.as_mut().unwrap().terminated = true, Place::End, "terminated", Cause::WitnessEdited),
    ("a decision", |run| short(run, 7), Place::Step(7), "decision", Cause::DecisionEdited),
    ("a space", |run| run.steps[7].decision.push(' '), Place::Step(7), "decision", Cause::DecisionEdited),
    ("a link", |run| run.steps[7].link.0[0] ^= 1, Place::Step(7), "link", Cause::LinkEdited),
    ("the last link", |run| run.end.as_mut().unwrap().link.0[0] ^= 1, Place::End, "link", Cause::LinkEdited),
    ("the header", |run| run.header.costs.fee_bps = 2.0, Place::Header, "link", Cause::HeaderEdited),
    ("a name", |run| run.header.dataset.name.push('!'), Place::Header, "link", Cause::HeaderEdited),
    ("a dropped step", |run| drop(run.steps.remove(7)), Place::Step(7), "link", Cause::StepsMoved),
    ("a dropped last step", |run| drop(run.steps.pop()), Place::End, "link", Cause::StepsMoved),
    ("swapped steps", |run| run.steps.swap(7, 8), Place::Step(7), "link", Cause::StepsMoved),
    ("a doubled step", |run| run.steps.insert(7, run.steps[7].clone()), Place::Step(8), "link", Cause::StepsMoved),
];

#[test]
fn what_was_changed_is_named_with_its_place_and_cause() {
    let data = market();
    assert!(captured(&data).0.nav.iter().any(|nav| *nav != 1.0));
    for (name, change, place, field, cause) in CHANGES {
        assert_eq!(named(&data, change, false), Some((place, field, cause)), "{name}");
    }
}

#[test]
fn a_step_of_another_run_is_named() {
    let data = market();
    let (_, other) = backtest(&data).capture(&mut agents::EqualWeight).unwrap();
    // The first step of another run with the same header has a valid link, and the next one does not.
    for (step, place) in [(0, 1), (7, 7), (29, 29)] {
        let mut run = captured(&data).1;
        run.steps[step] = other.steps[step].clone();
        let replay = replay_run(&data, &run, &Terms::default()).unwrap();
        let first = &replay.differences[0];
        assert_eq!(first.place, Place::Step(place));
        assert!([Cause::StepsMoved, Cause::DecisionEdited].contains(&first.cause), "{step}: {first:?}");
    }
}

#[test]
fn a_chain_that_was_made_anew_does_not_hide_a_change() {
    let data = market();
    for (name, change, place, field, cause) in [
        CHANGES[0],
        CHANGES[2],
        CHANGES[3],
        ("a decision", |run| short(run, 7), Place::Step(8), "nav", Cause::DecisionEdited),
        ("costs", |run| run.header.costs.fee_bps = 2.0, Place::Step(1), "nav", Cause::Rules),
        ("a seed", |run| run.header.fill = openoutcry::record::Fill::Seed(1), Place::Step(1), "nav", Cause::Rules),
        ("a lookback", |run| run.header.lookback = 5, Place::Step(0), "observation", Cause::HeaderEdited),
        ("a window", |run| run.header.window.end = 51, Place::End, "steps", Cause::StepsMoved),
        ("a window that is no window", |run| run.header.window.end = 500, Place::Header, "header", Cause::HeaderEdited),
        ("a version", of_another_version, Place::Header, "engine_version", Cause::VersionUnknown),
    ] as [(&str, Change, Place, &str, Cause); 10]
    {
        assert_eq!(named(&data, change, true), Some((place, field, cause)), "{name}");
    }
}

#[test]
fn other_data_and_other_costs_are_named_with_the_first_bar_they_change() {
    let data = market();
    let (_, run) = captured(&data);
    let other = ScenarioSpec { n_symbols: 5, n_days: 80, ..ScenarioSpec::named("hard").unwrap() };
    let other = other.dataset(&Key::from_seed("train", 4)).unwrap();
    let replay = replay_run(&other, &run, &Terms::default()).unwrap();
    assert_eq!((replay.differences[0].field, replay.differences[0].cause), ("dataset.fingerprint", Cause::Data));
    assert!(replay.differences[1..].iter().all(|each| each.cause == Cause::Data && each.bar.is_some()));
    assert!(replay.differences.len() > 1);
    let costs = CostModel { fee_bps: 1.000_000_000_1, ..COSTS };
    let terms = Terms { costs: Some(costs), ..Terms::default() };
    let replay = replay_run(&data, &run, &terms).unwrap();
    let first = &replay.differences[0];
    assert_eq!((first.field, first.recorded.as_str(), first.cause), ("costs.fee_bps", "1", Cause::Rules));
    assert!(replay.differences[1].ulps.is_some_and(|ulps| ulps < 1000), "{:?}", replay.differences[1]);
    let record = AgentTrajectory::new("x", vec![run], 0);
    assert_eq!(replay_submission(&data, &record, costs).unwrap_err().slug(), "record_differs");
}

#[test]
fn a_run_without_an_end_replays_as_far_as_it_goes_and_is_never_submitted() {
    let data = market();
    let mut run = captured(&data).1;
    run.end = None;
    run.steps.truncate(12);
    let replay = replay_run(&data, &run, &Terms::default()).unwrap();
    assert_eq!((replay.differences.len(), replay.n_steps, replay.is_verified()), (0, 12, false));
    let record = AgentTrajectory::new("x", vec![run], 0);
    let error = replay_submission(&data, &record, COSTS).unwrap_err();
    assert_eq!(error.slug(), "record_unfinished");
    assert_eq!(error.to_string(), "a finished record is required; received one with run 0 unfinished after 12 steps");
}

#[test]
fn a_record_whose_list_of_runs_was_changed_is_refused() {
    let data = market();
    let (_, run) = captured(&data);
    let record = AgentTrajectory::new("x", vec![run.clone(), run], 0);
    assert!(replay_submission(&data, &record, COSTS).is_ok());
    let fewer = AgentTrajectory { runs: record.runs[..1].to_vec(), ..record.clone() };
    let renamed = AgentTrajectory { agent_id: "y".into(), ..record.clone() };
    let untried = AgentTrajectory { in_sample_trials: 9, ..record };
    for changed in [fewer, renamed, untried] {
        assert_eq!(replay_submission(&data, &changed, COSTS).unwrap_err().slug(), "record_differs");
    }
}

#[test]
fn faults_are_holds_and_malformed_means_that_the_text_is_no_decision() {
    let data = market();
    let (_, held) = backtest(&data).capture(&mut agents::HoldCash).unwrap();
    let with = |text: &str, fault: Option<&str>| {
        let mut run = held.clone();
        run.steps[3].decision = text.into();
        run.steps[3].fault = fault.map(|slug| Fault::new(slug).unwrap());
        forged(&run)
    };
    let buy = "{\"orders\":[{\"action\":\"buy\",\"symbol\":\"S000\",\"target_weight\":0.5}]}";
    assert!(verified(&data, &with("", Some("timeout"))));
    assert!(verified(&data, &with(buy, Some("timeout"))));
    assert!(verified(&data, &with("I would buy", Some("malformed"))));
    for run in [with("I would buy", None), with("{\"orders\":[]}", Some("malformed"))] {
        let replay = replay_run(&data, &run, &Terms::default()).unwrap();
        let first = &replay.differences[0];
        assert_eq!((first.place, first.field, first.cause), (Place::Step(3), "fault", Cause::DecisionEdited));
    }
    let record = AgentTrajectory::new("x", vec![with("", Some("timeout"))], 0);
    let submitted = replay_submission(&data, &record, COSTS).unwrap();
    assert_eq!(submitted.runs[0].trace.as_ref().unwrap().faults, [("timeout".to_owned(), 1)].into());
}

#[test]
fn a_sealed_fill_key_is_committed_to_and_needed_where_there_is_noise() {
    let data = market();
    let key = FillKey::from_bytes([9; 32]);
    let (_, run) = backtest(&data).sealed(key).capture(&mut agents::Momentum).unwrap();
    let committed = Digest(key.commitment());
    assert_eq!(run.header.fill, openoutcry::record::Fill::Commitment(committed));
    let error = replay_run(&data, &run, &Terms::default()).unwrap_err();
    assert_eq!(error.slug(), "fill_key_required");
    assert!(error.to_string().contains(&committed.to_string()));
    let with = |fill_key| Terms { fill_key: Some(fill_key), ..Terms::default() };
    assert!(replay_run(&data, &run, &with(key)).unwrap().is_verified());
    let replay = replay_run(&data, &run, &with(FillKey::from_bytes([8; 32]))).unwrap();
    assert_eq!((replay.differences[0].field, replay.differences[0].cause), ("fill.commitment", Cause::Rules));
    let calm = CostModel { slippage_jitter: 0.0, ..COSTS };
    let quiet = Backtest::new(&data, window(), 0, calm).unwrap().sealed(key);
    let (_, run) = quiet.capture(&mut agents::Momentum).unwrap();
    assert!(replay_run(&data, &run, &Terms::default()).unwrap().is_verified());
}

#[test]
fn a_submission_is_what_the_run_was() {
    let data = market();
    let (run, record) = captured(&data);
    let record = AgentTrajectory::new("momentum", vec![record], 5);
    let submission = replay_submission(&data, &record, COSTS).unwrap();
    assert_eq!((submission.agent_id.as_str(), submission.in_sample_trials), ("momentum", 5));
    assert_eq!(submission.digest, record.digest);
    let submitted = &submission.runs[0];
    let trace = submitted.trace.as_ref().unwrap();
    let flows = run.flows(&data).unwrap();
    assert_eq!((&trace.nav, &submitted.returns), (&run.nav, &run.returns()));
    assert_eq!((&trace.turnover, &trace.paid), (&flows.turnover, &flows.costs));
    assert_eq!(submitted.dates, data.dates().texts(19..50));
    assert_eq!(trace.events["filled"], run.fills(&data).unwrap().len() as u64);
    let weights = run.weights(&data).unwrap();
    let gross: Vec<f64> = weights[5..].chunks(5).map(|row| row.iter().map(|weight| weight.abs()).sum()).collect();
    assert!(trace.gross.iter().zip(&gross).all(|(a, b)| (a - b).abs() < 1e-12));
    let held = backtest(&data).run(&mut agents::BuyAndHold::default()).unwrap();
    let benchmarks = submitted.benchmarks.as_ref().unwrap();
    assert_eq!(benchmarks.buy_and_hold, held.returns());
    assert!(benchmarks.cash.iter().all(|earned| *earned > 0.0));
    let told: Result<_, Infallible> = Ok(trace.digest);
    assert_eq!(told.ok(), record.runs[0].digest());
}
