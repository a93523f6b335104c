use crate::market::dataset::Dataset;

/// The prices of a symbol in a bar that conditions are compared with.
#[derive(Clone, Copy)]
pub(super) struct BarPrices {
    /// The reference price of step 7, NaN without one.
    pub(super) open: f64,
    pub(super) close: f64,
    /// The least and the greatest of the known prices of the bar.
    low: f64,
    high: f64,
    /// Whether high and low are known.
    ///
    /// Only then was a price outside of them certainly not reached.
    pub(super) has_range: bool,
}

impl BarPrices {
    /// Returns the prices of a symbol in a bar.
    pub(super) fn of(market: &Dataset, bar: usize, symbol: usize) -> Self {
        let (open, close) = (market.reference_price(bar, symbol), market.close_of(bar, symbol));
        let (low, high) = market.range_of(bar, symbol);
        // `min` and `max` leave out NaN.
        Self {
            open,
            close,
            low: low.min(open).min(close),
            high: high.max(open).max(close),
            has_range: low.is_finite() && high.is_finite(),
        }
    }

    /// Returns the extreme of the bar: the high for side 1, the low for -1.
    pub(super) fn extreme(&self, side: f64) -> f64 {
        if side > 0.0 { self.high } else { self.low }
    }
}
