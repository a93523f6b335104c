//! Regimes: multipliers of all volatilities, and drifts, by family and day.

use crate::scenario::random_stream::Stream;
use crate::scenario::spec::{DAYS_A_YEAR, Family, ScenarioSpec};

/// The regime of a day.
#[derive(Clone, Copy)]
pub(super) struct Regime {
    pub(super) vol: f64,
    pub(super) drift: f64,
}

impl Regime {
    const FAIR: Self = Self { vol: 1.0, drift: 0.0 };
}

/// Returns the regime of each day for the family of a spec.
pub(super) fn regimes_by_day(spec: &ScenarioSpec, stream: &mut Stream) -> Vec<Regime> {
    match spec.family {
        Family::RegimeShift => regimes(spec.n_days, stream),
        Family::Crisis => crisis(spec.n_days, stream),
        _ => vec![Regime::FAIR; spec.n_days],
    }
}

/// Volatility and drift with permanent changes, every 16 months on average.
fn regimes(n_days: usize, stream: &mut Stream) -> Vec<Regime> {
    const RATE: f64 = 0.75 / DAYS_A_YEAR;
    let kinds = [(0.7, 0.12), (1.0, 0.0), (1.8, -0.15)];
    let mut kind = 1;
    let next = |_| {
        if stream.uniform() < RATE {
            kind = (kind + if stream.uniform() < 0.5 { 1 } else { 2 }) % kinds.len();
        }
        Regime { vol: kinds[kind].0, drift: kinds[kind].1 / DAYS_A_YEAR }
    };
    (0..n_days).map(next).collect()
}

/// A fall of about 30 % in 30 days, around the middle of the window.
///
/// Volatility decays after it.
fn crisis(n_days: usize, stream: &mut Stream) -> Vec<Regime> {
    const CRASH: f64 = 30.0;
    let first = (0.2 + 0.6 * stream.uniform()) * n_days as f64;
    let regime = |day: usize| {
        let since = day as f64 - first;
        if since < 0.0 {
            return Regime::FAIR;
        }
        let drift = if since < CRASH { -0.35 / CRASH } else { 0.0 };
        Regime { vol: 1.0 + 2.0 * libm::exp(-since / 50.0), drift }
    };
    (0..n_days).map(regime).collect()
}
