//! Accounts of many symbols in structure-of-arrays layout.
//!
//! The data of adjacent accounts is adjacent in memory, so that the hardware prefetcher reads ahead.

use std::ops::Range;

use crate::account::account_view::AccountView;
use crate::account::book::{Book, MAX_NAV};
use crate::error::StepError;
use crate::market::dataset::Dataset;
use crate::vector::lane_sums::{self, Block};
use crate::vector::prefetch::prefetch;

/// Accounts that all have the same number of symbols.
#[derive(Clone, Debug)]
pub struct AccountStore {
    heads: Vec<AccountHead>,
    shares: Vec<Block>,
    weights: Vec<Block>,
    /// Read for markets with gaps; otherwise the mark is the close.
    marks: Vec<Block>,
    n_blocks: usize,
}

/// A mutable slice of an account store.
#[derive(Debug)]
pub struct AccountStoreMut<'a> {
    pub(crate) heads: &'a mut [AccountHead],
    pub(crate) shares: &'a mut [Block],
    pub(crate) weights: &'a mut [Block],
    pub(crate) marks: &'a mut [Block],
    pub(crate) n_blocks: usize,
}

/// The scalar fields of an account.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AccountHead {
    pub(crate) bar: usize,
    pub(crate) cash: f64,
    pub(crate) nav: f64,
}

impl AccountStore {
    /// Returns a store with copies of books.
    ///
    /// # Panics
    ///
    /// Panics without books, or if the books differ in their number of symbols.
    #[must_use]
    pub fn new(books: &[Book]) -> Self {
        let n_symbols = books[0].n_symbols();
        assert!(books.iter().all(|book| book.n_symbols() == n_symbols), "one number of symbols");
        let n_blocks = lane_sums::n_blocks(n_symbols);
        let blocks = || vec![[0.0; lane_sums::LANES]; books.len() * n_blocks];
        let heads = vec![AccountHead { bar: 0, cash: 1.0, nav: 1.0 }; books.len()];
        let mut store = Self { heads, shares: blocks(), weights: blocks(), marks: blocks(), n_blocks };
        for (i, book) in books.iter().enumerate() {
            store.as_mut().put(i, book);
        }
        store
    }

    /// Returns a mutable slice of all accounts.
    #[must_use]
    pub fn as_mut(&mut self) -> AccountStoreMut<'_> {
        let Self { heads, shares, weights, marks, n_blocks } = self;
        AccountStoreMut { heads, shares, weights, marks, n_blocks: *n_blocks }
    }

    /// Returns a view of an account in `market`.
    #[must_use]
    pub fn held<'a>(&'a self, i: usize, market: &'a Dataset) -> AccountView<'a> {
        let row = row(i, self.n_blocks);
        held(self.heads[i], [&self.shares[row.clone()], &self.weights[row.clone()], &self.marks[row]], market)
    }

    /// Returns the bar of an account.
    #[must_use]
    pub fn bar(&self, i: usize) -> usize {
        self.heads[i].bar
    }

    /// Returns the cash of an account.
    #[must_use]
    pub fn cash(&self, i: usize) -> f64 {
        self.heads[i].cash
    }

    /// Returns the NAV of an account.
    #[must_use]
    pub fn nav(&self, i: usize) -> f64 {
        self.heads[i].nav
    }

    /// Returns the shares that an account holds of a symbol.
    #[must_use]
    pub fn shares(&self, i: usize, symbol: usize) -> f64 {
        lane_sums::get(&self.shares[row(i, self.n_blocks)], symbol)
    }

    /// Returns whether the NAV of an account is too large for a decision.
    #[must_use]
    pub fn overflows(&self) -> bool {
        self.heads.iter().fold(0.0_f64, |most, head| most.max(head.nav)) > MAX_NAV
    }

    /// Checks that an account can take a decision, as [`Book::check_nav`] does.
    ///
    /// # Errors
    ///
    /// Returns an error if its NAV is above 1e100.
    pub fn check_nav(&self, i: usize) -> Result<(), StepError> {
        let AccountHead { bar, nav, .. } = self.heads[i];
        if nav > MAX_NAV { Err(StepError::NavOverflow { nav, bar }) } else { Ok(()) }
    }
}

