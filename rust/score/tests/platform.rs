//! The same bits on every platform, as digests of many numbers.
//!
//! `scripts/platforms` runs this on each platform, and once with a platform function in place of that of `libm`.

use openoutcry_score::skill::{Selection, deflate, expected_max, min_track_record};
use openoutcry_score::{
    Draws, Moments, Panel, block_length, cagr, calmar, cvar, field_tests, hac, kurtosis, mean_test,
    normal_distribution, overfit, per_bar_rate, sharpe, sharpe_standard_error, skew, sortino, tail_ratio, volatility,
};

const N_DAYS: usize = 600;

/// Returns draws of a linear congruential generator, uniform in [-1, 1).
fn uniforms(seed: u64, n: usize) -> Vec<f64> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
    };
    (0..n).map(|_| next()).collect()
}

fn of_the_normal_distribution() -> Vec<f64> {
    let grid = uniforms(1, 2_000);
    let both = |x: f64| {
        [
            normal_distribution::cdf(9.0 * x),
            normal_distribution::density(9.0 * x),
            normal_distribution::quantile(0.5 + 0.5 * x),
        ]
    };
    grid.into_iter().flat_map(both).collect()
}

fn of_one_track(returns: &[f64]) -> Vec<f64> {
    let moments = Moments::of(returns).unwrap();
    let deflated = deflate(&moments, &Selection::counted(40, returns.len())).unwrap();
    let lagged = hac(returns, 252.0, 5).unwrap();
    let mut numbers = vec![deflated.psr, deflated.dsr, deflated.z, deflated.sr0, lagged.standard_error];
    numbers.extend((2..200).map(expected_max));
    numbers.push(min_track_record(&moments, -0.1, 0.95).unwrap());
    numbers.push(per_bar_rate(0.03, 252.0));
    for statistic in [skew, kurtosis, tail_ratio] {
        numbers.push(statistic(returns).unwrap());
    }
    for yearly in [sharpe, sharpe_standard_error, volatility, cagr, calmar] {
        numbers.push(yearly(returns, 252.0).unwrap());
    }
    numbers.push(sortino(returns, 0.0, 252.0).unwrap());
    numbers.push(cvar(returns, 0.05).unwrap());
    numbers
}

fn of_a_field(returns: &[f64]) -> Vec<f64> {
    let windows = [N_DAYS / 2, N_DAYS / 2];
    let panel = Panel::new(returns, 8, &windows).unwrap();
    let draws = Draws { n: 400, seed: 7, block_length: None };
    let tests = field_tests(&panel, &draws).unwrap();
    let mut numbers = vec![
        block_length(&panel).unwrap(),
        tests.reality_check,
        tests.spa_lower,
        tests.spa_consistent,
        tests.spa_upper,
    ];
    numbers.extend(&tests.romano_wolf);
    numbers.push(overfit(&panel, 8).unwrap().probability);
    let first: Vec<f64> = returns.iter().step_by(8).copied().collect();
    let alone = mean_test(&Panel::new(&first, 1, &windows).unwrap(), &draws).unwrap();
    numbers.extend([alone.mean, alone.p_value]);
    numbers
}

/// Returns the digest of numbers by their bits.
///
/// FNV-1a, since the crate has no other hash.
fn digest(numbers: &[f64]) -> u64 {
    let bytes = numbers.iter().flat_map(|number| number.to_bits().to_le_bytes());
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

#[test]
fn every_platform_makes_the_same_bits() {
    let returns: Vec<f64> = uniforms(2, 8 * N_DAYS).iter().map(|u| 0.01 * u * u * u + 2e-4).collect();
    let received = [of_the_normal_distribution(), of_one_track(&returns[..N_DAYS]), of_a_field(&returns)];
    let received = received.map(|numbers| format!("{:016x}", digest(&numbers)));
    assert_eq!(received, ["7ce4c5d748357527", "bb14dcabce8837fa", "f353f42a2aa46d31"]);
}
