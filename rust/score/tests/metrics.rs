//! Every metric on small numbers, checked by hand.
//!
//! The working is next to each.

use openoutcry_score::{
    METRICS, Track, Trading, Undefined, annual_mean, cagr, calmar, cvar, drawdowns, drawdowns_of_nav, excess,
    gross_exposure, is_riskless, kurtosis, max_drawdown, mean, net_exposure, per_bar_rate, percentile, share_of_nav,
    sharpe, sharpe_standard_error, skew, sortino, standard_deviation, summarize, tail_ratio, total_return, var,
    volatility,
};

/// Mean 0.01, deviations 0.01, -0.01, 0.03, -0.03.
///
/// Squares sum to 0.002, cubes to 0, fourth powers to 164e-8.
const RETURNS: [f64; 4] = [0.02, 0.0, 0.04, -0.02];

#[track_caller]
fn assert_near(value: Result<f64, Undefined>, expected: f64) {
    let value = value.unwrap_or_else(|reason| panic!("undefined: {reason}"));
    assert!((value - expected).abs() <= 1e-14 * expected.abs().max(1.0), "{value} instead of {expected}");
}

#[test]
fn the_mean_and_the_deviation_are_those_of_a_sample() {
    assert_near(mean(&RETURNS), 0.01);
    assert_near(standard_deviation(&RETURNS), (0.002_f64 / 3.0).sqrt());
    // 252 bars a year: times the root.
    assert_near(volatility(&RETURNS, 252.0), (0.002_f64 / 3.0 * 252.0).sqrt());
}

#[test]
fn sharpe_is_the_mean_over_the_deviation_times_the_root_of_a_year() {
    // 0.01 / sqrt(0.002 / 3) = sqrt(0.15); times sqrt(4).
    assert_near(sharpe(&RETURNS, 4.0), 0.6_f64.sqrt());
    assert_near(sharpe(&RETURNS.map(|r| -r), 4.0), -0.6_f64.sqrt());
}

#[test]
fn skew_and_kurtosis_are_those_of_a_population() {
    // 0 by symmetry; 164e-8 / 4 over (0.002 / 4)^2 = 41 / 25.
    assert_near(skew(&RETURNS), 0.0);
    assert_near(kurtosis(&RETURNS), 1.64);
    // 0, 0, 0, 4: mean 1, variance 3, third moment (-3 + 27) / 4 = 6, fourth (3 + 81) / 4 = 21.
    assert_near(skew(&[0.0, 0.0, 0.0, 4.0]), 6.0 / 27.0_f64.sqrt());
    assert_near(kurtosis(&[0.0, 0.0, 0.0, 4.0]), 21.0 / 9.0);
}

#[test]
fn the_standard_error_of_sharpe_knows_skew_and_kurtosis() {
    // SR^2 = 0.15 a bar: 4 (1 - 0 + 0.64 / 4 x 0.15) / 3 = 4.096 / 3.
    assert_near(sharpe_standard_error(&RETURNS, 4.0), (4.096_f64 / 3.0).sqrt());
    // 0, 0, 0, 4: SR = 1 / 2, g3 = 6 / sqrt(27), g4 = 7 / 3: (1 - 3 / sqrt(27) + 1 / 12) / 3.
    let variance = (1.0 - 3.0 / 27.0_f64.sqrt() + 1.0 / 12.0) / 3.0;
    assert_near(sharpe_standard_error(&[0.0, 0.0, 0.0, 4.0], 1.0), variance.sqrt());
}

#[test]
fn sortino_divides_by_the_losses_of_all_bars() {
    // One loss of 0.02 among four bars: sqrt(0.0004 / 4) = 0.01; 0.01 x 4 / (0.01 x 2).
    assert_near(sortino(&RETURNS, 0.0, 4.0), 2.0);
    // Against 0.02 a bar: 0, 0.02, 0, 0.04 below it: sqrt(0.002 / 4); -0.01 x 4 / (that x 2).
    assert_near(sortino(&RETURNS, 0.02, 4.0), -0.02 / (0.0005_f64).sqrt());
}

