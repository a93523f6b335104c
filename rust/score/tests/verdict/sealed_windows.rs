//! Scores on sealed windows only, and boards without a suite.

use openoutcry_contract::Submission;
use openoutcry_score::normal_distribution;
use openoutcry_score::verdict::{CompositeScore, Reason, ScoreConfig, Verdict, score_agent, score_field};

use crate::random_agents::{Market, Noise, YEAR, held_to, quick, skilled};

/// Three long windows and eight short ones, a tenth of the default suite.
const LENGTHS: [usize; 11] = [225, 225, 250, 125, 125, 125, 125, 125, 125, 125, 125];
const N_PUBLIC: usize = 3;

/// Returns the configuration of a suite whose first windows are public.
fn suite(agents: &[Submission], n_public: usize) -> ScoreConfig {
    let mut config = held_to(agents);
    config.windows.iter_mut().take(n_public).for_each(|window| window.sealed = false);
    config
}

/// Returns an agent with one Sharpe ratio on public windows and one on sealed ones.
fn agent(market: &Market, public: f64, sealed: f64, seed: u64) -> Submission {
    let n_public: usize = LENGTHS[..N_PUBLIC].iter().sum();
    let mut own = Noise::new(seed).normal(market.n_days(), 0.0, 0.01);
    for (day, r) in own.iter_mut().enumerate() {
        *r += 0.01 * if day < n_public { public } else { sealed } / YEAR.sqrt();
    }
    market.agent("a", &[own])
}

fn gate(score: &CompositeScore, slug: &str) -> Option<bool> {
    score.gates.iter().find(|gate| gate.slug == slug).unwrap().passed
}

#[test]
fn under_no_suite_nobody_is_eligible_and_every_number_is_there() {
    let great = skilled(&Market::new(&[252; 4], 0), "a", 3.0, 0.0, 1);
    let (with, without) = (score_agent(&great, &held_to(std::slice::from_ref(&great))), score_agent(&great, &quick()));
    let (with, without) = (with.unwrap(), without.unwrap());
    assert_eq!((with.verdict, gate(&with, "protocol")), (Verdict::Eligible, Some(true)));
    assert_eq!((without.verdict, gate(&without, "protocol")), (Verdict::Unknown, None));
    assert_eq!(without.reasons, [Reason::NoSuite]);
    assert_eq!((without.z, without.rank, without.sides, without.sealed), (with.z, Some(1), with.sides, None));
}

#[test]
fn public_windows_alone_are_named_and_decide_nothing() {
    let great = skilled(&Market::new(&[252; 4], 0), "a", 3.0, 0.0, 1);
    let score = score_agent(&great, &suite(std::slice::from_ref(&great), 4)).unwrap();
    assert_eq!((score.verdict, score.reasons), (Verdict::Eligible, vec![Reason::PublicWindows]));
    assert!(score.sealed.is_none() && score.gates.iter().all(|gate| gate.slug != "sealed"));
}

#[test]
fn what_sealed_windows_say_is_what_a_suite_of_them_alone_says() {
    let market = Market::new(&LENGTHS, 5);
    let mut field = vec![agent(&market, 6.0, 1.0, 1), skilled(&market, "b", 1.0, 0.3, 2)];
    let all = score_field(&field, &suite(&field, N_PUBLIC)).unwrap();
    let last: Vec<_> = field[0].runs.iter().skip(N_PUBLIC).map(|run| run.window).collect();
    for agent in &mut field {
        agent.runs.retain(|run| last.contains(&run.window));
    }
    let alone = score_field(&field, &held_to(&field)).unwrap();
    for score in &alone.scores {
        let told = all.scores.iter().find(|each| each.agent_id == score.agent_id).unwrap().sealed.clone().unwrap();
        assert_eq!((told.z, told.n_windows, told.n_days), (score.z, 8, score.n_days));
        for gate in &told.gates {
            assert!(score.gates.contains(gate), "{gate:?}");
        }
    }
}

