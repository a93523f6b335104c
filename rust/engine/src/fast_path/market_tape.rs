//! A market of at most eight symbols, read by several accounts at once.
//!
//! They are as many as a vector has elements, each at a bar of its own.

use pulp::Simd;

use crate::account::lane_terms::Whose;
use crate::fast_path::order_vector::{Depth, Terms};
use crate::market::dataset::Dataset;
use crate::market::grid::Grid;
use crate::vector::lane_sums::{Block, LANES};
use crate::vector::simd::Vector;

/// The symbols that are turned at once.
pub(crate) const QUAD: usize = 4;

/// The accounts of which a vector of eight elements takes four symbols each.
///
/// So they are turned in order.
const PAIRS: [(usize, usize); QUAD] = [(0, 2), (1, 3), (4, 6), (5, 7)];

/// Returns four symbols of several accounts, each symbol in a vector.
///
/// The accounts are as many as a vector has elements.
#[inline(always)]
pub(crate) fn turn<'a, S: Simd>(simd: S, row_of: impl Fn(usize) -> &'a [f64; QUAD]) -> [Vector<S>; QUAD] {
    // One call of what is asked for, which is made in place then: several would be calls, and a call keeps no vector.
    let mut accounts = [&[0.0; QUAD]; LANES];
    for (a, row) in accounts.iter_mut().enumerate().take(S::F64_LANES) {
        *row = row_of(a);
    }
    // Written out: `array::from_fn` is a call, and hands its vectors over by way of memory.
    let rows = [load::<S>(&accounts, 0), load::<S>(&accounts, 1), load::<S>(&accounts, 2), load::<S>(&accounts, 3)];
    simd.deinterleave_shfl_f64s(rows).map(|value| Vector::new(simd, value))
}

/// Returns a vector of what [`turn`] turns: a part of a row, a row, or two of them.
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

/// Returns what [`turn`] undoes: four numbers of each account.
#[inline(always)]
pub(crate) fn turn_back<S: Simd>(simd: S, columns: [Vector<S>; QUAD]) -> [[f64; QUAD]; LANES] {
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

/// Returns the four symbols from four times `quad` on of a row.
#[inline(always)]
pub(crate) fn quad_of<const N: usize>(row: &[f64; N], quad: usize) -> &[f64; QUAD] {
    row[quad * QUAD..][..QUAD].try_into().expect("four symbols")
}

/// The grids of a market, a block a bar, and of the rules in it.
#[derive(Clone, Copy)]
pub(crate) struct Tape<'a> {
    pub(crate) close: &'a [Block],
    /// Where fills are not at the closes decided on.
    pub(crate) fill: Option<&'a [Block]>,
    volume: Option<&'a [Block]>,
    slippage: Option<&'a [Block]>,
    roots: Option<&'a [Block]>,
}

impl<'a> Tape<'a> {
    #[inline(always)]
    pub(crate) fn new(market: &'a Dataset, rules: Whose<'a>) -> Self {
        let (fill, lag) = market.fill_grid();
        let tables = rules.tables();
        Self {
            close: market.close.blocks(),
            fill: (lag == 0).then(|| fill.blocks()),
            volume: market.volume.as_ref().map(Grid::blocks),
            slippage: tables.and_then(|tables| tables.slippage.as_ref()).map(Grid::blocks),
            roots: tables.and_then(|tables| tables.roots.as_ref()).map(Grid::blocks),
        }
    }

    /// Returns what the costs of four symbols depend on.
    ///
    /// At `marks` and for accounts of `nav`, whose bars `bar_of` gives.
    #[inline(always)]
    pub(crate) fn depths<S: Simd>(
        &self,
        terms: &Terms<S>,
        bar_of: impl Fn(usize) -> usize + Copy,
        quad: usize,
        (marks, nav): (&[Vector<S>; QUAD], Vector<S>),
    ) -> [Depth<S>; QUAD] {
        // Written out, as in `turn`.
        let mut depths = [terms.flat(); QUAD];
        if let Some(roots) = self.roots {
            for (depth, root) in depths.iter_mut().zip(rows(terms.simd, roots, bar_of, quad)) {
                depth.root = root;
            }
        } else if let Some(volume) = self.volume {
            let volumes = rows(terms.simd, volume, bar_of, quad);
            for ((depth, volume), mark) in depths.iter_mut().zip(volumes).zip(marks) {
                depth.root = terms.root(Some(volume), *mark, nav);
            }
        } else {
            for (depth, mark) in depths.iter_mut().zip(marks) {
                depth.root = terms.root(None, *mark, nav);
            }
        }
        if let Some(slippage) = self.slippage {
            for (depth, slippage) in depths.iter_mut().zip(rows(terms.simd, slippage, bar_of, quad)) {
                depth.slippage = slippage;
            }
        }
        depths
    }
}

/// Returns four symbols of a grid, turned, at the bars of several accounts.
#[inline(always)]
fn rows<S: Simd>(simd: S, grid: &[Block], bar_of: impl Fn(usize) -> usize, quad: usize) -> [Vector<S>; QUAD] {
    turn(simd, |a| quad_of(&grid[bar_of(a)], quad))
}

#[cfg(test)]
mod tests {
    use pulp::{Arch, Scalar, WithSimd};

    use super::*;
    use crate::vector::simd::{narrow, store};

    /// Turns numbers and turns them back.
    struct Turns([[f64; QUAD]; LANES]);

    impl WithSimd for Turns {
        type Output = ([Block; QUAD], Vec<[f64; QUAD]>);

        fn with_simd<S: Simd>(self, simd: S) -> Self::Output {
            let turned = turn(simd, |a| &self.0[a]);
            let symbols = turned.map(|symbol| {
                let mut elements = [0.0; LANES];
                store(&mut elements, 0, symbol);
                elements
            });
            (symbols, turn_back(simd, turned)[..S::F64_LANES].to_vec())
        }
    }

    #[test]
    fn accounts_keep_their_order_when_they_are_turned_on_every_machine() {
        let numbers = std::array::from_fn(|a| std::array::from_fn(|symbol| (10 * a + symbol) as f64));
        let (wide, narrow) = (Arch::new().dispatch(Turns(numbers)), narrow(Arch::new()).dispatch(Turns(numbers)));
        for (symbols, accounts) in [wide, narrow, Turns(numbers).with_simd(Scalar::new())] {
            for (a, account) in accounts.iter().enumerate() {
                assert_eq!(*account, numbers[a]);
                assert_eq!([0, 1, 2, 3].map(|symbol: usize| symbols[symbol][a]), numbers[a]);
            }
        }
    }
}
