//! Tables of a market of at most eight symbols, read by a vector of accounts.
//!
//! Each account is at its own bar.

use pulp::Simd;

use crate::account::block_terms::BlockTerms;
use crate::fast_path::order_vector::{CostInputs, OrderTerms};
use crate::market::dataset::Dataset;
use crate::market::grid::Grid;
use crate::vector::lane_sums::{Block, LANES};
use crate::vector::simd::Vector;

/// Symbols transposed at once.
pub(crate) const QUAD: usize = 4;

/// Pairs of accounts that share a vector of eight elements, four symbols each.
///
/// The order makes the transposition return accounts in order.
const PAIRS: [(usize, usize); QUAD] = [(0, 2), (1, 3), (4, 6), (5, 7)];

/// Returns four symbols of a vector of accounts, as one vector per symbol.
#[inline(always)]
pub(crate) fn transpose<'a, S: Simd>(simd: S, row_of: impl Fn(usize) -> &'a [f64; QUAD]) -> [Vector<S>; QUAD] {
    // One call of the closure, which is then inlined. Several would be calls, and a call keeps no vector in registers.
    let mut accounts = [&[0.0; QUAD]; LANES];
    for (a, row) in accounts.iter_mut().enumerate().take(S::F64_LANES) {
        *row = row_of(a);
    }
    // Unrolled: `array::from_fn` compiles to a call that passes vectors through memory.
    let rows = [load::<S>(&accounts, 0), load::<S>(&accounts, 1), load::<S>(&accounts, 2), load::<S>(&accounts, 3)];
    simd.deinterleave_shfl_f64s(rows).map(|value| Vector::new(simd, value))
}

/// Returns an input vector of [`transpose`]: a part of a row, a row, or two rows.
#[inline(always)]
fn load<S: Simd>(accounts: &[&[f64; QUAD]; LANES], register: usize) -> S::f64s {
    if S::F64_LANES == LANES {
        let (low, high) = PAIRS[register];
        let mut both = [0.0; LANES];
        both[..QUAD].copy_from_slice(accounts[low]);
        both[QUAD..].copy_from_slice(accounts[high]);
        return S::as_simd_f64s(&both).0[0];
    }
    let element = register * S::F64_LANES;
    S::as_simd_f64s(&accounts[element / QUAD][element % QUAD..][..S::F64_LANES]).0[0]
}

/// Returns the inverse of [`transpose`]: four numbers of each account.
#[inline(always)]
pub(crate) fn transpose_back<S: Simd>(simd: S, columns: [Vector<S>; QUAD]) -> [[f64; QUAD]; LANES] {
    let rows = simd.interleave_shfl_f64s(columns.map(Vector::value));
    let mut accounts = [[0.0; QUAD]; LANES];
    if S::F64_LANES == LANES {
        for (row, (low, high)) in rows.into_iter().zip(PAIRS) {
            let mut both = [0.0; LANES];
            S::as_mut_simd_f64s(&mut both).0[0] = row;
            accounts[low].copy_from_slice(&both[..QUAD]);
            accounts[high].copy_from_slice(&both[QUAD..]);
        }
    } else {
        S::as_mut_simd_f64s(accounts.as_flattened_mut()).0[..QUAD].copy_from_slice(&rows);
    }
    accounts
}

/// Returns four symbols of a row, from four times `quad` on.
#[inline(always)]
pub(crate) fn quad_of<const N: usize>(row: &[f64; N], quad: usize) -> &[f64; QUAD] {
    row[quad * QUAD..][..QUAD].try_into().expect("four symbols")
}

/// The tables of a market and of its rules, one block per bar.
#[derive(Clone, Copy)]
pub(crate) struct MarketTape<'a> {
    pub(crate) close: &'a [Block],
    /// Reference prices, if fills are not at the closes of the decision.
    pub(crate) fill: Option<&'a [Block]>,
    volume: Option<&'a [Block]>,
    slippage: Option<&'a [Block]>,
    roots: Option<&'a [Block]>,
}

