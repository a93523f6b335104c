//! What a learner sees of accounts: the last returns, weights and cash.

use pulp::Simd;

use crate::lanes::{Block, LANES};
use crate::simd::copy;

/// Where what is seen of accounts goes: returns, weights held and cash.
///
/// Weights and cash are fractions of NAV.
#[derive(Debug)]
pub struct Observed<'a> {
    /// One an account, one after the other; there may be fewer than eight.
    pub rows: &'a mut [f32],
    /// The returns of the market, one per symbol, bar after bar.
    pub returns: &'a [f32],
    /// How many of them a row begins with, up to the account's bar; 0 before the first.
    pub width: usize,
}

/// Weights and cash of eight accounts after a step, as fractions of NAV.
pub(crate) struct Shown<const N: usize> {
    /// Account by account.
    pub(crate) weights: [[f64; N]; LANES],
    pub(crate) cash: Block,
}

impl<const N: usize> Shown<N> {
    #[inline(always)]
    pub(crate) fn new() -> Self {
        Self { weights: [[0.0; N]; LANES], cash: [0.0; LANES] }
    }
}

impl Observed<'_> {
    /// Writes what is seen of accounts that were carried to the bars after `bars`.
    ///
    /// Of `which` alone, a bit each.
    ///
    /// # Panics
    ///
    /// Panics if one of them has no row.
    #[inline(always)]
    #[expect(clippy::cast_possible_truncation, reason = "observed in f32")]
    pub(crate) fn write<S: Simd, const N: usize>(
        &mut self,
        simd: S,
        n_symbols: usize,
        (which, bars): (u8, &[usize; LANES]),
        shown: &Shown<N>,
    ) {
        let (mut rows, returns, width) = (&mut *self.rows, self.returns, self.width);
        for (account, ((bar, weights), cash)) in bars.iter().zip(&shown.weights).zip(&shown.cash).enumerate() {
            if which >> account == 0 {
                return;
            }
            let (row, others) = rows.split_at_mut(width + n_symbols + 1);
            rows = others;
            if which >> account & 1 == 0 {
                continue;
            }
            let (window, account) = row.split_at_mut(width);
            if width > 0 {
                show_returns(simd, returns, (bar + 2) * n_symbols, window);
            }
            if let Some(whole) = account[..n_symbols].first_chunk_mut::<N>() {
                *whole = weights.map(|weight| weight as f32);
            } else {
                for (seen, weight) in account.iter_mut().zip(weights) {
                    *seen = *weight as f32;
                }
            }
            account[n_symbols] = *cash as f32;
        }
    }
}

/// Writes the last returns of those that are known, oldest first.
#[inline(always)]
fn show_returns<S: Simd>(simd: S, returns: &[f32], n_known: usize, window: &mut [f32]) {
    if let Some(first) = n_known.checked_sub(window.len()) {
        copy(simd, &returns[first..n_known], window);
    } else {
        let (before, shown) = window.split_at_mut(window.len() - n_known);
        before.fill(0.0);
        shown.copy_from_slice(&returns[..n_known]);
    }
}
