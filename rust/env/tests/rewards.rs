//! Reward schemes: their values, their endings, and their bits in lanes.

use std::sync::Arc;

use openoutcry::batch::{Autoreset, Batch, Market, ObservationArrays, Outcome, Settings, Terms};
use openoutcry::{
    CostModel, Dataset, EpisodeMarkets, EpisodeStream, EpisodeWindows, Limits, Reward, RewardState, RewardTerms,
    Shaping, StepCosts, Stepped, TradingEnv, Window,
};
use proptest::prelude::*;

const RETURNS: [f64; 8] = [0.01, -0.02, 0.03, 0.0, -0.05, 0.04, 0.02, -0.01];

fn sum_of(weights: &[(&str, f64)], rate: f64) -> Reward {
    Reward::Sum(RewardTerms::by_names(weights.iter().copied(), rate).expect("valid weights"))
}

fn schemes() -> Vec<Reward> {
    vec![
        Reward::Simple,
        Reward::Log,
        Reward::DifferentialSharpe { rate: 0.01 },
        Reward::DifferentialSharpe { rate: 0.9 },
        Reward::Drawdown { penalty: 1.0 },
        Reward::Turnover { penalty: 0.001 },
        sum_of(&[("log", 1.0), ("turnover-penalty", 0.001)], 0.0),
        sum_of(&[("simple", 0.5), ("log", 2.0), ("differential-sharpe", 0.1)], 0.05),
        sum_of(&[("differential-sharpe", 1.0), ("drawdown-penalty", 3.0)], 0.01),
        sum_of(&[("simple", 1.0), ("variance-penalty", 2.0), ("downside-penalty", 4.0)], 0.0),
    ]
}

fn step(reward: f64, nav: f64, turnover: f64) -> Stepped {
    let (costs, none) = (StepCosts::default(), 0.0);
    let terminated = nav == 0.0;
    Stepped {
        nav,
        reward,
        costs,
        interest: none,
        funding: 0.0,
        dividends: none,
        settlement: none,
        shortfall: none,
        turnover,
        forced_turnover: none,
        terminated,
    }
}

fn rewards(scheme: Reward, returns: &[f64], turnover: f64) -> Vec<f64> {
    let (mut nav, mut state) = (1.0, RewardState::default());
    let mut next = |return_: f64| {
        nav *= 1.0 + return_;
        scheme.of(&step(return_, nav, turnover), &mut state)
    };
    returns.iter().map(|return_| next(*return_)).collect()
}

fn total(scheme: Reward, returns: &[f64]) -> f64 {
    rewards(scheme, returns, 0.5).iter().sum()
}

#[test]
fn simple_and_log_rewards_add_up_to_what_was_made() {
    assert_eq!(rewards(Reward::Simple, &RETURNS, 0.3), RETURNS);
    let logs: f64 = rewards(Reward::Log, &RETURNS, 0.3).iter().sum();
    let product: f64 = RETURNS.iter().map(|return_| 1.0 + return_).product();
    assert!((logs - libm::log(product)).abs() < 1e-15);
    assert_eq!(rewards(Reward::Log, &[-1.0], 0.0), [libm::log(1e-8)]);
}

#[test]
fn cash_is_paid_nothing() {
    for scheme in schemes() {
        assert_eq!(rewards(scheme, &[0.0; 40], 0.0), [0.0; 40], "{scheme:?}");
    }
}

#[test]
fn a_ruin_takes_back_what_the_episode_has_gained() {
    assert_eq!(rewards(Reward::Simple, &[0.6, 0.6, -1.0], 0.0), [0.6, 0.6, -2.2]);
    assert_eq!(rewards(Reward::Simple, &[-0.5, -1.0], 0.0), [-0.5, -1.0]);
    // Log rewards sum to the logarithm of 1e-8 from any NAV.
    for returns in [&[0.6, 0.6, -1.0][..], &[-0.9, -1.0], &[9.0, -1.0]] {
        assert!((total(Reward::Log, returns) - libm::log(1e-8)).abs() < 1e-12);
    }
}