impl<'a> MarketTape<'a> {
    #[inline(always)]
    pub(crate) fn new(market: &'a Dataset, rules: BlockTerms<'a>) -> Self {
        let (fill, lag) = market.fill_grid();
        let tables = rules.tables();
        Self {
            close: market.tables.close.blocks(),
            fill: (lag == 0).then(|| fill.blocks()),
            volume: market.tables.volume.as_ref().map(Grid::blocks),
            slippage: tables.and_then(|tables| tables.slippage.as_ref()).map(Grid::blocks),
            roots: tables.and_then(|tables| tables.roots.as_ref()).map(Grid::blocks),
        }
    }

    /// Returns the cost inputs of four symbols.
    ///
    /// They are at `marks`, for accounts of `nav` at the bars of `bar_of`.
    #[inline(always)]
    pub(crate) fn cost_inputs<S: Simd>(
        &self,
        terms: &OrderTerms<S>,
        bar_of: impl Fn(usize) -> usize + Copy,
        quad: usize,
        (marks, nav): (&[Vector<S>; QUAD], Vector<S>),
    ) -> [CostInputs<S>; QUAD] {
        // Unrolled, as in `transpose`.
        let mut cost_inputs = [terms.flat(); QUAD];
        if let Some(roots) = self.roots {
            for (cost_input, root) in cost_inputs.iter_mut().zip(rows(terms.simd, roots, bar_of, quad)) {
                cost_input.root = root;
            }
        } else if let Some(volume) = self.volume {
            let volumes = rows(terms.simd, volume, bar_of, quad);
            for ((cost_input, volume), mark) in cost_inputs.iter_mut().zip(volumes).zip(marks) {
                cost_input.root = terms.root(Some(volume), *mark, nav);
            }
        } else {
            for (cost_input, mark) in cost_inputs.iter_mut().zip(marks) {
                cost_input.root = terms.root(None, *mark, nav);
            }
        }
        if let Some(slippage) = self.slippage {
            for (cost_input, slippage) in cost_inputs.iter_mut().zip(rows(terms.simd, slippage, bar_of, quad)) {
                cost_input.slippage = slippage;
            }
        }
        cost_inputs
    }
}

/// Returns four symbols of a table at the bars of several accounts, transposed.
#[inline(always)]
fn rows<S: Simd>(simd: S, grid: &[Block], bar_of: impl Fn(usize) -> usize, quad: usize) -> [Vector<S>; QUAD] {
    transpose(simd, |a| quad_of(&grid[bar_of(a)], quad))
}

#[cfg(test)]
mod tests {
    use pulp::{Arch, Scalar, WithSimd};

    use super::*;
    use crate::vector::simd::{narrow_arch, store};

    /// Transposes numbers and back.
    struct Turns([[f64; QUAD]; LANES]);

    impl WithSimd for Turns {
        type Output = ([Block; QUAD], Vec<[f64; QUAD]>);

        fn with_simd<S: Simd>(self, simd: S) -> Self::Output {
            let transposed = transpose(simd, |a| &self.0[a]);
            let symbols = transposed.map(|symbol| {
                let mut elements = [0.0; LANES];
                store(&mut elements, 0, symbol);
                elements
            });
            (symbols, transpose_back(simd, transposed)[..S::F64_LANES].to_vec())
        }
    }

    #[test]
    fn accounts_keep_their_order_when_they_are_turned_on_every_machine() {
        let numbers = std::array::from_fn(|a| std::array::from_fn(|symbol| (10 * a + symbol) as f64));
        let (vectorized, narrow_arch) =
            (Arch::new().dispatch(Turns(numbers)), narrow_arch(Arch::new()).dispatch(Turns(numbers)));
        for (symbols, accounts) in [vectorized, narrow_arch, Turns(numbers).with_simd(Scalar::new())] {
            for (a, account) in accounts.iter().enumerate() {
                assert_eq!(*account, numbers[a]);
                assert_eq!([0, 1, 2, 3].map(|symbol: usize| symbols[symbol][a]), numbers[a]);
            }
        }
    }
}
