//! Accounts of many symbols, kept number by number.
//!
//! What a step reads of an account lies right behind that of the one before, so that the machine fetches it ahead.

use std::ops::Range;

use crate::account::account_view::Held;
use crate::account::book::{Book, MAX_NAV};
use crate::error::StepError;
use crate::market::dataset::Dataset;
use crate::vector::lane_sums::{self, Block};
use crate::vector::prefetch::prefetch;

/// What the accounts of one number of symbols hold.
#[derive(Clone, Debug)]
pub struct Shelf {
    heads: Vec<Head>,
    shares: Vec<Block>,
    weights: Vec<Block>,
    /// Read where a market has gaps; elsewhere a mark is the close.
    marks: Vec<Block>,
    n_blocks: usize,
}

/// Some neighbours of a shelf, to be changed.
#[derive(Debug)]
pub struct ShelfMut<'a> {
    pub(crate) heads: &'a mut [Head],
    pub(crate) shares: &'a mut [Block],
    pub(crate) weights: &'a mut [Block],
    pub(crate) marks: &'a mut [Block],
    pub(crate) n_blocks: usize,
}

/// What there is one of an account.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Head {
    pub(crate) bar: usize,
    pub(crate) cash: f64,
    pub(crate) nav: f64,
}

impl Shelf {
    /// Returns a copy of books of one number of symbols.
    ///
    /// # Panics
    ///
    /// Panics if there is none, or they differ in their number of symbols.
    #[must_use]
    pub fn new(books: &[Book]) -> Self {
        let n_symbols = books[0].n_symbols();
        assert!(books.iter().all(|book| book.n_symbols() == n_symbols), "one number of symbols");
        let n_blocks = lane_sums::n_blocks(n_symbols);
        let blocks = || vec![[0.0; lane_sums::LANES]; books.len() * n_blocks];
        let heads = vec![Head { bar: 0, cash: 1.0, nav: 1.0 }; books.len()];
        let mut shelf = Self { heads, shares: blocks(), weights: blocks(), marks: blocks(), n_blocks };
        for (i, book) in books.iter().enumerate() {
            shelf.as_mut().put(i, book);
        }
        shelf
    }

    /// Returns all accounts, to be changed.
    #[must_use]
    pub fn as_mut(&mut self) -> ShelfMut<'_> {
        let Self { heads, shares, weights, marks, n_blocks } = self;
        ShelfMut { heads, shares, weights, marks, n_blocks: *n_blocks }
    }

    /// Returns what an account of that market holds.
    #[must_use]
    pub fn held<'a>(&'a self, i: usize, market: &'a Dataset) -> Held<'a> {
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

    /// Returns whether the NAV of some account is above what a decision is taken on.
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
        let Head { bar, nav, .. } = self.heads[i];
        if nav > MAX_NAV { Err(StepError::NavOverflow { nav, bar }) } else { Ok(()) }
    }
}

