//! Worked examples of the literature, and numbers checked by hand.

use openoutcry_score::skill::{
    MAX_CLUSTERED, Selection, Stated, at_cost, break_even_bps, calibrate, decay, deflate, expected_max,
    min_backtest_years, min_track_record, probabilistic_sharpe, regress, rolling_sharpe, tracking, trials, worst,
    z_score,
};
use openoutcry_score::{
    Moments, Undefined, default_lags, hac, normal_distribution, sharpe, sharpe_standard_error, standard_error,
};

#[track_caller]
fn assert_near(value: Result<f64, Undefined>, expected: f64, digits: i32) {
    let value = value.unwrap_or_else(|reason| panic!("undefined: {reason}"));
    let half = 0.5 * (0..digits).fold(1.0, |half, _| half / 10.0);
    assert!((value - expected).abs() <= half, "{value} instead of {expected}");
}

/// Moments of monthly returns of mean 0.036 and deviation 0.079.
fn monthly(skew: f64, kurtosis: f64) -> Moments {
    Moments { n_returns: 24, sharpe: 0.036 / 0.079, skew, kurtosis }
}

/// A daily track of 5 years with an annual ratio of 2.5.
const FIVE_YEARS: Moments = Moments { n_returns: 1250, sharpe: 0.0, skew: -3.0, kurtosis: 10.0 };

fn five_years() -> Moments {
    Moments { sharpe: 2.5 / 250.0_f64.sqrt(), ..FIVE_YEARS }
}

#[test]
fn the_probabilistic_ratio_is_that_of_the_worked_example() {
    assert_near(probabilistic_sharpe(&monthly(-2.448, 10.164), 0.0), 0.912_709_339_6, 10);
    assert_near(probabilistic_sharpe(&monthly(0.0, 3.0), 0.0), 0.981_242_722_3, 10);
}

#[test]
fn the_deflated_ratio_is_that_of_the_worked_example() {
    let spread = (0.5_f64 / 250.0).sqrt();
    let chosen = |n_trials| Selection { n_trials, n_returns: 1250, spread: Some(spread), n_eff: None };
    let of_100 = deflate(&five_years(), &chosen(100)).unwrap();
    assert_near(Ok(of_100.sr0), 0.113_172_001_9, 10);
    assert_near(Ok(of_100.dsr), 0.900_396_834_4, 10);
    assert_eq!((of_100.n_trials, of_100.n_eff, of_100.sigma), (100, None, spread));
    assert_eq!(of_100.moments, five_years());
    assert_near(deflate(&five_years(), &chosen(46)).map(|found| found.dsr), 0.950_501_706_9, 10);
}

#[test]
fn the_least_track_record_is_that_of_the_worked_example() {
    let of = |ppy: f64, skew, kurtosis| {
        let moments = Moments { n_returns: 2, sharpe: 2.0 / ppy.sqrt(), skew, kurtosis };
        min_track_record(&moments, 1.0 / ppy.sqrt(), 0.95)
    };
    assert_near(of(252.0, 0.0, 3.0), 688.208_037, 6);
    assert_near(of(12.0, 0.0, 3.0), 38.877_608, 6);
    assert_near(of(12.0, -0.72, 5.78), 59.895_099, 6);
}

#[test]
fn the_best_of_many_is_that_of_the_worked_example() {
    assert_near(Ok(expected_max(10)), 1.574_598_301_3, 10);
    assert_near(Ok(expected_max(100)), 2.530_602_893_2, 10);
    assert_eq!((expected_max(0), expected_max(1)), (0.0, 0.0));
    // 5 years are the least for 45 trials at a ratio of 1 (Bailey et al. 2014).
    assert_near(min_backtest_years(45, 1.0), 5.0, 1);
    assert_near(min_backtest_years(100, 2.0), (2.530_602_893_2_f64 / 2.0) * (2.530_602_893_2 / 2.0), 8);
}

#[test]
fn a_rank_goes_on_where_the_probability_is_one() {
    let of = |sharpe| Moments::normal(2521, sharpe);
    assert_eq!(probabilistic_sharpe(&of(0.2), 0.0), probabilistic_sharpe(&of(0.3), 0.0));
    assert!(z_score(&of(0.3), 0.0).unwrap() > z_score(&of(0.2), 0.0).unwrap());
}

