//! Windows of episodes, and lanes of a batch.

use std::collections::BTreeSet;
use std::sync::Arc;

use openoutcry::batch::{Autoreset, Batch, BatchError, Market, ObservationArrays, Outcome, Settings, Terms};
use openoutcry::{
    CostModel, Dataset, EpisodeMarkets, EpisodeStream, EpisodeWindows, Limits, Reward, Shaping, StepError, TradingEnv,
    Window,
};

fn random(start: usize, end: usize, n_bars: usize, split: &str) -> EpisodeWindows {
    EpisodeWindows::Random { range: Window { start, end }, n_bars, split: split.to_owned() }
}

fn square(x: f64) -> f64 {
    x * x
}

#[test]
fn a_window_is_a_function_of_the_seed_and_the_episode() {
    let windows = random(10, 500, 50, "train");
    let mut stream = EpisodeStream::new(7);
    for k in 0..100 {
        assert_eq!(stream.next(&windows), windows.draw(7, k));
    }
    assert_ne!(windows.draw(7, 0), windows.draw(8, 0));
}

#[test]
fn windows_are_uniform_over_every_start_of_the_range() {
    let windows = random(5, 35, 11, "train");
    let mut counts = [0_u32; 40];
    let n = 40_000;
    for seed in 0..n {
        let window = windows.draw(seed, seed % 3);
        assert!(window.start >= 5 && window.end <= 35 && window.n_bars() == 11);
        counts[window.start] += 1;
    }
    // 20 starts. The 99.99 % quantile of chi-squared with 19 degrees of freedom is 50.8.
    let expected = n as f64 / 20.0;
    let chi: f64 = counts[5..25].iter().map(|count| square(f64::from(*count) - expected) / expected).sum();
    assert!(chi < 50.8, "{chi}");
    assert_eq!(counts[5..25].iter().sum::<u32>(), n as u32);
}

#[test]
fn a_range_of_one_episode_has_one_window_and_a_shorter_one_none() {
    assert_eq!(random(3, 20, 17, "train").draw(99, 4), Window { start: 3, end: 20 });
    assert!(random(3, 20, 17, "train").validate(20).is_ok());
    for bad in [random(3, 20, 18, "train"), random(3, 21, 5, "train"), random(3, 20, 1, "train")] {
        assert!(bad.validate(20).is_err(), "{bad:?}");
    }
}

#[test]
fn streams_of_splits_share_no_draw() {
    let starts = |split| {
        let windows = random(0, 1 << 40, 2, split);
        (0..200)
            .flat_map(move |seed| (0..10).map(move |k| (seed, k)))
            .map(|(seed, k)| windows.draw(seed, k).start)
            .collect()
    };
    let train: BTreeSet<usize> = starts("train");
    assert_eq!(train.len(), 2000, "and no episode of one is that of another seed");
    assert!(train.is_disjoint(&starts("validation")));
    assert!(train.is_disjoint(&starts("test")));
}

fn settings(windows: EpisodeWindows, autoreset: Autoreset) -> Settings {
    Settings {
        episode_markets: EpisodeMarkets::Fixed,
        windows: vec![windows],
        autoreset,
        reward: Reward::DifferentialSharpe { rate: 0.05 },
        lookback: 3,
        no_trade_band: 0.02,
        max_episode_steps: usize::MAX,
        n_threads: 1,
        cells_a_thread: 1,
        streaming_len: Settings::STREAMING_LEN,
        seed: 5,
    }
}

fn terms() -> Terms {
    Terms { costs: CostModel::default(), limits: Limits::default() }
}

/// Output arrays of a batch.
struct DictArrays {
    flat: Vec<f32>,
    rewards: Vec<f64>,
    flags: [Vec<bool>; 3],
}

impl DictArrays {
    fn new(n_lanes: usize, width: usize) -> Self {
        let flags = || vec![false; n_lanes];
        Self { flat: vec![0.0; n_lanes * width], rewards: vec![0.0; n_lanes], flags: [flags(), flags(), flags()] }
    }