#[test]
fn log_rewards_are_the_logarithm_of_wealth_through_the_least_distinct_wealth_and_back() {
    // From 1e9 to 1e-9 in one bar, up to 2e-9, and back to 1.
    let path = [1.0, 1e9, 1e-9, 2e-9, 1.0, 1e-12, 1e-13, 0.5];
    let mut state = RewardState::default();
    let mut sum = 0.0;
    for pair in path.windows(2) {
        sum += Reward::Log.of(&step(pair[1] / pair[0] - 1.0, pair[1], 0.0), &mut state);
        assert!((sum - libm::log(pair[1].max(1e-8))).abs() < 1e-12, "{pair:?}: {sum}");
    }
}

#[test]
fn the_differential_sharpe_ratio_is_a_return_over_its_exponentially_weighted_volatility() {
    let rate = 0.1;
    let scheme = Reward::DifferentialSharpe { rate };
    for (t, reward) in rewards(scheme, &RETURNS, 0.0).into_iter().enumerate() {
        let weights: Vec<f64> = (0..=t).map(|k| libm::pow(1.0 - rate, (t - k) as f64)).collect();
        let square: f64 = weights.iter().zip(&RETURNS).map(|(weight, return_)| weight * return_ * return_).sum();
        let expected = RETURNS[t] / (square / weights.iter().sum::<f64>() + 1e-16).sqrt();
        assert!((reward - expected).abs() < 1e-12, "{reward} {expected}");
    }
    // From the first return on, and of any size above that of a rounding.
    for size in [1.0, 1e-3, 1e-6] {
        assert!((rewards(scheme, &[size], 0.0)[0] - 1.0).abs() < 1e-4);
    }
    assert!(rewards(scheme, &[1e-16], 0.0)[0] < 1e-7);
}

#[test]
fn the_differential_sharpe_ratio_is_that_of_moody_and_saffell_without_its_mean() {
    // Equations 12 to 14 of "Learning to Trade via Direct Reinforcement" (2001): A and B are exponential averages of
    // returns and of their squares, S = A / sqrt(B - A^2), and D = dS / d(rate) at a rate of 0. With A = 0:
    let (rate, mut square, mut weight) = (0.1_f64, 0.0_f64, 0.0_f64);
    for (return_, reward) in RETURNS.iter().zip(rewards(Reward::DifferentialSharpe { rate }, &RETURNS, 0.0)) {
        weight += rate * (1.0 - weight);
        square += rate * (return_ * return_ - square);
        let b = square / weight;
        let sharpe = |eta: f64| {
            let (mean, square) = (eta * return_, b + eta * (return_ * return_ - b));
            mean / (square - mean * mean).sqrt()
        };
        let slope = (sharpe(1e-6) - sharpe(-1e-6)) / 2e-6;
        assert!((reward - slope).abs() < 1e-6 * slope.abs().max(1.0), "{reward} {slope}");
    }
}

#[test]
fn a_forced_sale_is_penalized_as_any_other() {
    let sold = step(-0.9, 0.1, 6.0);
    let forced = Stepped { turnover: 2.0, forced_turnover: 4.0, terminated: true, ..sold };
    for scheme in schemes() {
        let of = |stepped: &Stepped| scheme.of(stepped, &mut RewardState::default()).to_bits();
        assert_eq!(of(&forced), of(&sold), "{scheme:?}");
    }
}