#[test]
fn what_has_no_precision_or_no_length_is_an_error() {
    // 1 - 4 x 1 + (5 - 1) / 4: two points, one of them rare.
    let binary = Moments { n_returns: 9, sharpe: 1.0, skew: 4.0, kurtosis: 5.0 };
    assert_eq!(probabilistic_sharpe(&binary, 0.0), Err(Undefined::NoPrecision));
    let short = Moments::normal(1, 0.1);
    assert_eq!(z_score(&short, 0.0), Err(Undefined::TooShort { required: 2, received: 1 }));
    let other = Selection::counted(3, 10);
    let unequal = Err(Undefined::UnequalLengths { required: 9, received: 10 });
    assert_eq!(deflate(&Moments::normal(9, 0.1), &other).map(|found| found.dsr), unequal);
    let nothing = Selection { spread: Some(f64::NAN), ..Selection::counted(3, 9) };
    assert_eq!(deflate(&Moments::normal(9, 0.1), &nothing), Err(Undefined::NotAReturn));
    for (sharpe, benchmark) in [(0.1, 0.1), (0.0, 0.1), (f64::NAN, 0.0)] {
        assert_eq!(min_track_record(&Moments::normal(2, sharpe), benchmark, 0.95), Err(Undefined::NotAbove));
    }
    assert_eq!(min_track_record(&Moments::normal(2, 0.1), 0.0, 1.0), Err(Undefined::NotAProbability));
    assert_eq!(min_track_record(&Moments::normal(2, 0.1), f64::NAN, 0.9), Err(Undefined::NotFinite));
    assert_eq!(min_track_record(&Moments::normal(2, 0.1), 0.0, 0.4), Ok(1.0), "to be above is enough");
    assert_eq!(min_backtest_years(10, 0.0), Err(Undefined::NotAbove));
}

#[test]
fn without_lags_the_error_is_that_of_independent_returns() {
    let track = [0.02, 0.0, 0.04, -0.02, 0.03];
    let moments = Moments::of(&track).unwrap();
    let plain = standard_error(&moments, 252.0).unwrap();
    assert_eq!(sharpe_standard_error(&track, 252.0), Ok(plain));
    assert_near(hac(&track, 252.0, 0).map(|found| found.standard_error), plain, 13);
    assert_eq!((default_lags(100), default_lags(2520), default_lags(3)), (4, 8, 1));
    assert_eq!(hac(&track, 252.0, 5), Err(Undefined::TooShort { required: 6, received: 5 }));
}

#[test]
fn returns_that_persist_have_a_larger_error() {
    // Ups and downs in fours: the first autocorrelation is (3 - 1) / 4 but for the ends.
    let track: Vec<f64> = (0..800).map(|t| if t / 4 % 2 == 0 { 0.011 } else { -0.01 }).collect();
    let found = hac(&track, 252.0, 1).unwrap();
    assert!((found.autocorrelation - 0.5).abs() < 0.01, "{found:?}");
    assert!(found.standard_error > 1.2 * sharpe_standard_error(&track, 252.0).unwrap());
}

/// Returns one of eight orthogonal tracks, the first of which is constant.
///
/// They are Walsh functions.
fn walsh(row: u32) -> Vec<f64> {
    (0..8_u32).map(|t| 0.01 * if (row & t).count_ones().is_multiple_of(2) { 1.0 } else { -1.0 } + 0.001).collect()
}

#[test]
fn a_copy_is_a_trial_and_adds_nothing_to_the_spread() {
    let mut tracks: Vec<Vec<f64>> = (1..5).map(walsh).collect();
    tracks[1].iter_mut().for_each(|r| *r += 0.004);
    let alone: Vec<&[f64]> = tracks.iter().map(Vec::as_slice).collect();
    let before = trials(&alone).unwrap();
    assert_eq!((before.n_trials, before.n_returns, before.n_spread, before.n_eff), (4, 8, 4, Ok(4)));
    let scaled: Vec<f64> = tracks[1].iter().map(|r| 3.0 * r).collect();
    let flat = [0.001; 8];
    let padded = [&alone[..], &[&tracks[0], &tracks[1], &scaled, &flat, &tracks[0]]].concat();
    let after = trials(&padded).unwrap();
    assert_eq!((after.n_trials, after.n_spread, after.n_eff), (9, 4, Ok(4)));
    assert_eq!(after.spread, before.spread);
    // Its mirror image is another track, with correlation -1.
    let mirror: Vec<f64> = tracks[1].iter().map(|r| -r).collect();
    assert_eq!(trials(&[&tracks[1], &mirror]).map(|found| (found.n_spread, found.n_eff)), Ok((2, Ok(2))));
}