    fn step(&mut self, batch: &mut Batch, actions: &[f64]) -> Result<(), BatchError> {
        let [terminated, truncated, reset] = &mut self.flags;
        batch.accept(actions, None)?;
        batch.step(
            ObservationArrays::Flat(&mut self.flat),
            None,
            Outcome { rewards: &mut self.rewards, terminated, truncated, reset },
        )
    }
}

#[test]
fn lane_i_is_the_environment_of_seed_plus_i_through_its_resets() {
    let data = Arc::new(Dataset::synthetic(5, 200, 3).unwrap());
    let (market, windows) = (Arc::new(Market::new(Arc::clone(&data))), random(10, 200, 20, "train"));
    let settings = settings(windows.clone(), Autoreset::NextStep);
    let shaping = Shaping { reward: settings.reward, no_trade_band: settings.no_trade_band };
    let mut batch = Batch::new(vec![Arc::clone(&market)], &[(0, terms()); 3], settings, 0).unwrap();
    batch.reset(Some(40), None).unwrap();
    let mut lanes: Vec<(TradingEnv, EpisodeStream)> = (0..3)
        .map(|lane| {
            let mut stream = EpisodeStream::new(40 + lane);
            let window = stream.next(&windows);
            let env = TradingEnv::new(Arc::clone(&data), window, CostModel::default(), 5).unwrap();
            (env.with_shaping(shaping), stream)
        })
        .collect();
    let mut arrays = DictArrays::new(3, market.flat_len(3));
    let mut resets = 0;
    for k in 0..100_u32 {
        let actions: Vec<f64> = (0..15).map(|i| f64::from((i * 7 + k * 11) % 23) / 60.0 - 0.1).collect();
        arrays.step(&mut batch, &actions).unwrap();
        for (i, (env, stream)) in lanes.iter_mut().enumerate() {
            if env.done() {
                env.begin(stream.next(&windows)).unwrap();
                resets += 1;
                assert!(arrays.flags[2][i] && arrays.rewards[i] == 0.0);
            } else {
                let (stepped, reward) = env.act(&actions[i * 5..(i + 1) * 5], None, &[]).unwrap();
                assert_eq!(arrays.rewards[i].to_bits(), reward.to_bits());
                assert_eq!(batch.nav(i).to_bits(), stepped.nav.to_bits());
            }
            assert_eq!(batch.bar(i), env.book().bar());
            let mut flat = vec![0.0; market.flat_len(3)];
            market.observe_flat(env.book().held(), 3, &mut flat);
            assert_eq!(arrays.flat[i * flat.len()..(i + 1) * flat.len()], flat);
        }
    }
    assert_eq!(resets, 15);
}

#[test]
fn what_goes_past_the_caches_is_what_would_not_through_resets_of_every_mode() {
    for (n_symbols, n_lanes, n_threads) in [(3, 1, 1), (4, 19, 2), (8, 16, 1), (12, 1, 1), (12, 19, 2)] {
        let market = Arc::new(Market::new(Arc::new(Dataset::synthetic(n_symbols, 60, 3).unwrap())));
        // From the first bars, where most of the history is missing.
        let settings = |autoreset, streaming_len| Settings {
            lookback: 20,
            n_threads,
            streaming_len,
            ..settings(random(0, 60, 7, "train"), autoreset)
        };
        for autoreset in [Autoreset::NextStep, Autoreset::SameStep, Autoreset::Disabled] {
            let batch = |len| {
                Batch::new(vec![Arc::clone(&market)], &vec![(0, terms()); n_lanes], settings(autoreset, len), 9)
                    .unwrap()
            };
            let (mut past, mut through) = (batch(0), batch(usize::MAX));
            let width = market.flat_len(20);
            let (mut written, mut expected) = (DictArrays::new(n_lanes, width), DictArrays::new(n_lanes, width));
            for step in 0..40 {
                let weight = |cell: usize| ((cell + step) % 7) as f64 / (3 * n_symbols) as f64 - 0.02;
                let actions: Vec<f64> = (0..n_lanes * n_symbols).map(weight).collect();
                if through.is_done(0) && autoreset == Autoreset::Disabled {
                    past.reset(None, None).unwrap();
                    through.reset(None, None).unwrap();
                }
                written.step(&mut past, &actions).unwrap();
                expected.step(&mut through, &actions).unwrap();
                assert_eq!(written.flat, expected.flat, "{n_symbols} symbols, {n_lanes} lanes, {autoreset:?}, {step}");
                assert_eq!(written.rewards, expected.rewards);
            }
        }
    }
}

