//! Properties of any track and ledger: trials never make luck look like skill.

use openoutcry_score::power::{Board, power};
use openoutcry_score::skill::{
    Selection, Stated, calibrate, deflate, expected_max, min_track_record, probabilistic_sharpe, regress,
    rolling_sharpe, trials, z_score,
};
use openoutcry_score::trades::{Cause, Kind, Movement, summarize_trades, trades};
use openoutcry_score::{
    Moments, Statistic, hac, mean, normal_distribution, sharpe, sharpe_standard_error, standard_error,
};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

/// The seed of every property test, so that a run is repeatable.
const SEED: u64 = 20_260_102;

fn config() -> ProptestConfig {
    let full = std::env::var("OPENOUTCRY_FULL").is_ok_and(|value| value == "1");
    let cases = if full { 10_000 } else { 500 };
    println!("{cases} cases of seed {SEED}");
    // Rejected cases grow with the number of cases, so a fixed bound would be reached.
    let max_global_rejects = cases;
    let rng_seed = RngSeed::Fixed(SEED);
    ProptestConfig { cases, max_global_rejects, rng_seed, failure_persistence: None, ..ProptestConfig::default() }
}

/// Moments that a sample can have: kurtosis is at least 1 + skew^2.
fn moments() -> impl Strategy<Value = Moments> {
    (2..5000_usize, -0.5..0.5, -3.0..3.0, 0.1..20.0).prop_map(|(n_returns, sharpe, skew, above): (_, _, f64, f64)| {
        Moments { n_returns, sharpe, skew, kurtosis: 1.0 + skew * skew + above }
    })
}

fn track(n: impl Into<prop::collection::SizeRange>) -> impl Strategy<Value = Vec<f64>> {
    prop::collection::vec(-0.1..0.1, n)
}

fn ledger() -> impl Strategy<Value = Vec<Vec<f64>>> {
    (5..40_usize).prop_flat_map(|n| prop::collection::vec(track(n), 1..8))
}

fn slices(tracks: &[Vec<f64>]) -> Vec<&[f64]> {
    tracks.iter().map(Vec::as_slice).collect()
}

