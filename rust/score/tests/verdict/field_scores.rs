use openoutcry_contract::record::Fill;
use openoutcry_contract::{Submission, SubmittedRun};
use openoutcry_score::verdict::{Reason, ScoreConfig, Verdict, score_agent, score_field};

use crate::random_agents::{Market, Noise, held_to, quick, skilled};

const WINDOWS: [usize; 4] = [252; 4];

#[test]
fn copies_of_a_known_original_count_as_trials_and_are_in_no_test_and_no_rank() {
    let market = Market::new(&WINDOWS, 0);
    let original = skilled(&market, "original", 3.0, 0.0, 1);
    let mut field = vec![original.clone()];
    for k in 0..9 {
        let mut copy = original.clone();
        copy.agent_id = format!("copy-{k}");
        // Some of them are changed by a negligible amount.
        if k % 2 == 1 {
            copy.runs.iter_mut().for_each(|run| run.returns.iter_mut().for_each(|r| *r *= 1.0 + 1e-9));
        }
        field.push(copy);
    }
    let config = ScoreConfig { originals: ["original".to_owned()].into(), ..held_to(&field) };
    let board = score_field(&field, &config).unwrap();
    let alone = score_agent(&original, &quick()).unwrap();
    assert_eq!(board.bands, [["original"]]);
    for score in &board.scores[1..] {
        assert_eq!((score.copy_of.as_deref(), score.rank), (Some("original"), None));
        assert_eq!((score.verdict, score.reasons.as_slice()), (Verdict::NotEligible, [Reason::Copy].as_slice()));
    }
    let first = &board.scores[0];
    assert_eq!(first.selection.n_trials, 10);
    assert!(first.z.unwrap() < alone.z.unwrap());
    assert_eq!(first.sides[0].romano_wolf, alone.sides[0].romano_wolf);
}

#[test]
fn of_one_track_all_are_copies_in_any_order_unless_one_is_known_to_have_made_it() {
    let market = Market::new(&WINDOWS, 0);
    let honest = skilled(&market, "honest", 3.0, 0.0, 1);
    let thief = |name: &str| Submission { agent_id: name.to_owned(), ..honest.clone() };
    let other = skilled(&market, "other", 1.0, 0.3, 2);
    let judged = |agents: [&Submission; 4], originals: &[&str]| {
        let originals = originals.iter().map(|name| (*name).to_owned()).collect();
        let field: Vec<_> = agents.into_iter().cloned().collect();
        score_field(&field, &ScoreConfig { originals, ..quick() }).unwrap()
    };
    let (first, last) = (thief("a-thief"), thief("z-thief"));
    let orders = [[&first, &honest, &other, &last], [&other, &last, &honest, &first]];
    for agents in orders {
        for originals in [&[][..], &["honest", "z-thief"]] {
            let board = judged(agents, originals);
            assert_eq!(board.bands, [["other"]]);
            for name in ["a-thief", "honest", "z-thief"] {
                let score = board.scores.iter().find(|score| score.agent_id == name).unwrap();
                assert!(score.reasons.contains(&Reason::Copy) && score.rank.is_none(), "{name}");
                let kin = score.copy_of.as_deref().unwrap();
                assert!(kin != name && ["a-thief", "honest", "z-thief"].contains(&kin));
                assert!(score.sides[0].romano_wolf.is_ok(), "one of them is in the tests, and stands for the others");
            }
        }
        let board = judged(agents, &["honest"]);
        let ranked: Vec<_> = board.scores.iter().filter(|score| score.rank.is_some()).collect();
        assert_eq!((ranked.len(), ranked[0].agent_id.as_str(), &ranked[0].copy_of), (2, "honest", &None));
    }
    let boards = orders.map(|agents| judged(agents, &[]).to_json());
    assert!(boards[0] == boards[1], "the order of submission changes nothing");
}

#[test]
fn a_seed_that_changes_nothing_is_none() {
    let market = Market::new(&WINDOWS, 0);
    let one = skilled(&market, "one", 2.0, 0.0, 1);
    let mut more = one.clone();
    for seed in 1..5 {
        more.runs.extend(one.runs.iter().map(|run| SubmittedRun { fill: Fill::Seed(seed), ..run.clone() }));
    }
    let (alone, inflated) = (score_agent(&one, &quick()).unwrap(), score_agent(&more, &quick()).unwrap());
    assert_eq!((inflated.n_seeds, inflated.windows[0].n_seeds, &inflated.pass_k), (1, 1, &alone.pass_k));
    assert_eq!((inflated.z, &inflated.sides), (alone.z, &alone.sides));
    assert_eq!(inflated.process.n_decisions, 5 * alone.process.n_decisions);
    // All seeds of the suite were run, and one that differs in a single window is a distinct seed.
    let config = ScoreConfig { seeds: (0..5).map(|seed| seed.to_string()).collect(), ..quick() };
    assert!(!score_agent(&more, &config).unwrap().reasons.contains(&Reason::WindowsMissing));
    more.runs.last_mut().unwrap().returns[3] += 1e-9;
    assert_eq!(score_agent(&more, &config).unwrap().n_seeds, 2);
}