#[test]
fn growth_compounds() {
    // 1.02 x 1 x 1.04 x 0.98.
    assert_near(total_return(&RETURNS), 0.039_584);
    // 1.21 over two years, then over two bars of a quarter.
    assert_near(cagr(&[0.21, 0.0], 1.0), 0.1);
    assert_near(cagr(&[0.1, 0.1], 4.0), 1.1_f64 * 1.1 * 1.1 * 1.1 - 1.0);
    assert_near(total_return(&[0.5, -1.0, 3.0]), -1.0);
    assert_near(cagr(&[0.5, -1.0, 3.0], 12.0), -1.0);
}

#[test]
fn growth_is_annual_from_a_month_on_and_only_with_known_bars_per_year() {
    let short = Undefined::UnderAMonth { required: 21, received: 20 };
    assert_eq!(cagr(&[0.01; 20], 252.0), Err(short));
    assert_eq!(short.to_string(), "at least 21 returns, one month, are required for annual growth; received 20");
    assert!(cagr(&[0.01; 21], 252.0).is_ok());
    assert_eq!(cagr(&[0.01; 21], f64::NAN), Err(Undefined::UnknownYear));
    assert_eq!(cagr(&[1e100, 1e100], 12.0), Err(Undefined::NotFinite));
}

#[test]
fn a_drawdown_is_the_fall_from_the_highest_so_far_and_the_start_is_a_peak() {
    // Equity 1.25, 0.625, 0.75, 1.5, 1.125.
    assert_eq!(drawdowns(&[0.25, -0.5, 0.2, 1.0, -0.25]), [0.0, -0.5, -0.4, 0.0, -0.25]);
    assert_near(max_drawdown(&[0.25, -0.5, 0.2, 1.0, -0.25]), -0.5);
    assert_near(max_drawdown(&[-0.25, 0.1]), -0.25);
    assert_near(max_drawdown(&[0.25, 0.0]), 0.0);
    assert_near(max_drawdown(&[0.25, -1.0, 0.0]), -1.0);
    // 1.25 x 0.5 x 1.25 in three bars of a year: (0.78125^(1/3) - 1) / 0.5.
    assert_near(calmar(&[0.25, -0.5, 0.25], 1.0), (0.781_25_f64.cbrt_by_newton() - 1.0) / 0.5);
}

/// Cube roots without a call whose rounding depends on the platform.
trait Cube {
    fn cbrt_by_newton(self) -> f64;
}

impl Cube for f64 {
    fn cbrt_by_newton(self) -> f64 {
        (0..60).fold(1.0, |root, _| root - (root * root * root - self) / (3.0 * root * root))
    }
}

#[test]
fn drawdowns_of_nav_begin_at_its_first_value() {
    assert_eq!(drawdowns_of_nav(&[1.0, 1.25, 0.625, 0.75, 1.5, 0.0]), [0.0, 0.0, -0.5, -0.4, 0.0, -1.0]);
    assert_eq!(drawdowns_of_nav(&[2.0, 1.0]), [0.0, -0.5]);
    assert_eq!(drawdowns_of_nav(&[]), [0.0; 0]);
}

#[test]
fn a_share_of_nav_is_of_the_nav_before_it() {
    assert_eq!(share_of_nav(&[0.5, 0.5, 0.0], &[1.0, 2.0, 0.0, 0.0]), [0.5, 0.25, 0.0]);
}

#[test]
fn exposure_is_the_sum_of_the_weights_of_a_bar() {
    // Longs 0.5 and 0.25, a short of 1; then all in cash.
    let weights = [0.5, 0.25, -1.0, 0.0, 0.0, 0.0];
    assert_eq!(gross_exposure(&weights, 3), [1.75, 0.0]);
    assert_eq!(net_exposure(&weights, 3), [-0.25, 0.0]);
    assert_eq!(gross_exposure(&[], 3), [0.0; 0]);
}

