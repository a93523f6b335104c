//! A lane of a batch equals the backtest of its orders.
//!
//! In blocks or alone, on one or several threads, with and without streaming stores and sliding rows.

use std::sync::Arc;

use openoutcry::batch::{Autoreset, Batch, Market, ObservationArrays, Outcome, Settings, Terms};
use openoutcry::{EpisodeMarkets, EpisodeWindows, Reward};
use proptest::prelude::*;

use crate::random_cases::{LOOKBACK, backtest, window};
use crate::random_market::{Case, cases, config};
use crate::sliding_windows::SlidingPair;

/// More than one block of eight, and a remainder.
const N_LANES: usize = 19;

/// Returns the orders of a lane at a bar: different for every lane, NaN for a hold.
fn orders(case: &Case, lane: usize, bar: usize) -> Vec<f64> {
    let size = 1.0 - lane as f64 / 40.0;
    case.orders(bar).into_iter().map(|weight| if weight.abs() > 100.0 { weight } else { weight * size }).collect()
}

fn batch(case: &Case, market: &Arc<Market>, terms: &[Terms], (n_threads, uses_streaming): (usize, bool)) -> Batch {
    let settings = Settings {
        windows: vec![EpisodeWindows::Fixed(window(case))],
        episode_markets: EpisodeMarkets::Fixed,
        autoreset: Autoreset::NextStep,
        reward: Reward::Simple,
        lookback: LOOKBACK,
        no_trade_band: 0.0,
        max_episode_steps: usize::MAX,
        n_threads,
        cells_a_thread: 1,
        streaming_len: if uses_streaming { 0 } else { usize::MAX },
        seed: 7,
    };
    let lanes: Vec<_> = (0..N_LANES).map(|lane| (0, terms[lane % terms.len()])).collect();
    Batch::new(vec![Arc::clone(market)], &lanes, settings, 0).expect("a valid batch")
}

proptest! {
    #![proptest_config(config(400))]

    #[test]
    fn every_lane_has_the_bits_of_its_backtest(
        case in cases(),
        other in cases(),
        mixes in any::<bool>(),
        (n_threads, uses_streaming) in (1_usize..=4, any::<bool>()),
        (slides, jumps) in (any::<bool>(), any::<u64>()),
    ) {
        // The same terms for all, or others for every third lane.
        let mut terms = vec![Terms { costs: case.costs, limits: case.limits }];
        if mixes {
            terms.extend([terms[0], Terms { costs: other.costs, limits: other.limits }]);
        }
        let data = Arc::new(case.dataset());
        let market = Arc::new(Market::new(Arc::clone(&data)));
        let bars = window(&case).start..window(&case).end - 1;
        let table = |lane: usize| -> Vec<f64> { bars.clone().flat_map(|bar| orders(&case, lane, bar)).collect() };
        let run = |lane: usize| {
            let Terms { costs, limits } = terms[lane % terms.len()];
            let under = Case { costs, limits, ..case.clone() };
            backtest(&under, &data).run_orders(table(lane)).unwrap()
        };
        let runs: Vec<_> = (0..N_LANES).map(run).collect();

        let mut batch = batch(&case, &market, &terms, (n_threads, uses_streaming));
        let mut seen = vec![0.0; N_LANES * market.flat_len(LOOKBACK)];
        let mut sliding_arrays = SlidingPair::new(&batch);
        let mut rewards = vec![0.0; N_LANES];
        let mut flags = [(); 3].map(|()| vec![false; N_LANES]);
        let (mut playing, mut paid) = ([true; N_LANES], [0.0_f64; N_LANES]);
        for (k, bar) in bars.clone().enumerate() {
            let asked: Vec<f64> = (0..N_LANES).flat_map(|lane| orders(&case, lane, bar)).collect();
            let hold: Vec<bool> = asked.iter().map(|weight| weight.is_nan()).collect();
            let actions: Vec<f64> = asked.iter().map(|weight| if weight.is_nan() { 0.0 } else { *weight }).collect();
            batch.accept(&actions, Some(&hold)).unwrap();
            let [terminated, truncated, reset] = &mut flags;
            let outcome = Outcome { rewards: &mut rewards, terminated, truncated, reset };
            if slides {
                // About every eighth turn does not follow the last one.
                let jump = jumps.rotate_right(3 * k as u32) % 8;
                batch.step(sliding_arrays.next(usize::from(jump == 7)), None, outcome).unwrap();
                seen = sliding_arrays.shown(market.flat_len(LOOKBACK));
            } else {
                batch.step(ObservationArrays::Flat(&mut seen), None, outcome).unwrap();
            }
            for lane in (0..N_LANES).filter(|lane| playing[*lane]) {
                let (before, after) = (runs[lane].nav[k], runs[lane].nav[k + 1]);
                prop_assert_eq!(batch.nav(lane).to_bits(), after.to_bits(), "lane {} bar {}", lane, bar);
                // A ruin takes back what the episode has gained.
                let gained = if after == 0.0 { paid[lane].max(0.0) } else { 0.0 };
                prop_assert_eq!(rewards[lane].to_bits(), (after / before - 1.0 - gained).to_bits());
                paid[lane] += rewards[lane];
                prop_assert_eq!(flags[0][lane], runs[lane].terminated_at == Some(k));
                prop_assert_eq!(flags[1][lane], bar + 2 == window(&case).end);
            }
            let mut expected = vec![0.0; seen.len()];
            batch.observe(ObservationArrays::Flat(&mut expected)).unwrap();
            prop_assert_eq!(&seen, &expected);
            if slides && jumps.rotate_right(k as u32) % 8 == 0 {
                batch.observe(sliding_arrays.next(0)).unwrap();
                prop_assert_eq!(&sliding_arrays.shown(market.flat_len(LOOKBACK)), &expected);
            }
            for lane in 0..N_LANES {
                playing[lane] &= !flags[0][lane];
            }
        }
    }
}