#[test]
fn penalties_take_what_they_say() {
    let plain: f64 = RETURNS.iter().sum();
    let turnover: f64 = rewards(Reward::Turnover { penalty: 0.01 }, &RETURNS, 0.4).iter().sum();
    assert!((turnover - (plain - 0.01 * 0.4 * 8.0)).abs() < 1e-15);
    // Down 10 %, up to half of it, down to 20 % below the peak, to a new peak, down 5 %.
    let path = [1.0, 0.9, 0.95, 0.8, 1.2, 1.14];
    let returns: Vec<f64> = path.windows(2).map(|pair| pair[1] / pair[0] - 1.0).collect();
    let charged: Vec<f64> =
        rewards(Reward::Drawdown { penalty: 2.0 }, &returns, 0.0).iter().zip(&returns).map(|(r, x)| x - r).collect();
    for (received, expected) in charged.iter().zip([0.2, 0.0, 0.3, 0.0, 0.1]) {
        assert!((received - expected).abs() < 1e-12, "{charged:?}");
    }
    let squares = rewards(sum_of(&[("simple", 1.0), ("variance-penalty", 3.0)], 0.0), &[0.1, -0.2], 0.0);
    assert_eq!(squares, [0.1 - 3.0 * (0.1 * 0.1), -0.2 - 3.0 * (0.2 * 0.2)]);
    let losses = rewards(sum_of(&[("simple", 1.0), ("downside-penalty", 3.0)], 0.0), &[0.1, -0.2], 0.0);
    assert_eq!(losses, [0.1, -0.2 - 3.0 * (0.2 * 0.2)]);
}

#[test]
fn a_scheme_has_the_bits_of_the_sum_that_it_is() {
    for (scheme, weights, rate) in [
        (Reward::Simple, &[("simple", 1.0)][..], 0.0),
        (Reward::Log, &[("log", 1.0)], 0.0),
        (Reward::DifferentialSharpe { rate: 0.1 }, &[("differential-sharpe", 1.0)], 0.1),
        (Reward::Drawdown { penalty: 2.0 }, &[("drawdown-penalty", 2.0), ("simple", 1.0)], 0.0),
        (Reward::Turnover { penalty: 0.01 }, &[("simple", 1.0), ("turnover-penalty", 0.01)], 0.0),
    ] {
        let returns = [&RETURNS[..], &[-1.0]].concat();
        assert_eq!(rewards(scheme, &returns, 0.3), rewards(sum_of(weights, rate), &returns, 0.3));
    }
}

#[test]
fn a_scheme_is_known_by_its_name_and_refuses_a_bad_parameter() {
    for name in Reward::NAMES {
        assert!(Reward::by_name(name, 0.5).is_some(), "{name}");
    }
    for (name, parameter) in [
        ("differential-sharpe", 0.0),
        ("differential-sharpe", 1.0),
        ("drawdown", -1.0),
        ("turnover", f64::NAN),
        ("profit", 0.1),
    ] {
        assert_eq!(Reward::by_name(name, parameter), None);
    }
}

#[test]
fn a_sum_refuses_unknown_terms_bad_weights_and_penalties_alone() {
    for (weights, rate) in [
        (&[][..], 0.1),
        (&[("profit", 1.0)], 0.1),
        (&[("simple", -1.0)], 0.1),
        (&[("simple", f64::NAN)], 0.1),
        (&[("simple", 1.0), ("simple", 1.0)], 0.1),
        (&[("turnover-penalty", 1.0)], 0.1),
        (&[("simple", 0.0), ("drawdown-penalty", 1.0)], 0.1),
        (&[("differential-sharpe", 1.0)], 0.0),
        (&[("differential-sharpe", 1.0)], 1.0),
    ] {
        assert_eq!(RewardTerms::by_names(weights.iter().copied(), rate), None, "{weights:?}");
    }
}

