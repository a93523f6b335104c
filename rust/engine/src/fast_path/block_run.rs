use crate::account::book::Book;
use crate::account::totals::Totals;

/// One account with its orders, and the output of its NAV.
#[derive(Debug)]
pub struct BlockRun<'a> {
    /// The account.
    pub book: &'a mut Book,
    /// One weight per symbol, decision after decision; NaN is a hold.
    pub orders: &'a [f64],
    /// Receives the NAV after each step.
    pub nav: &'a mut Vec<f64>,
    /// Sums over the steps; for one account only.
    pub totals: Option<&'a mut Totals>,
}

impl BlockRun<'_> {
    /// Drops the orders of decisions that were run.
    pub(super) fn advance(&mut self, n_steps: usize, n_symbols: usize) {
        self.orders = &self.orders[n_steps * n_symbols..];
    }
}