fn movements() -> impl Strategy<Value = Vec<Movement>> {
    let whole = (-3..4_i32).prop_map(f64::from);
    let fill = (whole, 1..200_i32).prop_map(|(shares, price)| Kind::Fill {
        shares,
        price: f64::from(price),
        fee: f64::from(price) / 64.0,
        cause: Cause::Order,
    });
    let others = [Kind::Dividend(0.25), Kind::Split(2.0), Kind::Ruin(20.0)].map(Just);
    let [dividend, split, ruin] = others;
    let kind = prop_oneof![6 => fill, 1 => dividend, 1 => split, 1 => ruin];
    prop::collection::vec((kind, 0..3_usize), 0..40).prop_map(|kinds| {
        let movement = |(bar, (kind, symbol))| Movement { bar, symbol, kind };
        kinds.into_iter().enumerate().map(movement).collect()
    })
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn more_trials_never_raise_a_deflated_ratio(moments in moments(), n in 0..1_000_000_000_u64, more in 1..1000_u64, spread in 0.0..0.2) {
        let of = |n_trials| deflate(&moments, &Selection { n_trials, n_returns: moments.n_returns, spread: Some(spread), n_eff: None });
        let (fewer, greater) = (of(n).unwrap(), of(n + more).unwrap());
        prop_assert!(greater.dsr <= fewer.dsr && greater.z <= fewer.z && greater.sr0 >= fewer.sr0);
        prop_assert!(fewer.dsr <= fewer.psr);
        prop_assert!(expected_max(n + more) >= expected_max(n));
    }

    #[test]
    fn a_rolling_ratio_is_that_of_its_window_alone(
        returns in track(2..200), window in 2..60_usize, outlier in any::<prop::sample::Index>(), size in 0..4_usize,
        calm in 0..200_usize,
    ) {
        // A loss of almost everything or a gain of 1,000 times leaves no trace in later windows, and neither does
        // a calm time after a wild one.
        let mut returns = returns;
        returns.iter_mut().skip(calm).for_each(|r| *r *= 1e-6);
        let place = outlier.index(returns.len());
        returns[place] = [0.0, -0.999, 10.0, 1000.0][size];
        let Ok(rolled) = rolling_sharpe(&returns, window, 252.0) else { return Ok(()) };
        let near = |a: Statistic, b: Statistic, rounding: f64| match (a, b) {
            (Ok(a), Ok(b)) => (a - b).abs() <= 1e-9 * b.abs().max(1.0) + rounding,
            (a, b) => a.is_err() == b.is_err(),
        };
        for (at, (ratio, error)) in rolled.enumerate() {
            let alone = &returns[at..at + window];
            prop_assert!(near(ratio, sharpe(alone, 252.0), 0.0), "{at}: {ratio:?} {:?}", sharpe(alone, 252.0));
            let expected = sharpe_standard_error(alone, 252.0);
            // The error has the rounding of the kurtosis times the square of the ratio per bar.
            let rounding = ratio.map_or(0.0, |ratio| 1e-14 * ratio * ratio / 252.0);
            prop_assert!(near(error, expected, rounding), "{at}: {error:?} {expected:?}");
        }
    }

    #[test]
    fn copies_in_the_ledger_never_raise_a_deflated_ratio(
        ledger in ledger(), which in prop::collection::vec(any::<prop::sample::Index>(), 1..30), scale in prop::sample::select(vec![1.0, 0.5, 4.0]),
    ) {
        let Ok(moments) = Moments::of(&ledger[0]) else { return Ok(()) };
        let of = |tracks: &[Vec<f64>]| deflate(&moments, &Selection::of(&trials(&slices(tracks)).unwrap(), 0)).unwrap();
        let before = of(&ledger);
        let mut padded = ledger.clone();
        padded.extend(which.iter().map(|index| index.get(&ledger).iter().map(|r| r * scale).collect()));
        let after = of(&padded);
        prop_assert!(after.dsr <= before.dsr, "{after:?} {before:?}");
        prop_assert_eq!(after.sigma, before.sigma);
        // Nor if they are placed among later trials.
        let at = which[0].index(ledger.len());
        let mut early = ledger.clone();
        early.insert(at + 1, ledger[at].iter().map(|r| r * scale).collect());
        prop_assert_eq!(of(&early).sigma, before.sigma);
    }

    #[test]
    fn a_spread_is_never_below_that_of_luck(n_returns in 2..5000_usize, spread in prop::option::of(0.0..1.0)) {
        let sigma = Selection { n_trials: 9, n_returns, spread, n_eff: None }.sigma();
        prop_assert!(sigma >= 1.0 / (n_returns as f64 - 1.0).sqrt());
        prop_assert!(spread.is_none_or(|spread| sigma >= spread));
    }

    #[test]
    fn a_probability_rises_with_the_ratio_and_falls_with_what_it_must_beat(moments in moments(), rise in 0.0..0.3, benchmark in -0.2..0.2) {
        // Valid while skew times the ratio is below 2, which holds for realistic ratios.
        let high = Moments { sharpe: f64::min(moments.sharpe + rise, 0.6), ..moments };
        prop_assert!(probabilistic_sharpe(&high, 0.0).unwrap() >= probabilistic_sharpe(&moments, 0.0).unwrap());
        let normal = |sharpe| Moments::normal(moments.n_returns, sharpe);
        prop_assert!(z_score(&normal(moments.sharpe + rise), 0.0).unwrap() >= z_score(&normal(moments.sharpe), 0.0).unwrap());
        prop_assert!(z_score(&moments, benchmark + rise).unwrap() <= z_score(&moments, benchmark).unwrap());
        prop_assert!((0.0..=1.0).contains(&probabilistic_sharpe(&moments, benchmark).unwrap()));
    }

    #[test]
    fn the_least_record_is_the_length_at_which_the_probability_is_reached(moments in moments(), gap in 1e-3..1.0, confidence in 0.55..0.999) {
        let benchmark = moments.sharpe - gap;
        let least = min_track_record(&moments, benchmark, confidence).unwrap();
        let of = |n_returns| probabilistic_sharpe(&Moments { n_returns, ..moments }, benchmark).unwrap();
        #[expect(clippy::cast_sign_loss, reason = "a length of at least 1")]
        let whole = least as usize;
        prop_assume!((2..1_000_000_000).contains(&whole));
        prop_assert!(of(whole) <= confidence + 1e-12 && of(whole + 1) >= confidence - 1e-12, "{least}");
    }

    #[test]
    fn the_error_without_lags_is_the_plain_one_and_scales_with_the_year(returns in (3..60_usize).prop_flat_map(track), ppy in prop::sample::select(vec![12.0, 252.0])) {
        let moments = Moments::of(&returns).unwrap();
        let Ok(plain) = standard_error(&moments, ppy) else { return Ok(()) };
        prop_assert_eq!(sharpe_standard_error(&returns, ppy), Ok(plain));
        let counted = hac(&returns, ppy, 0).unwrap();
        prop_assert!((counted.standard_error / plain - 1.0).abs() < 1e-9, "{counted:?} {plain}");
        prop_assert!(counted.autocorrelation.abs() <= 1.0 + 1e-12);
    }

    #[test]
    fn the_active_part_has_mean_alpha_and_nothing_of_the_benchmark(pair in (4..60_usize).prop_flat_map(|n| (track(n), track(n)))) {
        let (returns, benchmark) = pair;
        let found = regress(&returns, &benchmark).unwrap();
        prop_assert!((mean(&found.active).unwrap() - found.alpha).abs() < 1e-15);
        let rest = regress(&found.active, &benchmark).unwrap();
        prop_assert!(rest.beta.abs() < 1e-12, "{rest:?}");
        // Holding more of the benchmark changes no alpha.
        let levered: Vec<f64> = returns.iter().zip(&benchmark).map(|(r, b)| r + 2.0 * b).collect();
        let again = regress(&levered, &benchmark).unwrap();
        prop_assert!((again.alpha - found.alpha).abs() < 1e-14 && (again.beta - found.beta - 2.0).abs() < 1e-12);
    }

    #[test]
    fn the_normal_distribution_inverts_itself(log in -700.0..-0.694_f64) {
        let p = libm::exp(log);
        let back = normal_distribution::cdf(normal_distribution::quantile(p));
        // A rounding of the quantile is x^2 roundings of the probability.
        prop_assert!((back / p - 1.0).abs() < 1e-15 * (4.0 - 4.0 * log), "{p} {back}");
        prop_assert_eq!(normal_distribution::quantile(1.0 - p), -normal_distribution::quantile(1.0 - (1.0 - p)));
    }

    #[test]
    fn a_score_of_confidence_lies_between_none_and_all_wrong(told in prop::collection::vec((0.0..=1.0, any::<bool>(), any::<bool>()), 1..40), n_bins in 1..20_usize) {
        let order = |(stated, rose, long): (f64, bool, bool)| Stated {
            confidence: Some(stated),
            weight: if long { 0.5 } else { -0.5 },
            fill: 10.0,
            close: if rose { 11.0 } else { 9.0 },
        };
        let found = calibrate(&told.iter().copied().map(order).collect::<Vec<_>>(), n_bins).unwrap();
        prop_assert!((0.0..=1.0).contains(&found.brier) && (0.0..=1.0 + 1e-12).contains(&found.expected_error));
        prop_assert_eq!(found.bins.iter().map(|bin| bin.n_orders).sum::<usize>(), told.len());
        for bin in &found.bins {
            if let Ok(stated) = bin.confidence {
                prop_assert!((bin.low..=bin.high).contains(&stated) || (stated - bin.low).abs() < 1e-12 || (stated - bin.high).abs() < 1e-12);
            }
        }
        // (stated - outcome)^2 is at most |stated - outcome|, and its mean at least the square of the mean gap.
        let gap = found.confidence - found.hit_rate;
        prop_assert!(found.brier + 1e-12 >= gap * gap);
    }

    #[test]
    fn trades_bring_what_all_fills_bring_where_nothing_is_left_open(movements in movements()) {
        let mut all = movements;
        let mut held = [0.0; 3];
        let mut cash = 0.0;
        let last = all.len();
        for movement in &all {
            match movement.kind {
                Kind::Fill { shares, price, fee, .. } => {
                    held[movement.symbol] += shares;
                    // Every fill pays a fee, except a fill of no shares without a position.
                    cash -= if shares == 0.0 && held[movement.symbol] == 0.0 { 0.0 } else { shares * price + fee };
                }
                Kind::Dividend(paid) => cash += held[movement.symbol] * paid,
                Kind::Split(ratio) => held[movement.symbol] *= ratio,
                Kind::Ruin(price) => cash += std::mem::take(&mut held[movement.symbol]) * price,
            }
        }
        for (symbol, shares) in held.into_iter().enumerate() {
            cash += shares * 50.0;
            let kind = Kind::Fill { shares: -shares, price: 50.0, fee: 0.0, cause: Cause::Order };
            all.push(Movement { bar: last, symbol, kind });
        }
        let (closed, n_open) = trades(&all, 3).unwrap();
        prop_assert_eq!(n_open, 0);
        let profit: f64 = closed.iter().map(|trade| trade.profit).sum();
        prop_assert!((profit - cash).abs() < 1e-9 * (1.0 + cash.abs()), "{profit} {cash}");
        let summary = summarize_trades(&closed, n_open);
        prop_assert_eq!(summary.n_trades, closed.len());
        if let (Ok(average), Ok(most)) = (summary.average_win, summary.max_win) {
            prop_assert!(average <= most * (1.0 + 1e-12));
        }
    }

    #[test]
    fn more_bars_see_more_and_more_agents_less(n_returns in 20..5000_usize, n_agents in 1..500_u64, sharpe in 0.2..3.0) {
        let board = Board { n_returns, n_agents, periods_per_year: 252.0, sharpe, size: 0.05, power: 0.8 };
        let (found, longer) = (power(&board).unwrap(), power(&Board { n_returns: 2 * n_returns, ..board }).unwrap());
        prop_assert!(longer.best_expected <= found.best_expected && longer.min_gap < found.min_gap);
        prop_assert_eq!(longer.n_needed, found.n_needed);
        let wider = power(&Board { n_agents: n_agents + 1, ..board }).unwrap();
        prop_assert!(wider.n_needed >= found.n_needed && wider.best_quantile > found.best_quantile);
        if let (Ok(least), Ok(shorter)) = (longer.min_sharpe, found.min_sharpe) {
            prop_assert!(least < shorter);
        }
    }
}
