//! Statistical power, checked by hand.

use openoutcry_score::power::{Board, power};
use openoutcry_score::skill::{expected_max, probabilistic_sharpe};
use openoutcry_score::{Moments, Undefined, normal_distribution};

const BOARD: Board =
    Board { n_returns: 50, n_agents: 21, periods_per_year: 252.0, sharpe: 1.0, size: 0.05, power: 0.8 };

fn near(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-12 * b.abs()
}

#[test]
fn fifty_days_say_next_to_nothing_of_twenty_one_agents() {
    let found = power(&BOARD).unwrap();
    assert!(near(found.standard_error, (252.0_f64 / 49.0).sqrt()));
    assert!(near(found.best_expected, (252.0_f64 / 49.0).sqrt() * expected_max(21)));
    assert!((found.best_expected - 4.36).abs() < 0.005, "{found:?}");
    // All 21 are below it in 95 % of fields.
    let below = normal_distribution::cdf(found.best_quantile / found.standard_error);
    assert!(near((0..21).fold(1.0, |all, _| all * below), 0.95));
    assert!(near(found.years_needed, found.n_needed / 252.0));
    assert!(near(found.tracks_needed, ((found.n_needed - 1.0) / 49.0).ceil()));
}

#[test]
fn an_agent_alone_needs_the_length_of_a_track_record_at_half_power() {
    let alone = Board { n_agents: 1, power: 0.5, ..BOARD };
    let found = power(&alone).unwrap();
    // At half power the observed ratio is the true one: its probability of being above 0 is one less the size.
    let shown = |n_returns| Moments::normal(n_returns, 1.0 / 252.0_f64.sqrt());
    let least = (2..10_000).find(|n| probabilistic_sharpe(&shown(*n), 0.0).unwrap() >= 0.95).unwrap();
    assert_eq!(found.n_needed, least as f64);
    assert_eq!(found.best_expected, 0.0);
}

#[test]
fn the_least_ratio_seen_is_the_one_that_so_many_returns_are_needed_for() {
    let found = power(&Board { n_returns: 2000, ..BOARD }).unwrap();
    let least = found.min_sharpe.unwrap();
    let asked = power(&Board { n_returns: 2000, sharpe: least, ..BOARD }).unwrap();
    assert!((asked.n_needed - 2000.0).abs() <= 1.0, "{asked:?}");
    assert_eq!(asked.tracks_needed, 1.0);
    let few = power(&Board { n_returns: 4, ..BOARD }).unwrap();
    assert_eq!(few.min_sharpe, Err(Undefined::NoPrecision));
    assert!(few.sentence().contains("No true ratio can be detected"));
}

#[test]
fn the_sentence_has_the_numbers() {
    let expected = "Over 50 returns, the best of 21 agents without skill has an expected annual Sharpe ratio of 4.4, \
                    and exceeds 6.4 in 5 % of samples. The standard error of one ratio is 2.3. ";
    let told = power(&BOARD).unwrap().sentence();
    assert!(told.starts_with(expected), "{told}");
    let alone = power(&Board { n_agents: 1, ..BOARD }).unwrap().sentence();
    assert!(alone.contains("an agent without skill") && alone.contains("The standard error of its ratio"), "{alone}");
}

#[test]
fn a_board_that_is_none_is_an_error() {
    let of = |board: Board| power(&board).unwrap_err();
    assert_eq!(of(Board { n_returns: 1, ..BOARD }), Undefined::TooShort { required: 2, received: 1 });
    assert_eq!(of(Board { n_agents: 0, ..BOARD }), Undefined::TooShort { required: 1, received: 0 });
    assert_eq!(of(Board { size: 0.0, ..BOARD }), Undefined::NotAProbability);
    assert_eq!(of(Board { power: 1.0, ..BOARD }), Undefined::NotAProbability);
    for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert_eq!(of(Board { sharpe: bad, ..BOARD }), Undefined::NotAbove);
        assert_eq!(of(Board { periods_per_year: bad, ..BOARD }), Undefined::NotAbove);
    }
}
