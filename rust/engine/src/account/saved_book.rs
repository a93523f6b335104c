//! The numbers of an account, for saved states.

use crate::account::book::Book;
use crate::vector::lane_sums::{self, Block, LANES};

impl Book {
    /// Returns all numbers of the account except its bar.
    ///
    /// [`Book::from_numbers`] restores it from them to the bit.
    #[must_use]
    pub fn numbers(&self) -> Vec<f64> {
        let Self { bar: _, cash, nav, shares, marks, weights, avg_prices, n_symbols: _ } = self;
        let tables = [shares, marks, weights, avg_prices];
        let cells = tables.into_iter().flatten().flatten();
        [*cash, *nav].iter().chain(cells).copied().collect()
    }

    /// Returns the account of [`Book::numbers`] at the close of `bar`.
    ///
    /// `None` for another number of symbols.
    #[must_use]
    pub fn from_numbers(n_symbols: usize, bar: usize, numbers: &[f64]) -> Option<Self> {
        let n_blocks = lane_sums::n_blocks(n_symbols);
        let (money, cells) = numbers.split_at_checked(2)?;
        let (blocks, rest) = cells.as_chunks::<LANES>();
        if blocks.len() != 4 * n_blocks || !rest.is_empty() {
            return None;
        }
        let table = |k: usize| -> Vec<Block> { blocks[k * n_blocks..(k + 1) * n_blocks].to_vec() };
        Some(Self {
            bar,
            cash: money[0],
            nav: money[1],
            shares: table(0),
            marks: table(1),
            weights: table(2),
            avg_prices: table(3),
            n_symbols,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::market::dataset::Dataset;

    #[test]
    fn an_account_is_restored_from_its_numbers_to_the_bit() {
        let mut book = Book::new(&Dataset::synthetic(11, 30, 3).unwrap(), 20);
        (book.cash, book.nav) = (-0.25, 1.5);
        book.shares[1][2] = -0.125;
        book.weigh();
        let numbers = book.numbers();
        assert_eq!(Book::from_numbers(11, 20, &numbers), Some(book));
        assert_eq!(Book::from_numbers(4, 20, &numbers), None);
        assert_eq!(Book::from_numbers(11, 20, &numbers[1..]), None);
        assert_eq!(Book::from_numbers(11, 20, &[]), None);
    }
}