#[test]
fn a_ledger_of_nothing_and_one_of_unequal_tracks_are_errors() {
    assert_eq!(trials(&[]), Err(Undefined::TooShort { required: 2, received: 0 }));
    assert_eq!(trials(&[&[0.1]]), Err(Undefined::TooShort { required: 2, received: 1 }));
    let unequal = Err(Undefined::UnequalLengths { required: 2, received: 3 });
    assert_eq!(trials(&[&[0.1, 0.2], &[0.1, 0.2, 0.3]]), unequal);
    assert_eq!(trials(&[&[0.1, 0.2], &[0.1, f64::NAN]]), Err(Undefined::NotAReturn));
    let one = trials(&[&[0.1, 0.2]]).unwrap();
    assert_eq!((one.spread, one.n_eff), (Err(Undefined::TooShort { required: 2, received: 1 }), Ok(1)));
    let flat = trials(&[&[0.1, 0.1]]).unwrap();
    assert_eq!((flat.n_trials, flat.n_spread, flat.n_eff), (1, 0, Err(Undefined::NoVariation)));
}

#[test]
fn clusters_merge_by_the_mean_of_their_correlations() {
    // Correlations: a-b 0.8, a-c and b-c 0.6; so the pair and c merge at 0.6, and d stays alone.
    let base = [walsh(1), walsh(2), walsh(4), walsh(3)].map(|row| row.iter().map(|r| r - 0.001).collect::<Vec<_>>());
    let mix = |weights: [f64; 4]| -> Vec<f64> {
        (0..8).map(|t| weights.iter().zip(&base).map(|(w, row)| w * row[t]).sum::<f64>() + 0.001).collect()
    };
    let (a, b) = (mix([1.0, 0.0, 0.0, 0.0]), mix([0.8, 0.6, 0.0, 0.0]));
    let c = mix([0.6, 0.2, (1.0_f64 - 0.36 - 0.04).sqrt(), 0.0]);
    let d = mix([0.0, 0.0, 0.0, 1.0]);
    assert_eq!(trials(&[&a, &b, &c, &d]).unwrap().n_eff, Ok(2));
    // At 0.45 and 0.45 to the pair they stay apart; nine copies of a change nothing.
    let far = mix([0.45, 0.15, (1.0_f64 - 0.45 * 0.45 - 0.15 * 0.15).sqrt(), 0.0]);
    assert_eq!(trials(&[&a, &b, &far, &d]).unwrap().n_eff, Ok(3));
    let copies = [&[a.as_slice(), &b, &far, &d][..], &[a.as_slice(); 9]].concat();
    assert_eq!(trials(&copies).unwrap().n_eff, Ok(3));
}

#[test]
fn too_many_distinct_trials_are_not_clustered_and_still_counted() {
    let tracks: Vec<Vec<f64>> = (0..=MAX_CLUSTERED).map(|k| vec![0.0, 1.0, k as f64 / 1e4]).collect();
    let all: Vec<&[f64]> = tracks.iter().map(Vec::as_slice).collect();
    let found = trials(&all).unwrap();
    assert_eq!(found.n_eff, Err(Undefined::TooMany { most: MAX_CLUSTERED, received: MAX_CLUSTERED + 1 }));
    assert_eq!(found.n_trials, MAX_CLUSTERED + 1);
    assert!(found.spread.is_ok());
}

#[test]
fn declared_trials_add_to_those_counted() {
    let (a, b) = (walsh(1), walsh(2));
    let ledger = trials(&[&a, &b]).unwrap();
    assert_eq!(Selection::of(&ledger, 0).n_trials, 2);
    assert_eq!(Selection::of(&ledger, 40).n_trials, 42);
    assert_eq!(Selection::of(&ledger, u64::MAX).n_trials, u64::MAX);
}

