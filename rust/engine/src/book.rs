use crate::dataset::Dataset;
use crate::lanes::{self, Block, LANES};

/// An account at the close of one bar: cash, shares, their marks, and the NAV.
#[derive(Clone, Debug, PartialEq)]
pub struct Book {
    pub(crate) bar: usize,
    pub(crate) cash: f64,
    pub(crate) nav: f64,
    pub(crate) shares: Vec<Block>,
    pub(crate) marks: Vec<Block>,
    pub(crate) avg_prices: Vec<Block>,
    n_symbols: usize,
}

impl Book {
    /// Returns an account of 1 in cash at the close of `bar`.
    #[must_use]
    pub fn new(dataset: &Dataset, bar: usize) -> Self {
        let flat = vec![[0.0; LANES]; lanes::n_blocks(dataset.n_symbols())];
        Self {
            bar,
            cash: 1.0,
            nav: 1.0,
            marks: dataset.marks(bar),
            avg_prices: flat.clone(),
            shares: flat,
            n_symbols: dataset.n_symbols(),
        }
    }

    /// Returns the bar whose close this account is valued at.
    #[must_use]
    pub fn bar(&self) -> usize {
        self.bar
    }

    /// Returns the cash, negative if borrowed.
    #[must_use]
    pub fn cash(&self) -> f64 {
        self.cash
    }

    /// Returns cash plus marked positions.
    #[must_use]
    pub fn nav(&self) -> f64 {
        self.nav
    }

    /// Returns the number of symbols.
    #[must_use]
    pub fn n_symbols(&self) -> usize {
        self.n_symbols
    }

    /// Returns the signed shares held of a symbol.
    #[must_use]
    pub fn shares(&self, symbol: usize) -> f64 {
        lanes::get(&self.shares, symbol)
    }

    /// Returns the last real close of a symbol on today's share basis.
    ///
    /// It is 1 if the symbol has never closed.
    #[must_use]
    pub fn mark(&self, symbol: usize) -> f64 {
        lanes::get(&self.marks, symbol)
    }

    /// Returns the average fill price of the open position, 0 if there is none.
    ///
    /// Kept only by steps of [`crate::Detail::Full`].
    #[must_use]
    pub fn avg_price(&self, symbol: usize) -> f64 {
        lanes::get(&self.avg_prices, symbol)
    }

    /// Returns the value of a position as a signed fraction of NAV, 0 for a flat one.
    #[must_use]
    pub fn weight(&self, symbol: usize) -> f64 {
        let shares = self.shares(symbol);
        if shares == 0.0 { 0.0 } else { shares * self.mark(symbol) / self.nav }
    }
}