impl ShelfMut<'_> {
    /// Splits off the first `n` accounts.
    ///
    /// # Panics
    ///
    /// Panics if there are not as many.
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

    /// Returns what an account of that market holds.
    #[must_use]
    #[inline]
    pub fn held<'s>(&'s self, i: usize, market: &'s Dataset) -> Held<'s> {
        let row = row(i, self.n_blocks);
        held(self.heads[i], [&self.shares[row.clone()], &self.weights[row.clone()], &self.marks[row]], market)
    }

    /// Fetches what an account is going to be traded at.
    ///
    /// Nothing if there is no such account, or no bar after its own.
    #[inline]
    pub fn fetch(&self, i: usize, market: &Dataset) {
        if let Some(Head { bar, .. }) = self.heads.get(i)
            && bar + 1 < market.n_bars()
        {
            prefetch(market.fill_prices(bar + 1));
            prefetch(market.closes(bar + 1));
        }
    }

    /// Puts a book in the place of an account.
    ///
    /// # Panics
    ///
    /// Panics if there is no such account, or the book has more or fewer blocks of symbols.
    pub fn put(&mut self, i: usize, book: &Book) {
        self.heads[i] = Head { bar: book.bar, cash: book.cash, nav: book.nav };
        let row = row(i, self.n_blocks);
        self.shares[row.clone()].copy_from_slice(&book.shares);
        self.weights[row.clone()].copy_from_slice(&book.weights);
        self.marks[row].copy_from_slice(&book.marks);
    }

    /// Writes an account to a book of the same market.
    ///
    /// Average prices are not kept here; those of `book` stay.
    ///
    /// # Panics
    ///
    /// Panics as [`ShelfMut::put`] does.
    pub fn take(&self, i: usize, market: &Dataset, book: &mut Book) {
        let held = self.held(i, market);
        (book.bar, book.cash, book.nav) = (held.bar, held.cash, held.nav);
        book.shares.copy_from_slice(held.shares);
        book.weights.copy_from_slice(held.weights);
        book.marks.copy_from_slice(held.marks);
    }
}

/// Returns where the blocks of an account are.
#[inline]
pub(crate) fn row(i: usize, n_blocks: usize) -> Range<usize> {
    i * n_blocks..(i + 1) * n_blocks
}

#[inline]
fn held<'a>(head: Head, [shares, weights, marks]: [&'a [Block]; 3], market: &'a Dataset) -> Held<'a> {
    let Head { bar, cash, nav } = head;
    let marks = if market.is_whole() { market.closes(bar) } else { marks };
    Held { bar, cash, nav, shares, marks, weights, n_symbols: market.n_symbols() }
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
        let mut shelf = Shelf::new(&books);
        books.swap(1, 3);
        for i in [1, 3] {
            shelf.as_mut().put(i, &books[i]);
        }
        let (first, rest) = shelf.as_mut().split_at(2);
        assert_eq!((first.n_accounts(), rest.n_accounts()), (2, 3));
        assert_eq!((rest.bar(1), rest.nav(1), rest.weight(1, 10)), (1, 2.0, 0.1));
        let mut taken = Book::new(&market, 0);
        for (i, book) in books.iter().enumerate() {
            shelf.as_mut().take(i, &market, &mut taken);
            assert_eq!(taken, *book);
            assert_eq!(
                (shelf.bar(i), shelf.cash(i), shelf.nav(i), shelf.shares(i, 10)),
                (book.bar, book.cash, book.nav, book.shares(10))
            );
        }
    }

    #[test]
    fn where_nothing_is_missing_a_mark_is_the_close_whatever_was_put() {
        let market = Dataset::synthetic(9, 4, 3).unwrap();
        let mut book = Book::new(&market, 2);
        book.marks.fill([0.0; lane_sums::LANES]);
        let shelf = Shelf::new(&[book]);
        assert_eq!(shelf.held(0, &market).mark(8).to_bits(), market.close_of(2, 8).to_bits());
    }

    #[test]
    #[should_panic(expected = "index out of bounds")]
    fn a_symbol_that_is_none_is_not_that_of_a_neighbour() {
        let market = Dataset::synthetic(9, 4, 3).unwrap();
        let shelf = Shelf::new(&[Book::new(&market, 1), Book::new(&market, 2)]);
        let _ = shelf.shares(0, 16);
    }

    #[test]
    fn an_account_beyond_a_decision_is_found_and_named() {
        let market = Dataset::synthetic(9, 4, 3).unwrap();
        let mut books = [Book::new(&market, 1), Book::new(&market, 2)];
        assert!(!Shelf::new(&books).overflows());
        books[1].nav = 1e101;
        let shelf = Shelf::new(&books);
        assert!(shelf.overflows() && shelf.check_nav(0).is_ok());
        assert_eq!(shelf.check_nav(1), Err(StepError::NavOverflow { nav: 1e101, bar: 2 }));
    }
}