#[test]
fn a_line_in_a_benchmark_keeps_its_alpha() {
    // r = 0.01 + 2 b + e, e orthogonal to b and of mean 0.
    let benchmark = [0.01, -0.01, 0.02, -0.02];
    let rest = [0.002, 0.002, -0.002, -0.002];
    let returns: Vec<f64> = benchmark.iter().zip(rest).map(|(b, e)| 0.01 + 2.0 * b + e).collect();
    let found = regress(&returns, &benchmark).unwrap();
    assert_near(Ok(found.alpha), 0.01, 14);
    assert_near(Ok(found.beta), 2.0, 13);
    for (active, e) in found.active.iter().zip(rest) {
        assert_near(Ok(*active), 0.01 + e, 14);
    }
    // 4 x 4e-6 / 2 left a degree, over 4.
    assert_near(found.alpha_error, (8e-6_f64 / 4.0).sqrt(), 14);
    // Variance explained: 4 x 0.001 of it and 16e-6.
    assert_near(found.r_squared, 0.004 / 0.004_016, 12);
    assert_eq!(regress(&returns, &[0.01; 4]), Err(Undefined::NoVariation));
    assert_eq!(regress(&returns, &benchmark[..3]), Err(Undefined::UnequalLengths { required: 4, received: 3 }));
}

#[test]
fn a_track_that_is_its_benchmark_has_nothing_over_it() {
    let benchmark = [0.01, -0.01, 0.02, -0.02];
    let close = benchmark.map(|b| b + 1e-4);
    assert_eq!(tracking(&close, &benchmark, 252.0), Err(Undefined::NoVariation));
    let noisy: Vec<f64> = benchmark.iter().zip([1e-9, -1e-9, 1e-9, -1e-9]).map(|(b, e)| b + 1e-4 + e).collect();
    assert_eq!(tracking(&noisy, &benchmark, 252.0), Err(Undefined::NoVariation));
    // Differences 0.02, 0, 0.04, -0.02: mean 0.01, SR^2 = 0.15 a bar.
    let apart: Vec<f64> = benchmark.iter().zip([0.02, 0.0, 0.04, -0.02]).map(|(b, e)| b + e).collect();
    let found = tracking(&apart, &benchmark, 4.0).unwrap();
    assert_near(Ok(found.excess), 0.04, 14);
    assert_near(Ok(found.tracking_error), (0.002_f64 / 3.0 * 4.0).sqrt(), 14);
    assert_near(Ok(found.information_ratio), 0.6_f64.sqrt(), 13);
}

#[test]
fn windows_that_roll_have_each_their_own_ratio() {
    let track = [0.02, 0.0, 0.04, -0.02, -0.02, -0.02];
    let rolled = |window| rolling_sharpe(&track, window, 4.0).map(Iterator::collect::<Vec<_>>);
    let pairs = rolled(2).unwrap();
    assert_eq!(pairs.len(), 5);
    assert_near(pairs[0].0, sharpe(&track[..2], 4.0).unwrap(), 14);
    assert_eq!(pairs[4].0, Err(Undefined::NoVariation));
    // The worst defined value is the fourth; windows of equal losses are undefined.
    let (lowest, place) = worst(pairs.iter().map(|pair| pair.0)).unwrap();
    assert_eq!((Ok(lowest), place), (pairs[2].0, 2));
    let pairs = rolled(3).unwrap();
    assert_eq!(pairs.len(), 4);
    assert_near(pairs[0].1, sharpe_standard_error(&track[..3], 4.0).unwrap(), 14);
    assert_eq!(pairs[3].1, Err(Undefined::NoVariation));
    assert_eq!(worst([Err(Undefined::NoVariation)]), Err(Undefined::TooShort { required: 1, received: 0 }));
    for (window, required) in [(7, 7), (1, 2)] {
        let received = if window == 1 { 1 } else { 6 };
        assert_eq!(rolled(window), Err(Undefined::TooShort { required, received }));
    }
}

#[test]
fn a_decay_is_the_share_of_the_ratio_that_is_gone() {
    let inside = [0.02, 0.0, 0.04, -0.02];
    // Half the mean at the same deviation.
    let outside = inside.map(|r| r - 0.005);
    let found = decay(&inside, &outside, 4.0).unwrap();
    assert_near(Ok(found.in_sample), 0.6_f64.sqrt(), 13);
    assert_near(found.decay, 0.5, 13);
    // V = 1 + 0.16 SR^2: 1.024 and 1.006, over 3, times 4.
    assert_near(found.z, 0.5 * 0.6_f64.sqrt() / (4.0 * 2.03_f64 / 3.0).sqrt(), 13);
    assert_eq!(decay(&outside.map(|r| -r), &inside, 4.0).unwrap().decay, Err(Undefined::NotAbove));
    assert_eq!(decay(&[0.1; 3], &inside, 4.0), Err(Undefined::NoVariation));
}

