use crate::account::account_view::AccountView;
use crate::error::StepError;
use crate::market::dataset::Dataset;
use crate::vector::lane_sums::{self, Block, LANES};

/// The largest NAV that a decision is taken on.
///
/// The move of one bar from this NAV stays in the range of f64, so a refusal depends on close t alone.
pub(crate) const MAX_NAV: f64 = 1e100;

/// An account at the close of one bar: cash, shares, their marks, and the NAV.
#[derive(Clone, Debug, PartialEq)]
pub struct Book {
    pub(crate) bar: usize,
    pub(crate) cash: f64,
    pub(crate) nav: f64,
    pub(crate) shares: Vec<Block>,
    pub(crate) marks: Vec<Block>,
    /// Value of each position over NAV: `cur` in step 2 of the contract.
    pub(crate) weights: Vec<Block>,
    pub(crate) avg_prices: Vec<Block>,
    pub(crate) n_symbols: usize,
}

impl Book {
    /// Returns an account with 1 in cash at the close of `bar`.
    #[must_use]
    pub fn new(dataset: &Dataset, bar: usize) -> Self {
        let flat = vec![[0.0; LANES]; lane_sums::n_blocks(dataset.n_symbols())];
        Self {
            bar,
            cash: 1.0,
            nav: 1.0,
            marks: dataset.marks(bar),
            avg_prices: flat.clone(),
            weights: flat.clone(),
            shares: flat,
            n_symbols: dataset.n_symbols(),
        }
    }

    /// Returns the bar of the valuation.
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
        lane_sums::get(&self.shares, symbol)
    }

    /// Returns the last real close of a symbol on the share basis of this bar.
    ///
    /// It is 1 if the symbol has never closed.
    #[must_use]
    pub fn mark(&self, symbol: usize) -> f64 {
        lane_sums::get(&self.marks, symbol)
    }

    /// Returns the average fill price of the open position, 0 without a position.
    ///
    /// Only steps of [`crate::Detail::Full`] keep it.
    #[must_use]
    pub fn avg_price(&self, symbol: usize) -> f64 {
        lane_sums::get(&self.avg_prices, symbol)
    }

    /// Returns the value of a position as a signed fraction of NAV, 0 for a flat one.
    #[must_use]
    pub fn weight(&self, symbol: usize) -> f64 {
        lane_sums::get(&self.weights, symbol)
    }

    /// Returns a view of the account.
    #[must_use]
    #[inline]
    pub fn held(&self) -> AccountView<'_> {
        let Self { bar, cash, nav, shares, marks, weights, .. } = self;
        AccountView { bar: *bar, cash: *cash, nav: *nav, shares, marks, weights, n_symbols: self.n_symbols }
    }

    /// Resets the account to 1 in cash at the close of `bar`, in the same memory.
    ///
    /// # Panics
    ///
    /// Panics if `dataset` has another number of symbols.
    pub fn restart(&mut self, dataset: &Dataset, bar: usize) {
        assert_eq!(self.n_symbols, dataset.n_symbols(), "one number of symbols");
        (self.bar, self.cash, self.nav) = (bar, 1.0, 1.0);
        self.shares.fill([0.0; LANES]);
        self.avg_prices.fill([0.0; LANES]);
        self.weights.fill([0.0; LANES]);
        dataset.write_marks(bar, &mut self.marks);
    }

    /// Checks that a decision can be taken on this account.
    ///
    /// # Errors
    ///
    /// Returns an error if its NAV is above 1e100.
    pub fn check_nav(&self) -> Result<(), StepError> {
        if self.nav > MAX_NAV {
            return Err(StepError::NavOverflow { nav: self.nav, bar: self.bar });
        }
        Ok(())
    }

    /// Returns gross and net exposure.
    ///
    /// They are the sums of the absolute and of the signed weights, in the lanes of the contract.
    #[must_use]
    pub fn exposure(&self) -> (f64, f64) {
        let (mut gross, mut net) = ([0.0; LANES], [0.0; LANES]);
        for block in &self.weights {
            gross = lane_sums::each(|k| gross[k] + block[k].abs());
            net = lane_sums::each(|k| net[k] + block[k]);
        }
        (lane_sums::total(&gross), lane_sums::total(&net))
    }

    /// Recomputes the weights from shares, marks and NAV.
    pub(crate) fn weigh(&mut self) {
        if self.nav == 0.0 {
            self.weights.fill([0.0; LANES]);
            return;
        }
        let held = self.shares.iter().zip(&self.marks);
        for (weight, (shares, mark)) in self.weights.iter_mut().zip(held) {
            *weight = lane_sums::each(|k| if shares[k] == 0.0 { 0.0 } else { shares[k] * mark[k] / self.nav });
        }
    }
}