/// Returns of bars, from minute losses to a factor of a million.
fn paths() -> impl Strategy<Value = Vec<f64>> {
    let return_ = prop_oneof![
        4 => -0.1..0.1_f64,
        2 => -0.999..3.0_f64,
        1 => Just(0.0),
        1 => -1e-9..1e-9_f64,
        1 => Just(-1.0 + 1e-9),
        1 => 0.0..1e6_f64,
    ];
    prop::collection::vec(return_, 0..40)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn an_episode_that_ends_in_ruin_is_paid_less_than_cash(path in paths()) {
        let returns = [&path[..], &[-1.0]].concat();
        for scheme in schemes() {
            let paid = rewards(scheme, &returns, 0.5);
            let sum: f64 = paid.iter().sum();
            prop_assert!(sum < 0.0 && paid.iter().all(|reward| reward.is_finite()), "{:?} {:?}", scheme, paid);
            // Nor is the loss of an episode before its ruin paid back; a log reward counts no loss below 1e-8.
            if scheme != Reward::Log {
                prop_assert!(paid[path.len()] < 0.0, "{:?} {:?}", scheme, paid);
            }
        }
    }

    #[test]
    fn a_loss_is_never_paid_and_a_larger_one_is_paid_less(path in paths(), losses in (0.0..1.0_f64, 0.0..1.0_f64)) {
        let (less, more) = (-losses.0.min(losses.1), -losses.0.max(losses.1));
        for scheme in schemes() {
            let last = |loss: f64| rewards(scheme, &[&path[..], &[loss]].concat(), 0.0)[path.len()];
            // Up to roundings.
            let paid = (last(more), last(less));
            prop_assert!(paid.0 <= paid.1 + 1e-9 * paid.1.abs() && paid.1 <= 1e-12, "{:?}: {:?}", scheme, paid);
        }
    }

    #[test]
    fn log_rewards_grow_with_final_wealth(path in paths(), other in paths()) {
        let wealth = |path: &[f64]| path.iter().fold(1.0, |nav, return_| nav * (1.0 + return_));
        let (poor, rich) = if wealth(&path) <= wealth(&other) { (path, other) } else { (other, path) };
        prop_assert!(total(Reward::Log, &poor) <= total(Reward::Log, &rich) + 1e-9);
    }

    #[test]
    fn differential_sharpe_rewards_are_bounded_and_free_of_scale(path in paths(), scale in 0.01..100.0_f64) {
        let scheme = Reward::DifferentialSharpe { rate: 0.01 };
        let size = |path: &[f64]| path.iter().fold(0.0_f64, |size, return_| size.max(return_.abs()));
        let plain = rewards(scheme, &path, 0.0);
        for (t, reward) in plain.iter().enumerate() {
            prop_assert!(reward.abs() <= ((t + 1) as f64 * 1.3).sqrt());
        }
        // Above the size of a rounding.
        if path.iter().all(|return_| return_.abs() > 1e-3 || *return_ == 0.0) && size(&path) * scale < 0.9 {
            let scaled: Vec<f64> = path.iter().map(|return_| return_ * scale).collect();
            for (scaled, plain) in rewards(scheme, &scaled, 0.0).iter().zip(&plain) {
                prop_assert!((scaled - plain).abs() < 1e-4 * plain.abs().max(1.0));
            }
        }
    }
}

/// Returns lanes with and without a maintenance margin.
fn lanes(n_symbols: usize, autoreset: Autoreset, reward: Reward) -> (Arc<Dataset>, Arc<Market>, Batch, [Terms; 2]) {
    let data = Arc::new(Dataset::synthetic(n_symbols, 200, 3).expect("a market"));
    let market = Arc::new(Market::new(Arc::clone(&data)));
    let settings = Settings {
        episode_markets: EpisodeMarkets::Fixed,
        windows: vec![EpisodeWindows::Random {
            range: Window { start: 10, end: 200 },
            n_bars: 25,
            split: "train".to_owned(),
        }],
        autoreset,
        reward,
        lookback: 3,
        no_trade_band: 0.0,
        max_episode_steps: usize::MAX,
        n_threads: 2,
        cells_a_thread: 1,
        streaming_len: usize::MAX,
        seed: 5,
    };
    let terms = [0.0, 0.04].map(|maintenance_margin| Terms {
        costs: CostModel::default(),
        limits: Limits { maintenance_margin, ..Limits::off() },
    });
    let lanes: Vec<_> = (0..N_LANES).map(|lane| (0, terms[lane / 2 % 2])).collect();
    let batch = Batch::new(vec![Arc::clone(&market)], &lanes, settings, 0).expect("a batch");
    (data, market, batch, terms)
}