#[test]
fn the_last_closes_of_an_episode_are_told_whatever_else_a_lane_sees() {
    let market = Arc::new(Market::new(Arc::new(Dataset::synthetic(12, 60, 3).unwrap())));
    let mut batch = Batch::new(
        vec![Arc::clone(&market)],
        &[(0, terms()); 5],
        settings(random(9, 60, 7, "train"), Autoreset::SameStep),
        9,
    )
    .unwrap();
    let mut arrays = DictArrays::new(5, market.flat_len(3));
    let (mut closes, mut listed) = (vec![0.0; 60], vec![0; 60]);
    let (mut positions, mut cash) = (vec![0.0; 60], vec![0.0; 5]);
    for _ in 0..3 {
        for _ in 0..6 {
            let bars: Vec<usize> = (0..5).map(|lane| batch.bar(lane)).collect();
            let last = openoutcry::batch::DictArrays {
                closes: &mut closes,
                listed: &mut listed,
                positions: &mut positions,
                cash: &mut cash,
                ..openoutcry::batch::DictArrays::default()
            };
            let [terminated, truncated, reset] = &mut arrays.flags;
            batch.accept(&[0.05; 60], None).unwrap();
            let outcome = Outcome { rewards: &mut arrays.rewards, terminated, truncated, reset };
            batch
                .step(ObservationArrays::Flat(&mut arrays.flat), Some(ObservationArrays::Dict(last)), outcome)
                .unwrap();
            for lane in (0..5).filter(|lane| arrays.flags[1][*lane]) {
                let as_of = market.data().as_of(bars[lane] + 1);
                let expected: Vec<f64> = (0..12).map(|symbol| as_of.close(symbol).unwrap()).collect();
                assert_eq!(closes[lane * 12..][..12], expected);
            }
        }
        assert!(arrays.flags[1].iter().all(|truncated| *truncated));
    }
}

#[test]
fn what_is_refused_moves_no_lane() {
    let data = Arc::new(Dataset::synthetic(2, 30, 3).unwrap());
    let market = Arc::new(Market::new(data));
    let settings = settings(EpisodeWindows::Fixed(Window { start: 5, end: 8 }), Autoreset::Disabled);
    let mut batch = Batch::new(vec![Arc::clone(&market)], &[(0, terms()); 2], settings, 0).unwrap();
    let mut arrays = DictArrays::new(2, market.flat_len(3));
    let bars = |batch: &Batch| [batch.bar(0), batch.bar(1)];
    for (actions, slug) in [(vec![0.1; 3], "shape_mismatch"), (vec![0.1, 0.1, f64::NAN, 0.1], "weight_not_finite")] {
        assert_eq!(arrays.step(&mut batch, &actions).unwrap_err().slug(), slug);
        assert_eq!(bars(&batch), [5, 5]);
    }
    let mut short = DictArrays { flat: vec![0.0; 3], ..DictArrays::new(2, 1) };
    assert_eq!(short.step(&mut batch, &[0.1; 4]).unwrap_err().slug(), "shape_mismatch");
    assert_eq!(bars(&batch), [5, 5]);
    arrays.step(&mut batch, &[0.1; 4]).unwrap();
    arrays.step(&mut batch, &[0.1; 4]).unwrap();
    batch.reset(None, Some(&[true, false])).unwrap();
    let refused = arrays.step(&mut batch, &[0.1; 4]).unwrap_err();
    assert_eq!(refused, BatchError::Lane { lane: 1, source: StepError::EpisodeOver });
    assert_eq!(bars(&batch), [5, 7]);
    assert_eq!(batch.reset(None, Some(&[true])).unwrap_err().slug(), "shape_mismatch");
}
