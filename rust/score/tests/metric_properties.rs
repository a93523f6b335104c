//! Properties of the metrics of any track.

use openoutcry_score::{
    METRICS, Metrics, Statistic, Track, Trading, cvar, drawdowns, kurtosis, max_drawdown, mean, percentile, sharpe,
    skew, sortino, standard_deviation, summarize, total_return, var,
};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

/// The seed of every property test, so that a run is repeatable.
const SEED: u64 = 20_260_101;

fn config() -> ProptestConfig {
    let full = std::env::var("OPENOUTCRY_FULL").is_ok_and(|value| value == "1");
    let cases = if full { 10_000 } else { 1000 };
    println!("{cases} cases of seed {SEED}");
    // Rejected cases grow with the number of cases, so a fixed bound would be reached.
    let max_global_rejects = cases;
    let rng_seed = RngSeed::Fixed(SEED);
    ProptestConfig { cases, max_global_rejects, rng_seed, failure_persistence: None, ..ProptestConfig::default() }
}

fn returns() -> impl Strategy<Value = Vec<f64>> {
    let usual = prop::collection::vec(-0.1..0.1, 2..80);
    let wild = prop::collection::vec(prop_oneof![6 => -0.5..1.0, 1 => Just(0.0), 1 => Just(-1.0)], 2..80);
    let flat = (prop::collection::vec(Just(0.0), 0..20), -0.9..0.9).prop_map(|(zeros, r)| [zeros, vec![r, r]].concat());
    prop_oneof![4 => usual, 2 => wild, 1 => flat]
}

