//! The rate at which luck, and skill, is eligible.

use openoutcry_score::normal_distribution;
use openoutcry_score::verdict::{Verdict, score_field};

use crate::random_agents::{Market, held_to, skilled};

#[test]
fn a_field_without_skill_has_an_eligible_agent_as_rarely_as_the_level_says() {
    let n = 25;
    let fields = (0..n).filter(|field| {
        let market = Market::new(&[126, 126], *field);
        let agents: Vec<_> =
            (0..3).map(|k| skilled(&market, &format!("{k}"), 0.0, 0.5, 10 + 100 * field + k)).collect();
        let board = score_field(&agents, &held_to(&agents)).unwrap();
        board.eligible().next().is_some()
    });
    // 6 or more of 25 fields occur in less than one of 100 tests at 5 %.
    assert!(fields.count() <= 5);
}

#[test]
fn skill_is_eligible_about_as_often_as_the_normal_law_says() {
    let (n, days, sharpe) = (30_u64, 504.0_f64, 2.0);
    let found = (0..n).filter(|seed| {
        let market = Market::new(&[252, 252], *seed);
        let agents = [skilled(&market, "a", sharpe, 0.5, 500 + seed)];
        let board = score_field(&agents, &held_to(&agents)).unwrap();
        board.scores[0].verdict == Verdict::Eligible
    });
    let expected = normal_distribution::cdf(sharpe * (days / 252.0).sqrt() - normal_distribution::quantile(0.95));
    let share = found.count() as f64 / n as f64;
    let error = (expected * (1.0 - expected) / n as f64).sqrt();
    assert!((share - expected).abs() < 4.0 * error, "{share} instead of {expected}");
}