impl AccountStoreMut<'_> {
    /// Splits off the first `n` accounts.
    ///
    /// # Panics
    ///
    /// Panics if there are fewer than `n`.
    #[must_use]
    pub fn split_at(self, n: usize) -> (Self, Self) {
        let n_blocks = self.n_blocks;
        let (heads, rest_heads) = self.heads.split_at_mut(n);
        let (shares, rest_shares) = self.shares.split_at_mut(n * n_blocks);
        let (weights, rest_weights) = self.weights.split_at_mut(n * n_blocks);
        let (marks, rest_marks) = self.marks.split_at_mut(n * n_blocks);
        let first = Self { heads, shares, weights, marks, n_blocks };
        let rest = Self { heads: rest_heads, shares: rest_shares, weights: rest_weights, marks: rest_marks, n_blocks };
        (first, rest)
    }

    /// Returns the number of accounts.
    #[must_use]
    pub fn n_accounts(&self) -> usize {
        self.heads.len()
    }

    /// Returns the bar of an account.
    #[must_use]
    pub fn bar(&self, i: usize) -> usize {
        self.heads[i].bar
    }

    /// Returns the NAV of an account.
    #[must_use]
    pub fn nav(&self, i: usize) -> f64 {
        self.heads[i].nav
    }

    /// Returns the weight that an account holds of a symbol.
    #[must_use]
    pub fn weight(&self, i: usize, symbol: usize) -> f64 {
        lane_sums::get(&self.weights[row(i, self.n_blocks)], symbol)
    }

    /// Returns a view of an account in `market`.
    #[must_use]
    #[inline]
    pub fn held<'s>(&'s self, i: usize, market: &'s Dataset) -> AccountView<'s> {
        let row = row(i, self.n_blocks);
        held(self.heads[i], [&self.shares[row.clone()], &self.weights[row.clone()], &self.marks[row]], market)
    }

    /// Prefetches the data that the next step of an account reads.
    ///
    /// It does nothing without such an account or a next bar.
    #[inline]
    pub fn fetch(&self, i: usize, market: &Dataset) {
        if let Some(AccountHead { bar, .. }) = self.heads.get(i)
            && bar + 1 < market.n_bars()
        {
            prefetch(market.fill_prices(bar + 1));
            prefetch(market.closes(bar + 1));
        }
    }

    /// Copies a book to the place of an account.
    ///
    /// # Panics
    ///
    /// Panics if there is no such account, or the book has another number of blocks.
    pub fn put(&mut self, i: usize, book: &Book) {
        self.heads[i] = AccountHead { bar: book.bar, cash: book.cash, nav: book.nav };
        let row = row(i, self.n_blocks);
        self.shares[row.clone()].copy_from_slice(&book.shares);
        self.weights[row.clone()].copy_from_slice(&book.weights);
        self.marks[row].copy_from_slice(&book.marks);
    }

    /// Copies an account to a book of the same market.
    ///
    /// Average prices are not stored here; those of `book` stay.
    ///
    /// # Panics
    ///
    /// Panics as [`AccountStoreMut::put`] does.
    pub fn take(&self, i: usize, market: &Dataset, book: &mut Book) {
        let held = self.held(i, market);
        (book.bar, book.cash, book.nav) = (held.bar, held.cash, held.nav);
        book.shares.copy_from_slice(held.shares);
        book.weights.copy_from_slice(held.weights);
        book.marks.copy_from_slice(held.marks);
    }
}

/// Returns the range of the blocks of an account.
#[inline]
pub(crate) fn row(i: usize, n_blocks: usize) -> Range<usize> {
    i * n_blocks..(i + 1) * n_blocks
}

#[inline]
fn held<'a>(head: AccountHead, [shares, weights, marks]: [&'a [Block]; 3], market: &'a Dataset) -> AccountView<'a> {
    let AccountHead { bar, cash, nav } = head;
    let marks = if market.is_whole() { market.closes(bar) } else { marks };
    AccountView { bar, cash, nav, shares, marks, weights, n_symbols: market.n_symbols() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_account_is_taken_as_it_was_put_and_its_neighbours_stay_as_they_are() {
        let market = Dataset::synthetic(11, 9, 3).unwrap();
        let mut books: Vec<Book> = (0..5).map(|bar| Book::new(&market, bar)).collect();
        for (i, book) in books.iter_mut().enumerate() {
            (book.cash, book.nav) = (0.5 + i as f64, 1.0 + i as f64);
            lane_sums::set(&mut book.shares, 10, 7.0 + i as f64);
            lane_sums::set(&mut book.weights, 10, 0.1 * i as f64);
        }
        let mut store = AccountStore::new(&books);
        books.swap(1, 3);
        for i in [1, 3] {
            store.as_mut().put(i, &books[i]);
        }
        let (first, rest) = store.as_mut().split_at(2);
        assert_eq!((first.n_accounts(), rest.n_accounts()), (2, 3));
        assert_eq!((rest.bar(1), rest.nav(1), rest.weight(1, 10)), (1, 2.0, 0.1));
        let mut taken = Book::new(&market, 0);
        for (i, book) in books.iter().enumerate() {
            store.as_mut().take(i, &market, &mut taken);
            assert_eq!(taken, *book);
            assert_eq!(
                (store.bar(i), store.cash(i), store.nav(i), store.shares(i, 10)),
                (book.bar, book.cash, book.nav, book.shares(10))
            );
        }
    }

    #[test]
    fn where_nothing_is_missing_a_mark_is_the_close_whatever_was_put() {
        let market = Dataset::synthetic(9, 4, 3).unwrap();
        let mut book = Book::new(&market, 2);
        book.marks.fill([0.0; lane_sums::LANES]);
        let store = AccountStore::new(&[book]);
        assert_eq!(store.held(0, &market).mark(8).to_bits(), market.close_of(2, 8).to_bits());
    }

    #[test]
    #[should_panic(expected = "index out of bounds")]
    fn a_symbol_that_is_none_is_not_that_of_a_neighbour() {
        let market = Dataset::synthetic(9, 4, 3).unwrap();
        let store = AccountStore::new(&[Book::new(&market, 1), Book::new(&market, 2)]);
        let _ = store.shares(0, 16);
    }

    #[test]
    fn an_account_beyond_a_decision_is_found_and_named() {
        let market = Dataset::synthetic(9, 4, 3).unwrap();
        let mut books = [Book::new(&market, 1), Book::new(&market, 2)];
        assert!(!AccountStore::new(&books).overflows());
        books[1].nav = 1e101;
        let store = AccountStore::new(&books);
        assert!(store.overflows() && store.check_nav(0).is_ok());
        assert_eq!(store.check_nav(1), Err(StepError::NavOverflow { nav: 1e101, bar: 2 }));
    }
}