#[test]
fn what_cannot_be_told_apart_shares_a_rank_and_the_board_says_what_it_would_take() {
    let market = Market::new(&WINDOWS, 0);
    let mut field: Vec<_> = (0..4).map(|k| skilled(&market, &format!("good-{k}"), 1.0, 0.0, k)).collect();
    field.push(skilled(&market, "bad", -4.0, 0.0, 9));
    let mut config = quick();
    config.gates.max_drawdown = 1.0;
    let board = score_field(&field, &config).unwrap();
    assert_eq!(board.bands.len(), 2);
    let ranks: Vec<_> = board.scores.iter().map(|score| score.rank.unwrap()).collect();
    assert_eq!(ranks, [1, 1, 1, 1, 5]);
    assert!(board.scores.is_sorted_by(|a, b| a.z.unwrap() >= b.z.unwrap()));
    let apart = board.separation.unwrap();
    assert_eq!((apart.first.as_str(), apart.n_days), (board.scores[0].agent_id.as_str(), 1008));
    assert!(apart.n_needed.unwrap() > 1008.0);
    assert!(board.power.unwrap().sentence().contains("best of 5 agents"));
}

#[test]
fn the_order_of_submission_changes_no_score() {
    let market = Market::new(&WINDOWS, 0);
    let mut field: Vec<_> = (0..5).map(|k| skilled(&market, &format!("agent-{k}"), 0.5 * k as f64, 0.3, k)).collect();
    let board = score_field(&field, &quick()).unwrap();
    field.reverse();
    let other = score_field(&field, &quick()).unwrap();
    assert_eq!(
        (board.bands, board.tests[0].1.as_ref().unwrap().spa_lower),
        (other.bands, other.tests[0].1.as_ref().unwrap().spa_lower)
    );
    for (a, b) in board.scores.iter().zip(&other.scores) {
        assert_eq!((&a.agent_id, a.z, a.verdict, &a.gates), (&b.agent_id, b.z, b.verdict, &b.gates));
    }
}

#[test]
fn an_agent_without_all_windows_touches_nobody_else() {
    let market = Market::new(&WINDOWS, 0);
    let field: Vec<_> = (0..3).map(|k| skilled(&market, &format!("agent-{k}"), 1.0, 0.3, k)).collect();
    let mut more = field.clone();
    let mut lazy = skilled(&market, "lazy", 9.0, 0.0, 7);
    lazy.runs.truncate(2);
    more.push(lazy);
    let (before, after) = (score_field(&field, &quick()), score_field(&more, &quick()));
    let (before, after) = (before.unwrap(), after.unwrap());
    for score in &before.scores {
        let same = after.scores.iter().find(|each| each.agent_id == score.agent_id).unwrap();
        assert_eq!(score.sides[0].romano_wolf, same.sides[0].romano_wolf);
    }
    let lazy = after.scores.last().unwrap();
    assert_eq!((lazy.agent_id.as_str(), lazy.rank), ("lazy", None));
    assert!(lazy.reasons.contains(&Reason::WindowsMissing));
}

#[test]
fn the_luck_floor_is_shown_and_in_no_test() {
    let market = Market::new(&WINDOWS, 0);
    let agent = skilled(&market, "agent", 2.5, 0.0, 1);
    let mut field: Vec<_> = (0..20)
        .map(|k| market.agent(&format!("luck-{k}"), &[Noise::new(100 + k).normal(market.n_days(), 0.0, 0.01)]))
        .collect();
    field.push(agent.clone());
    let config = ScoreConfig { luck_floor: (0..20).map(|k| format!("luck-{k}")).collect(), ..quick() };
    let board = score_field(&field, &config).unwrap();
    let floor = board.luck_floor.unwrap();
    assert_eq!((floor.n_agents, floor.n_defined, board.scores.len()), (20, 20, 1));
    assert!(floor.sharpe.unwrap().is_sorted());
    assert_eq!(board.scores[0].above_luck, Ok(1.0));
    let alone = score_agent(&agent, &config).unwrap();
    assert_eq!((alone.z, alone.sides), (board.scores[0].z, board.scores[0].sides.clone()));
}