#[test]
fn hindsight_leads_no_board() {
    let market = Market::new(&LENGTHS, 5);
    let mut field = vec![agent(&market, 8.0, 0.0, 1), skilled(&market, "b", 1.5, 0.3, 2)];
    let board = score_field(&field, &suite(&field, N_PUBLIC)).unwrap();
    let order: Vec<_> = board.scores.iter().map(|score| score.agent_id.as_str()).collect();
    assert_eq!(order, ["b", "a"]);
    for score in &board.scores {
        assert!(score.z.unwrap() <= score.sealed.clone().unwrap().z.unwrap());
    }
    // It has a rank if no sealed windows are required.
    let board = score_field(&field, &held_to(&field)).unwrap();
    assert_eq!(board.scores[0].agent_id, "a");
    // An agent at rest on sealed windows has no rank.
    field[0].runs.iter_mut().skip(N_PUBLIC).for_each(|run| run.returns.fill(0.0));
    let board = score_field(&field, &suite(&field, N_PUBLIC)).unwrap();
    assert_eq!((board.scores[1].agent_id.as_str(), board.scores[1].rank), ("a", None));
}

#[test]
fn too_few_sealed_windows_are_insufficient_and_none_of_them_are_missing() {
    let market = Market::new(&[252; 4], 0);
    let great = skilled(&market, "a", 3.0, 0.0, 1);
    let config = suite(std::slice::from_ref(&great), 3);
    let score = score_agent(&great, &config).unwrap();
    assert_eq!((score.verdict, score.reasons.as_slice()), (Verdict::Insufficient, [Reason::Insufficient].as_slice()));
    let mut field = vec![great.clone(), Submission { agent_id: "b".to_owned(), ..great }];
    field[1].runs.pop();
    let board = score_field(&field, &config).unwrap();
    let lazy = board.scores.iter().find(|score| score.agent_id == "b").unwrap();
    assert!(lazy.sealed.is_none() && lazy.reasons.contains(&Reason::WindowsMissing) && lazy.rank.is_none());
}

#[test]
fn an_agent_that_rests_on_sealed_windows_is_not_eligible() {
    let market = Market::new(&LENGTHS, 5);
    let mut prophet = agent(&market, 8.0, 0.0, 1);
    prophet.runs.iter_mut().skip(N_PUBLIC).for_each(|run| run.returns.fill(0.0));
    let score = score_agent(&prophet, &suite(std::slice::from_ref(&prophet), N_PUBLIC)).unwrap();
    assert_eq!(score.verdict, Verdict::NotEligible);
    let sealed = score.sealed.unwrap();
    assert!(sealed.reasons.contains(&Reason::LowVolatility), "{:?}", sealed.reasons);
}

#[test]
fn hindsight_on_public_windows_is_eligible_no_oftener_than_luck_and_skill_as_often_as_the_normal_law_says() {
    let n = 8;
    let sharpe = 2.0;
    let (mut hindsight, mut before, mut skill, mut without) = (0, 0, 0, 0);
    let is_eligible = |agent: &Submission, n_public: usize| {
        let config = suite(std::slice::from_ref(agent), n_public);
        usize::from(score_agent(agent, &config).unwrap().verdict == Verdict::Eligible)
    };
    for seed in 0..n {
        let market = Market::new(&LENGTHS, seed);
        let (prophet, skilled) = (agent(&market, 8.0, 0.0, 3 * seed), agent(&market, sharpe, sharpe, 3 * seed + 1));
        hindsight += is_eligible(&prophet, N_PUBLIC);
        before += is_eligible(&prophet, 0);
        skill += is_eligible(&skilled, N_PUBLIC);
        without += is_eligible(&skilled, 0);
    }
    println!("hindsight: {hindsight} of {n} eligible, {before} without the gate; skill: {skill}, {without} without");
    // `tests/scoring/test_score_sealed.py` has more draws. 4 or more of 8 at 5 % occur in less than one of 1,000 tests.
    assert!(hindsight <= 3 && before > hindsight, "{hindsight} {before}");
    let years = LENGTHS[N_PUBLIC..].iter().sum::<usize>() as f64 / YEAR;
    let expected = n as f64 * normal_distribution::cdf(sharpe * years.sqrt() - normal_distribution::quantile(0.95));
    assert!(skill as f64 > expected - 4.0, "{skill} instead of {expected}, {without}");
}
