//! Steps 7 and 8 of the timeline: at what price bar t fills, and whether.

use crate::dataset::Dataset;
use crate::grid::Grid;

/// Where the price of a fill in bar t comes from.
///
/// A table holds NaN where the symbol cannot be traded.
#[derive(Debug)]
pub(crate) enum FillPrices {
    PreviousClose,
    Open,
    Table(Grid),
}

impl FillPrices {
    /// Returns the prices of a market whose columns and actions are known.
    ///
    /// A copy is made only where neither the opens nor the closes say it all.
    pub(crate) fn of(market: &Dataset) -> Self {
        let n_bars = market.n_bars();
        let cells = || (1..n_bars).flat_map(|bar| (0..market.n_symbols()).map(move |i| (bar, i)));
        let tradable = cells().all(|(bar, i)| market.can_fill(bar, i));
        let adjusted = market.open.is_none() && (0..n_bars).any(|bar| market.has_actions(bar));
        match &market.open {
            Some(_) if tradable => Self::Open,
            None if tradable && !adjusted => Self::PreviousClose,
            _ => {
                let mut table = market.close.clone();
                for (bar, i) in cells() {
                    let price = if market.can_fill(bar, i) { market.reference_price(bar, i) } else { f64::NAN };
                    table.set(bar, i, price);
                }
                Self::Table(table)
            }
        }
    }

    /// Returns the table of the prices, and how many bars before its own a price is.
    pub(crate) fn grid<'a>(&'a self, market: &'a Dataset) -> (&'a Grid, usize) {
        match (self, &market.open) {
            (Self::Table(table), _) => (table, 0),
            (Self::Open, Some(open)) => (open, 0),
            _ => (&market.close, 1),
        }
    }
}

impl Dataset {
    /// Returns the price that orders of bar t - 1 meet in bar t (step 7).
    ///
    /// NaN where there is none.
    pub(crate) fn reference_price(&self, bar: usize, symbol: usize) -> f64 {
        match &self.open {
            Some(open) => open.get(bar, symbol),
            None => (self.close.get(bar - 1, symbol) - self.dividend(bar, symbol)) / self.split(bar, symbol),
        }
    }

    fn can_fill(&self, bar: usize, symbol: usize) -> bool {
        self.reference_price(bar, symbol).is_finite()
            && self.close.get(bar, symbol).is_finite()
            && !self.is_masked(bar, symbol)
            && self.volume_of(bar, symbol) != Some(0.0)
    }
}
