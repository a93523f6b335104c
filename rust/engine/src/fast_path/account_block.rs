//! Eight accounts of few symbols in structure-of-arrays layout.

use crate::account::book::{Book, MAX_NAV};
use crate::error::StepError;
use crate::market::dataset::Dataset;
use crate::vector::lane_sums::{Block, LANES, each};

/// Eight accounts of at most eight symbols.
///
/// Element k of every block belongs to account k. Shares, weights and marks have one block per symbol.
///
/// Blocks are aligned to cache lines, so that a block is read from one line.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub struct AccountBlock {
    pub(crate) bars: [usize; LANES],
    pub(crate) cash: Block,
    pub(crate) nav: Block,
    pub(crate) shares: [Block; LANES],
    pub(crate) weights: [Block; LANES],
    /// Kept for markets with gaps; otherwise the mark is the close.
    pub(crate) marks: [Block; LANES],
}

impl Default for AccountBlock {
    /// Returns accounts with 1 in cash at bar 0.
    fn default() -> Self {
        let nothing = [0.0; LANES];
        Self {
            bars: [0; LANES],
            cash: [1.0; LANES],
            nav: [1.0; LANES],
            shares: [nothing; LANES],
            weights: [nothing; LANES],
            marks: [[1.0; LANES]; LANES],
        }
    }
}

impl AccountBlock {
    /// Returns the bar of an account.
    #[must_use]
    pub fn bar(&self, account: usize) -> usize {
        self.bars[account]
    }

    /// Returns the bars of all accounts.
    #[must_use]
    pub fn bars(&self) -> &[usize; LANES] {
        &self.bars
    }

    /// Returns the cash of an account.
    #[must_use]
    pub fn cash(&self, account: usize) -> f64 {
        self.cash[account]
    }

    /// Returns the NAV of an account.
    #[must_use]
    pub fn nav(&self, account: usize) -> f64 {
        self.nav[account]
    }

    /// Returns the shares that an account holds of a symbol.
    #[must_use]
    pub fn shares(&self, account: usize, symbol: usize) -> f64 {
        self.shares[symbol][account]
    }

    /// Returns the weight that an account holds of a symbol.
    #[must_use]
    pub fn weight(&self, account: usize, symbol: usize) -> f64 {
        self.weights[symbol][account]
    }

    /// Returns whether the NAV of an account is too large for a decision.
    #[must_use]
    pub fn overflows(&self) -> bool {
        // Called in every step: without an early exit the loop is vectorized.
        self.nav.iter().fold(0.0_f64, |most, nav| most.max(*nav)) > MAX_NAV
    }

    /// Checks that an account can take a decision, as [`Book::check_nav`] does.
    ///
    /// # Errors
    ///
    /// Returns an error if its NAV is above 1e100.
    pub fn check_nav(&self, account: usize) -> Result<(), StepError> {
        let (nav, bar) = (self.nav[account], self.bars[account]);
        if nav > MAX_NAV { Err(StepError::NavOverflow { nav, bar }) } else { Ok(()) }
    }

    /// Resets unused places, one bit each.
    ///
    /// An unused place accrues interest like an account and is never reset. After millions of steps it would overflow.
    pub fn vacate(&mut self, places: u8) {
        for place in (0..LANES).filter(|place| places >> place & 1 == 1) {
            (self.cash[place], self.nav[place]) = (1.0, 1.0);
        }
    }

    /// Copies a book to the place of an account.
    pub fn put(&mut self, account: usize, book: &Book) {
        (self.bars[account], self.cash[account], self.nav[account]) = (book.bar, book.cash, book.nav);
        for symbol in 0..LANES {
            self.shares[symbol][account] = book.shares[0][symbol];
            self.weights[symbol][account] = book.weights[0][symbol];
            self.marks[symbol][account] = book.marks[0][symbol];
        }
    }

    /// Copies an account to a book of the same market.
    ///
    /// Average prices are not stored here; those of `book` stay.
    pub fn take(&self, account: usize, market: &Dataset, book: &mut Book) {
        self.write(account, book);
        book.bar = self.bars[account];
        book.marks[0] =
            if market.is_whole() { market.closes(book.bar)[0] } else { each(|symbol| self.marks[symbol][account]) };
    }

    /// Copies an account to a book, except its bar and marks.
    pub(crate) fn write(&self, account: usize, book: &mut Book) {
        (book.cash, book.nav) = (self.cash[account], self.nav[account]);
        book.shares[0] = each(|symbol| self.shares[symbol][account]);
        book.weights[0] = each(|symbol| self.weights[symbol][account]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_without_an_account_grows_beyond_no_bound_and_others_keep_what_they_have() {
        let mut block = AccountBlock::default();
        (block.cash, block.nav) = ([2.0; LANES], [1e99, 1e200, 1e200, 3.0, 3.0, 3.0, 3.0, f64::INFINITY]);
        assert!(block.overflows());
        block.vacate(0b1000_0110);
        assert!(!block.overflows());
        assert_eq!(block.nav, [1e99, 1.0, 1.0, 3.0, 3.0, 3.0, 3.0, 1.0]);
        assert_eq!(block.cash, [2.0, 1.0, 1.0, 2.0, 2.0, 2.0, 2.0, 1.0]);
    }
}
