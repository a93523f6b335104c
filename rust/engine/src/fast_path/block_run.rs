use crate::account::book::Book;
use crate::account::outcome::Stepped;
use crate::account::totals::Totals;
use crate::vector::lane_sums::Block;

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
    /// Receives each bar of [`crate::run_held`].
    pub held: Option<&'a mut Vec<HeldBar>>,
}

/// A bar over which an account of at most eight symbols only holds.
#[derive(Clone, Copy, Debug)]
pub struct HeldBar {
    /// Outcome of the hold.
    pub stepped: Stepped,
    /// Weight of each symbol at the close.
    pub weights: Block,
}

impl BlockRun<'_> {
    /// Drops the orders of decisions that were run.
    pub(super) fn advance(&mut self, n_steps: usize, n_symbols: usize) {
        self.orders = &self.orders[n_steps * n_symbols..];
    }
}