fn near(a: f64, b: f64, scale: f64) -> bool {
    (a - b).abs() <= 1e-10 * scale.max(1.0)
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn every_metric_is_a_number_or_undefined(returns in returns(), ppy in prop::sample::select(vec![1.0, 12.0, 252.0])) {
        let trading = Trading { turnover: Ok(0.5), cost: Ok(0.01), gross: Ok(1.0), net: Ok(-1.0) };
        let track = Track { returns: &returns, risk_free: None, trading, periods_per_year: ppy };
        for (name, statistic) in METRICS.into_iter().zip(summarize(&track)) {
            if let Ok(value) = statistic {
                prop_assert!(value.is_finite(), "{name} is {value}");
            }
        }
    }

    #[test]
    fn a_metric_is_the_same_alone_and_with_the_others(returns in returns(), rate in -0.01..0.01) {
        let rates = vec![rate; returns.len()];
        for risk_free in [None, Some(rates.as_slice())] {
            let track = Track { returns: &returns, risk_free, trading: Trading::UNKNOWN, periods_per_year: 252.0 };
            for (name, statistic) in METRICS.into_iter().zip(summarize(&track)) {
                let bits = |statistic: Statistic| statistic.map(f64::to_bits);
                prop_assert_eq!(Metrics::of(track).get(name).map(bits), Some(bits(statistic)));
            }
            prop_assert!(Metrics::of(track).get("alpha").is_none());
        }
    }

    #[test]
    fn a_percentile_and_a_tail_mean_are_those_of_sorted_returns(returns in returns(), fraction in 0.0..=1.0) {
        let mut sorted = returns.clone();
        sorted.sort_by(f64::total_cmp);
        let place: f64 = fraction * (sorted.len() - 1) as f64;
        #[expect(clippy::cast_sign_loss, reason = "a place is at least 0")]
        let index = place.floor() as usize;
        let above = sorted[(index + 1).min(sorted.len() - 1)];
        let expected = sorted[index] + (above - sorted[index]) * (place - place.floor());
        prop_assert_eq!(percentile(&returns, fraction).unwrap().to_bits(), expected.to_bits());
        let lowest = &sorted[..=index];
        let tail = lowest.iter().sum::<f64>() / lowest.len() as f64;
        prop_assert_eq!(cvar(&returns, fraction).unwrap().to_bits(), tail.to_bits());
    }

    #[test]
    fn sharpe_does_not_know_the_size_of_the_account(returns in returns(), power in -20..20_i32) {
        let scale = (0..power.abs()).fold(1.0, |scale, _| if power > 0 { scale * 2.0 } else { scale / 2.0 });
        let scaled: Vec<f64> = returns.iter().map(|r| r * scale).collect();
        let bits = |returns: &[f64]| sharpe(returns, 252.0).map(f64::to_bits);
        // A deviation below 1e-8 is rounding, and there is no ratio.
        let varies = |returns: &[f64]| standard_deviation(returns).is_ok_and(|deviation| deviation >= 1e-8);
        if varies(&scaled) && varies(&returns) {
            prop_assert_eq!(bits(&scaled), bits(&returns));
        }
        prop_assert_eq!(skew(&scaled).map(f64::to_bits), skew(&returns).map(f64::to_bits));
        prop_assert_eq!(kurtosis(&scaled).map(f64::to_bits), kurtosis(&returns).map(f64::to_bits));
    }

    #[test]
    fn losses_in_place_of_gains_turn_the_sign(returns in returns()) {
        let turned: Vec<f64> = returns.iter().map(|r| -r).collect();
        prop_assert_eq!(sharpe(&turned, 252.0), sharpe(&returns, 252.0).map(|ratio| -ratio));
        prop_assert_eq!(standard_deviation(&turned), standard_deviation(&returns));
    }

    #[test]
    fn moments_keep_their_bounds(returns in returns()) {
        let (low, high) = returns.iter().fold((f64::MAX, f64::MIN), |(low, high), r| (low.min(*r), high.max(*r)));
        let mean = mean(&returns).unwrap();
        prop_assert!(mean >= low - 1e-15 && mean <= high + 1e-15);
        prop_assert!(standard_deviation(&returns).unwrap() <= (high - low) * 1.000_001);
        // Pearson's inequality.
        if let (Ok(skew), Ok(kurtosis)) = (skew(&returns), kurtosis(&returns)) {
            prop_assert!(kurtosis >= (1.0 + skew * skew) * (1.0 - 1e-9), "{kurtosis} {skew}");
        }
    }

    #[test]
    fn the_order_of_returns_moves_no_moment_and_no_percentile(returns in returns(), fraction in 0.0..=1.0) {
        let reversed: Vec<f64> = returns.iter().rev().copied().collect();
        prop_assert_eq!(percentile(&reversed, fraction), percentile(&returns, fraction));
        prop_assert!(near(mean(&reversed).unwrap(), mean(&returns).unwrap(), 1.0));
        prop_assert!(near(total_return(&reversed).unwrap(), total_return(&returns).unwrap(), 1e6));
        prop_assert_eq!(sortino(&reversed, 0.0, 1.0).is_ok(), sortino(&returns, 0.0, 1.0).is_ok());
    }

    #[test]
    fn growth_over_two_spans_is_the_product_of_both(returns in returns(), at in any::<prop::sample::Index>()) {
        let (first, second) = returns.split_at(1 + at.index(returns.len() - 1));
        let product = (1.0 + total_return(first).unwrap()) * (1.0 + total_return(second).unwrap());
        let whole = 1.0 + total_return(&returns).unwrap();
        prop_assert!(near(whole, product, whole), "{whole} {product}");
    }

    #[test]
    fn a_drawdown_is_a_part_of_the_peak_and_ends_at_the_loss_from_it(returns in returns()) {
        let falls = drawdowns(&returns);
        prop_assert!(falls.iter().all(|fall| (-1.0..=0.0).contains(fall)), "{falls:?}");
        let deepest = max_drawdown(&returns).unwrap();
        prop_assert!(falls.iter().all(|fall| *fall >= deepest));
        // No deeper than all losses in a row.
        let losses: Vec<f64> = returns.iter().map(|r| r.min(0.0)).collect();
        prop_assert!(deepest >= total_return(&losses).unwrap() - 1e-12);
        // A loss from the start is a drawdown from a peak.
        prop_assert!(deepest <= total_return(&returns).unwrap().min(0.0) + 1e-12);
    }

    #[test]
    fn percentiles_rise_with_their_fraction_and_the_tail_mean_lies_below(returns in returns(), a in 0.0..=1.0, b in 0.0..=1.0) {
        let (low, high) = if a < b { (a, b) } else { (b, a) };
        prop_assert!(percentile(&returns, low).unwrap() <= percentile(&returns, high).unwrap());
        prop_assert!(cvar(&returns, low).unwrap() <= var(&returns, low).unwrap() + 1e-15);
    }
}