#[test]
fn exposure_is_summed_in_the_eight_lanes_of_the_contract() {
    // Symbols 0 and 8 share a lane: 1e16 - 1e16 is 0 there, and the 1 of symbol 4 is left. From left to right it is lost.
    let mut weights = [0.0; 9];
    (weights[0], weights[4], weights[8]) = (1e16, 1.0, -1e16);
    assert_eq!(net_exposure(&weights, 9), [1.0]);
}

#[test]
fn a_constant_return_is_riskless_whatever_its_rounding() {
    assert!(is_riskless(&[0.0; 5]));
    assert!(is_riskless(&[1e-4, 1e-4 + 1e-16, 1e-4 - 1e-16]));
    assert!(!is_riskless(&[1e-4, 1.1e-4, 0.9e-4]));
}

#[test]
fn a_percentile_lies_between_two_order_statistics() {
    let values = [0.04, -0.04, 0.0, 0.02, -0.02];
    // 0.05 x 4 = 0.2 of the way from the lowest to the next.
    assert_near(percentile(&values, 0.05), -0.036);
    assert_near(percentile(&values, 0.5), 0.0);
    assert_near(percentile(&values, 0.0), -0.04);
    assert_near(percentile(&values, 1.0), 0.04);
    assert_near(percentile(&[7.0], 0.3), 7.0);
    assert_near(var(&values, 0.05), -0.036);
}

#[test]
fn the_expected_shortfall_is_the_mean_of_the_lowest() {
    // 21 returns of -0.10, -0.09, .., 0.10: int(20 x 0.05) + 1 = 2 of them.
    let returns: Vec<f64> = (0..21).map(|i| f64::from(i - 10) / 100.0).collect();
    assert_near(cvar(&returns, 0.05), -0.095);
    assert_near(cvar(&returns[..20], 0.05), -0.1);
    // |P95| / |P5| of a symmetric sample.
    assert_near(tail_ratio(&returns), 1.0);
    // P95 of -4, -2, 0, 2, 8: 0.8 of the way from 2 to 8 = 6.8; P5: -3.6.
    assert_near(tail_ratio(&[-4.0, -2.0, 0.0, 2.0, 8.0]), 6.8 / 3.6);
}

#[test]
fn rates_are_turned_from_a_year_to_a_bar_and_back() {
    assert_near(Ok(per_bar_rate(0.21, 2.0)), 0.1);
    assert_near(annual_mean(&[0.5, 0.0, 1.0], 252.0), 126.0);
    assert_eq!(excess(&[0.5, 0.25], Some(&[0.25, 0.5])), [0.25, -0.25]);
    assert_eq!(excess(&[0.5, 0.25], None), [0.5, 0.25]);
}

#[test]
fn what_is_undefined_says_why() {
    let short = |required, received| Err(Undefined::TooShort { required, received });
    assert_eq!(mean(&[]), short(1, 0));
    assert_eq!(standard_deviation(&[0.1]), short(2, 1));
    assert_eq!(sharpe(&[0.1], 252.0), short(2, 1));
    assert_eq!(sortino(&[-0.1], 0.0, 252.0), short(2, 1));
    assert_eq!(total_return(&[]), short(1, 0));
    assert_eq!(max_drawdown(&[]), short(1, 0));
    assert_eq!(sharpe(&[0.1; 9], 252.0), Err(Undefined::NoVariation));
    assert_eq!(sharpe_standard_error(&[0.1; 9], 252.0), Err(Undefined::NoVariation));
    assert_eq!(skew(&[0.1; 9]), Err(Undefined::NoVariation));
    assert_eq!(kurtosis(&[0.1; 9]), Err(Undefined::NoVariation));
    assert_eq!(sortino(&[0.1, 0.0], 0.0, 252.0), Err(Undefined::NoLoss));
    assert_eq!(calmar(&[0.1, 0.0], 252.0), Err(Undefined::NoDrawdown));
    assert_eq!(tail_ratio(&[0.0; 30]), Err(Undefined::NoLoss));
    for fault in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        assert_eq!(mean(&[0.1, fault]), Err(Undefined::NotAReturn));
        assert_eq!(percentile(&[0.1, fault], 0.5), Err(Undefined::NotAReturn));
    }
    for statistic in [total_return(&[-1.5, 0.1]), cagr(&[-1.5, 0.1], 1.0), max_drawdown(&[-1.5, 0.1])] {
        assert_eq!(statistic, Err(Undefined::NotAReturn));
    }
}

