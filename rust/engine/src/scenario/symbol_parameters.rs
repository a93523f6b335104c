//! What a symbol is like, and when it can be traded.

use crate::scenario::Key;
use crate::scenario::random_stream::{Purpose, Stream};
use crate::scenario::spec::{DAYS_A_YEAR, ScenarioSpec};

/// Days between dividends.
pub(super) const QUARTER: usize = 63;

/// Days after a listing before which nothing is delisted.
const SETTLES_IN: usize = 60;

/// What does not change about a symbol.
pub(super) struct Nature {
    pub(super) price: f64,
    pub(super) beta: f64,
    /// Daily volatility of its own moves.
    pub(super) vol: f64,
    /// Log of its shares traded a day.
    pub(super) volume: f64,
    /// Share of the price that a dividend is, and the day of the first.
    dividend: Option<(f64, usize)>,
}

impl Nature {
    pub(super) fn new(spec: &ScenarioSpec, key: &Key, symbol: usize) -> Self {
        let mut stream = Stream::new(key, Purpose::Nature, symbol);
        let price = libm::exp(libm::log(20.0) + stream.uniform() * libm::log(10.0));
        let beta = 1.0 + spec.beta_spread * (2.0 * stream.uniform() - 1.0);
        let spread = spec.own_vol_spread;
        let vol = spec.own_vol / DAYS_A_YEAR.sqrt() * libm::exp(spread * stream.normal() - spread * spread);
        // A day's value traded is a few million to a few hundred million.
        let volume = libm::log(3e7 / price) + 1.2 * stream.normal();
        let pays = stream.uniform() < 0.6 && spec.dividend_yield > 0.0;
        let first = stream.below(QUARTER) + 1;
        Self { price, beta, vol, volume, dividend: pays.then_some((spec.dividend_yield / 4.0, first)) }
    }

    /// Returns the first payday that is not before a day; they are [`QUARTER`] apart.
    ///
    /// With it, the share of the price that is paid out.
    pub(super) fn dividend(&self, day: usize) -> Option<(usize, f64)> {
        let (share, first) = self.dividend?;
        Some((first + day.saturating_sub(first).next_multiple_of(QUARTER), share))
    }
}

/// When a symbol is listed, settled and halted.
pub(super) struct Life {
    /// The first day on which it closes.
    pub(super) listed: usize,
    /// The day on which it is settled, and at what return.
    pub(super) settled: Option<(usize, f64)>,
    /// Days on which it does not trade, in order.
    pub(super) halts: Vec<usize>,
}

impl Life {
    /// Returns the life of a symbol; the first one is always there.
    pub(super) fn new(spec: &ScenarioSpec, key: &Key, symbol: usize) -> Self {
        let mut stream = Stream::new(key, Purpose::Life, symbol);
        let (is_late, when) = (stream.uniform() < spec.late_listings, stream.below(spec.n_days));
        let listed = if is_late && symbol > 0 { when * 4 / 5 } else { 0 };
        let (mut settled, mut halts, mut is_halted) = (None, Vec::new(), false);
        // Nothing else is drawn of this stream.
        let is_quiet = spec.delisting_rate == 0.0 && spec.halt_rate == 0.0;
        for day in listed + 1..if is_quiet { 0 } else { spec.n_days } {
            let (fate, halt) = stream.two_uniforms();
            if symbol > 0 && day >= listed + SETTLES_IN && fate < spec.delisting_rate / DAYS_A_YEAR {
                // About -30 %, as Shumway (1997) found for delistings of performance.
                settled = Some((day, (-0.3 + 0.25 * stream.normal()).clamp(-1.0, 0.5)));
                break;
            }
            is_halted = halt < if is_halted { 2.0 / 3.0 } else { spec.halt_rate / DAYS_A_YEAR };
            if is_halted {
                halts.push(day);
            }
        }
        Self { listed, settled, halts }
    }
}
