use crate::vector::cpu_features::Arch;
use crate::vector::lane_sums::{self, Block};

/// A read-only view of an account at the close of a bar, in any storage.
#[derive(Clone, Copy, Debug)]
pub struct AccountView<'a> {
    pub(crate) bar: usize,
    pub(crate) cash: f64,
    pub(crate) nav: f64,
    pub(crate) shares: &'a [Block],
    pub(crate) marks: &'a [Block],
    pub(crate) weights: &'a [Block],
    pub(crate) n_symbols: usize,
}

impl AccountView<'_> {
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

    /// Returns the signed shares held of a symbol.
    #[must_use]
    pub fn shares(&self, symbol: usize) -> f64 {
        lane_sums::get(self.shares, symbol)
    }

    /// Returns the last real close of a symbol, as [`crate::Book::mark`] does.
    #[must_use]
    pub fn mark(&self, symbol: usize) -> f64 {
        lane_sums::get(self.marks, symbol)
    }

    /// Writes all weights, as [`crate::Book::weight`] returns them, rounded to f32.
    ///
    /// # Panics
    ///
    /// Panics if there are more weights than symbols.
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "the result is f32")]
    pub fn weights_f32(&self, weights: &mut [f32]) {
        assert!(weights.len() <= self.n_symbols, "a weight a symbol");
        let held = self.weights.as_flattened();
        // Compiled for the vector instructions of the CPU; rounding is the same for all.
        Arch::new().dispatch(
            #[inline(always)]
            || {
                // A loop over numbers: over blocks, the compiler would take the same element of several blocks at once.
                for (weight, held) in weights.iter_mut().zip(held) {
                    *weight = *held as f32;
                }
            },
        );
    }
}