#[test]
fn a_deviation_too_small_for_a_double_is_none() {
    // The squares of these deviations are below the smallest double.
    let tiny = [1e-170, 2e-170, 3e-170];
    for statistic in [sharpe(&tiny, 252.0), sharpe_standard_error(&tiny, 252.0), skew(&tiny), kurtosis(&tiny)] {
        assert_eq!(statistic, Err(Undefined::NoVariation));
    }
    // The fourth powers of these are.
    assert_eq!(kurtosis(&[1e-90, 2e-90, 4e-90]), Err(Undefined::NoVariation));
}

#[test]
fn every_reason_has_a_slug_of_its_own() {
    let reasons = [
        Undefined::TooShort { required: 2, received: 1 },
        Undefined::NoVariation,
        Undefined::NoDrawdown,
        Undefined::NoLoss,
        Undefined::NotAReturn,
        Undefined::NoPrecision,
        Undefined::UnequalLengths { required: 2, received: 1 },
        Undefined::NotAbove,
        Undefined::NotAProbability,
        Undefined::TooMany { most: 1, received: 2 },
        Undefined::NotInOrder,
        Undefined::NoTrade,
        Undefined::NoWin,
        Undefined::NoLosingTrade,
    ];
    let slugs: std::collections::BTreeSet<&str> = reasons.iter().map(|reason| reason.slug()).collect();
    assert_eq!(slugs.len(), reasons.len());
    assert_eq!(reasons[5].slug(), "no_precision");
    for reason in reasons {
        assert!(reason.to_string().contains("; received "), "{reason}");
    }
}

#[test]
fn a_summary_holds_every_metric_in_its_order_sharpe_alone_of_excess_returns() {
    let rates = [0.01; 4];
    let track = Track {
        returns: &RETURNS,
        risk_free: Some(&rates),
        trading: Trading { turnover: Ok(0.25), cost: Ok(0.000_25), gross: Ok(0.75), net: Ok(0.0) },
        periods_per_year: 4.0,
    };
    let of = |name: &str| summarize(&track)[METRICS.iter().position(|metric| *metric == name).unwrap()];
    // Excess returns are 0.01, -0.01, 0.03, -0.03: no mean.
    assert_near(of("sharpe"), 0.0);
    assert_near(of("sharpe_se"), (4.0_f64 / 3.0).sqrt());
    assert_near(of("sortino"), 0.0);
    assert_near(of("return"), 0.039_584);
    assert_near(of("cagr"), 0.039_584);
    assert_near(of("vol"), (0.002_f64 / 3.0 * 4.0).sqrt());
    assert_near(of("max_drawdown"), -0.02);
    assert_eq!(of("calmar"), calmar(&RETURNS, 4.0));
    assert_near(of("kurtosis"), 1.64);
    assert_near(of("turnover"), 1.0);
    assert_near(of("cost"), 0.001);
    assert_near(of("exposure"), 0.75);
    assert_near(of("net_exposure"), 0.0);
    assert_near(of("n_returns"), 4.0);
    assert_eq!(of("var_95"), var(&RETURNS, 0.05));
    assert_eq!(of("cvar_95"), cvar(&RETURNS, 0.05));
    assert_eq!(of("tail_ratio"), tail_ratio(&RETURNS));
    assert_eq!(of("skew"), skew(&RETURNS));
}

#[test]
fn a_track_without_returns_is_undefined_in_everything_but_its_count() {
    let track = Track { returns: &[], risk_free: None, trading: Trading::UNKNOWN, periods_per_year: 252.0 };
    for (name, statistic) in METRICS.into_iter().zip(summarize(&track)) {
        match name {
            "n_returns" => assert_eq!(statistic, Ok(0.0)),
            _ => assert!(matches!(statistic, Err(Undefined::TooShort { received: 0, .. })), "{name}: {statistic:?}"),
        }
    }
}
