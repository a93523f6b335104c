//! Editions of the scorer: the benchmarks that decide.

use openoutcry_contract::Submission;
use openoutcry_score::verdict::{Edition, Reason, ScoreConfig, Unknown, Verdict, score_field};

use crate::random_agents::{Market, Noise, held_to, n_undefined, skilled};

const WINDOWS: [usize; 4] = [252; 4];

/// Returns passive portfolios: equal parts, the same without costs, and another.
///
/// They have alpha over buy-and-hold.
fn portfolios(market: &Market) -> Vec<Vec<f64>> {
    let noise = Noise::new(8).normal(market.n_days(), 0.0006, 0.002);
    let equal: Vec<f64> = market.held.iter().zip(&noise).map(|(held, own)| held + own).collect();
    let other = Noise::new(9).normal(market.n_days(), 0.0005, 0.004);
    let other = market.held.iter().zip(&other).map(|(held, own)| 0.5 * held + own).collect();
    vec![equal.clone(), equal, other]
}

/// Returns an agent with the passive portfolios.
fn with(mut agent: Submission, passive: &[Vec<f64>]) -> Submission {
    for run in &mut agent.runs {
        let days = run.window.start..run.window.end - 1;
        run.benchmarks.as_mut().unwrap().passive = passive.iter().map(|series| series[days.clone()].to_vec()).collect();
    }
    agent
}

fn of(edition: Edition, agents: &[Submission]) -> ScoreConfig {
    ScoreConfig { edition, ..held_to(agents) }
}

#[test]
fn what_is_passive_is_eligible_in_the_first_edition_only_and_skill_in_both() {
    let market = Market::new(&WINDOWS, 0);
    let passive = portfolios(&market);
    let mixed = passive[1].iter().zip(&passive[2]).map(|(equal, other)| 0.5 * equal + 0.5 * other).collect();
    let agents =
        [with(market.agent("mixed", &[mixed]), &passive), with(skilled(&market, "skilled", 3.0, 0.4, 4), &passive)];
    for (edition, passed) in [
        (Edition::First, vec!["mixed", "skilled"]),
        (Edition::Second, vec!["skilled"]),
        (Edition::Third, vec!["skilled"]),
    ] {
        let board = score_field(&agents, &of(edition, &agents)).unwrap();
        let mut eligible: Vec<&str> = board.eligible().map(|score| score.agent_id.as_str()).collect();
        eligible.sort_unstable();
        assert_eq!(eligible, passed, "{edition:?}");
        assert_eq!(board.tests.len(), board.scores[0].sides.len());
    }
}

#[test]
fn the_board_names_its_edition_and_has_every_number_of_each_benchmark() {
    let market = Market::new(&WINDOWS, 0);
    let agents = [with(skilled(&market, "a", 2.0, 0.4, 4), &portfolios(&market))];
    let json = |edition| -> serde_json::Value {
        serde_json::from_str(&score_field(&agents, &of(edition, &agents)).unwrap().to_json()).unwrap()
    };
    let (first, second, third) = (json(Edition::First), json(Edition::Second), json(Edition::Third));
    assert_eq!(first.get("edition"), None);
    assert_eq!(second["edition"], 2);
    for name in ["buy_and_hold", "cash", "equal_weight", "passive_mix"] {
        assert!(second[format!("tests_{name}")].is_object(), "{name}");
        let window = &second["scores"][0]["windows"][0];
        assert!(window[format!("z_{name}")].is_f64() && window[format!("p_below_{name}")].is_f64(), "{name}");
        let is_old = ["buy_and_hold", "cash"].contains(&name);
        assert_eq!(first.get(format!("tests_{name}")).is_some(), is_old);
    }
    n_undefined(&second);
    assert_eq!((&third["edition"], second.get("tests_past_mix")), (&3.into(), None));
    assert!(third["tests_past_mix"].is_object() && third["scores"][0]["windows"][0]["z_past_mix"].is_f64());
}

#[test]
fn an_agent_without_passive_portfolios_is_unknown_and_one_that_is_such_a_portfolio_is_not_eligible() {
    let market = Market::new(&WINDOWS, 0);
    let passive = portfolios(&market);
    for kept in 0..2 {
        let agents = [with(skilled(&market, "a", 3.0, 0.4, 4), &passive[..kept])];
        let score = &score_field(&agents, &of(Edition::Second, &agents)).unwrap().scores[0];
        assert_eq!((score.verdict, &score.reasons[..]), (Verdict::Unknown, &[Reason::NoPassive][..]), "{kept}");
        assert_eq!(score.sides[3].mean, Err(Unknown::NoPassive));
        assert_eq!(score.sides[2].mean.is_err(), kept == 0);
    }
    let agents = [with(market.agent("equal", std::slice::from_ref(&passive[0])), &passive)];
    let score = &score_field(&agents, &of(Edition::Second, &agents)).unwrap().scores[0];
    assert_eq!(score.verdict, Verdict::NotEligible);
    assert!(score.reasons.contains(&Reason::LowAlpha), "{:?}", score.reasons);
}

#[test]
fn an_unknown_edition_is_refused_and_an_absent_one_is_the_first() {
    assert_eq!(ScoreConfig::from_json("{}").unwrap().edition, Edition::First);
    assert_eq!(ScoreConfig::from_json(r#"{"edition": 2}"#).unwrap().edition, Edition::Second);
    assert_eq!(ScoreConfig::from_json(r#"{"edition": 3}"#).unwrap().edition, Edition::Third);
    for text in [r#"{"edition": 0}"#, r#"{"edition": 4}"#, r#"{"edition": "2"}"#, r#"{"edition": -1}"#] {
        assert!(ScoreConfig::from_json(text).is_err(), "{text}");
    }
}