const N_LANES: usize = 21;

/// Returns the sums and endings of all episodes.
///
/// Compares every lane with its scalar environment.
fn episodes(n_symbols: usize, autoreset: Autoreset, reward: Reward) -> Vec<(f64, bool, f64)> {
    let (data, market, mut batch, terms) = lanes(n_symbols, autoreset, reward);
    let windows = batch.settings().windows[0].clone();
    batch.reset(Some(40), None).expect("a reset");
    let mut scalars: Vec<(TradingEnv, EpisodeStream, f64)> = (0..N_LANES)
        .map(|lane| {
            let mut stream = EpisodeStream::new(40 + lane as u64);
            let window = stream.next(&windows);
            let Terms { costs, limits } = terms[lane / 2 % 2];
            let env = TradingEnv::new(Arc::clone(&data), window, costs, 5).unwrap().with_limits(limits).unwrap();
            (env.with_shaping(Shaping { reward, no_trade_band: 0.0 }), stream, 0.0)
        })
        .collect();
    let mut seen = vec![0.0; N_LANES * market.flat_len(3)];
    let (mut paid, mut flags) = (vec![0.0; N_LANES], [(); 3].map(|()| vec![false; N_LANES]));
    let mut ended = Vec::new();
    for k in 0..50_usize {
        let weight = |cell: usize| ((cell * 7 + k * 11) % 23) as f64 - 11.0;
        let size = |lane: usize| [0.1, 2.0, 9.0][lane % 3] / (n_symbols as f64).sqrt();
        let actions: Vec<f64> = (0..N_LANES * n_symbols).map(|cell| weight(cell) * size(cell / n_symbols)).collect();
        if autoreset == Autoreset::Disabled {
            let mask: Vec<bool> = (0..N_LANES).map(|lane| batch.is_done(lane)).collect();
            batch.reset(None, Some(&mask)).unwrap();
        }
        batch.accept(&actions, None).unwrap();
        let [terminated, truncated, reset] = &mut flags;
        let outcome = Outcome { rewards: &mut paid, terminated, truncated, reset };
        batch.step(ObservationArrays::Flat(&mut seen), None, outcome).unwrap();
        for (lane, (env, stream, sum)) in scalars.iter_mut().enumerate() {
            if env.done() {
                env.begin(stream.next(&windows)).unwrap();
                *sum = 0.0;
                if autoreset == Autoreset::NextStep {
                    assert!(flags[2][lane] && paid[lane] == 0.0);
                    continue;
                }
            }
            let row = &actions[lane * n_symbols..(lane + 1) * n_symbols];
            let (stepped, reward) = env.act(row, None, &[]).unwrap();
            assert_eq!(paid[lane].to_bits(), reward.to_bits(), "{:?} lane {lane} step {k}", env.figures());
            *sum += reward;
            if env.done() {
                ended.push((*sum, stepped.terminated, stepped.nav));
            }
        }
    }
    ended
}

#[test]
fn every_scheme_has_equal_bits_in_lanes_and_alone_and_pays_no_ruin() {
    for (n_symbols, autoreset) in [(1, Autoreset::NextStep), (4, Autoreset::SameStep), (12, Autoreset::Disabled)] {
        for scheme in schemes() {
            let ended = episodes(n_symbols, autoreset, scheme);
            let ruins: Vec<f64> = ended.iter().filter(|(.., nav)| *nav == 0.0).map(|(sum, ..)| *sum).collect();
            assert!(ruins.iter().all(|sum| *sum < 0.0), "{scheme:?} {ruins:?}");
            let n_liquidated = ended.iter().filter(|(_, terminated, nav)| *terminated && *nav > 0.0).count();
            let n_truncated = ended.iter().filter(|(_, terminated, _)| !terminated).count();
            let counts = [ruins.len(), n_liquidated, n_truncated];
            assert!(counts.into_iter().all(|count| count >= 5), "{counts:?} ruins, liquidations and truncations");
        }
    }
}