#[test]
fn one_cost_for_all_takes_what_each_would_have_paid() {
    // 10 bps of a turnover of 2, after 5 bps of it were paid.
    let found = at_cost(&[0.01], &[0.001], &[2.0], 10.0).unwrap();
    assert_near(Ok(found[0]), 0.009, 15);
    // 0.011 over 2 is 55 bps.
    assert_near(break_even_bps(&[0.01], &[0.001], &[2.0]), 55.0, 12);
    assert_eq!(break_even_bps(&[0.01], &[0.0], &[0.0]), Err(Undefined::NoTrade));
    assert_eq!(at_cost(&[0.01], &[], &[1.0], 1.0), Err(Undefined::UnequalLengths { required: 1, received: 0 }));
}

#[test]
fn confidence_is_held_against_what_came() {
    let order = |confidence, weight, close| Stated { confidence, weight, fill: 100.0, close };
    let orders = [
        order(Some(0.95), 0.5, 101.0), // came true
        order(Some(0.9), -0.5, 101.0), // a short that lost
        order(Some(0.3), -0.5, 99.0),  // a short that won
        order(Some(1.0), 0.5, 100.0),  // unchanged is no gain
        order(None, 0.5, 101.0),       // not stated
        order(Some(0.8), 0.0, 101.0),  // no direction
    ];
    let found = calibrate(&orders, 10).unwrap();
    assert_eq!((found.n_stated, found.n_absent, found.n_flat), (4, 1, 1));
    assert_near(Ok(found.confidence), 3.15 / 4.0, 14);
    assert_near(Ok(found.hit_rate), 0.5, 14);
    // 0.05^2 + 0.9^2 + 0.7^2 + 1.
    assert_near(Ok(found.brier), (0.0025 + 0.81 + 0.49 + 1.0) / 4.0, 14);
    assert_near(found.brier_skill, -1.3025, 13);
    let counts: Vec<usize> = found.bins.iter().map(|bin| bin.n_orders).collect();
    assert_eq!(counts, [0, 0, 0, 1, 0, 0, 0, 0, 0, 3]);
    assert_near(found.bins[9].confidence, 0.95, 14);
    assert_near(found.bins[9].hit_rate, 1.0 / 3.0, 14);
    assert_eq!(found.bins[0].hit_rate, Err(Undefined::TooShort { required: 1, received: 0 }));
    // A quarter at 0.7 and three quarters at 0.95 - 1/3.
    assert_near(Ok(found.expected_error), 0.25 * 0.7 + 0.75 * (0.95 - 1.0 / 3.0), 13);
    assert_eq!(calibrate(&orders[4..], 10), Err(Undefined::TooShort { required: 1, received: 0 }));
    assert_eq!(calibrate(&[order(Some(1.1), 0.5, 1.0)], 10), Err(Undefined::NotAProbability));
    assert_eq!(calibrate(&[order(Some(0.5), 0.5, f64::NAN)], 10), Err(Undefined::NotAReturn));
    assert_eq!(calibrate(&orders[..1], 1).unwrap().brier_skill, Err(Undefined::NoVariation));
}

#[test]
fn the_normal_distribution_is_its_own_inverse_and_symmetric() {
    assert_eq!(normal_distribution::cdf(0.0), 0.5);
    assert_eq!(normal_distribution::quantile(0.5), 0.0);
    assert_near(Ok(normal_distribution::quantile(0.975)), 1.959_963_984_540_054_2, 15);
    assert_near(Ok(normal_distribution::cdf(-10.0) * 1e23), 0.761_985_302_416_052_6, 14);
    assert_eq!(
        (normal_distribution::quantile(0.0), normal_distribution::quantile(1.0)),
        (f64::NEG_INFINITY, f64::INFINITY)
    );
    assert_eq!((normal_distribution::cdf(f64::NEG_INFINITY), normal_distribution::cdf(f64::INFINITY)), (0.0, 1.0));
    for outside in [-0.1, 1.1, f64::NAN] {
        assert!(normal_distribution::quantile(outside).is_nan());
    }
    assert!(normal_distribution::cdf(f64::NAN).is_nan());
    assert_eq!(normal_distribution::quantile(0.3), -normal_distribution::quantile(1.0 - 0.3));
}
