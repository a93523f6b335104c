//! Parameters of a symbol, and its listing, delisting and halts.

use crate::scenario::Key;
use crate::scenario::random_stream::{Purpose, Stream};
use crate::scenario::spec::{DAYS_A_YEAR, ScenarioSpec};

/// Days between dividends.
pub(super) const QUARTER: usize = 63;

/// Days after a listing without delistings.
const SETTLES_IN: usize = 60;

/// Constant parameters of a symbol.
pub(super) struct SymbolParameters {
    pub(super) price: f64,
    pub(super) beta: f64,
    /// Daily idiosyncratic volatility.
    pub(super) vol: f64,
    /// Log of shares traded per day.
    pub(super) volume: f64,
    /// Dividend as a share of the price, and the day of the first one.
    dividend: Option<(f64, usize)>,
}

impl SymbolParameters {
    pub(super) fn new(spec: &ScenarioSpec, key: &Key, symbol: usize) -> Self {
        let mut stream = Stream::new(key, Purpose::SymbolParameters, symbol);
        let price = libm::exp(libm::log(20.0) + stream.uniform() * libm::log(10.0));
        let beta = 1.0 + spec.beta_spread * (2.0 * stream.uniform() - 1.0);
        let spread = spec.own_vol_spread;
        let vol = spec.own_vol / DAYS_A_YEAR.sqrt() * libm::exp(spread * stream.normal() - spread * spread);
        // The value traded per day is a few million to a few hundred million.
        let volume = libm::log(3e7 / price) + 1.2 * stream.normal();
        let pays = stream.uniform() < 0.6 && spec.dividend_yield > 0.0;
        let first = stream.below(QUARTER) + 1;
        Self { price, beta, vol, volume, dividend: pays.then_some((spec.dividend_yield / 4.0, first)) }
    }

    /// Returns the first dividend day from `day` on, and the share of the price paid.
    ///
    /// Dividend days are [`QUARTER`] apart.
    pub(super) fn dividend(&self, day: usize) -> Option<(usize, f64)> {
        let (share, first) = self.dividend?;
        Some((first + day.saturating_sub(first).next_multiple_of(QUARTER), share))
    }
}

/// Listing, settlement and halts of a symbol.
pub(super) struct SymbolLifetime {
    /// The first day with a close.
    pub(super) listed: usize,
    /// Day and return of the settlement.
    pub(super) settled: Option<(usize, f64)>,
    /// Halted days, in order.
    pub(super) halts: Vec<usize>,
}

impl SymbolLifetime {
    /// Returns the lifetime of a symbol; the first symbol is listed on all days.
    pub(super) fn new(spec: &ScenarioSpec, key: &Key, symbol: usize) -> Self {
        let mut stream = Stream::new(key, Purpose::SymbolLifetime, symbol);
        let (is_late, when) = (stream.uniform() < spec.late_listings, stream.below(spec.n_days));
        let listed = if is_late && symbol > 0 { when * 4 / 5 } else { 0 };
        let (mut settled, mut halts, mut is_halted) = (None, Vec::new(), false);
        // The stream has no other use, so its draws can be skipped.
        let is_quiet = spec.delisting_rate == 0.0 && spec.halt_rate == 0.0;
        for day in listed + 1..if is_quiet { 0 } else { spec.n_days } {
            let (fate, halt) = stream.two_uniforms();
            if symbol > 0 && day >= listed + SETTLES_IN && fate < spec.delisting_rate / DAYS_A_YEAR {
                // About -30 %, the mean of performance-related delistings in Shumway (1997).
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
