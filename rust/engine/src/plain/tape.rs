//! A market of at most eight symbols, read by several accounts at once.
//!
//! They are as many as a vector has elements, each at a bar of its own.

use pulp::Simd;

use crate::dataset::Dataset;
use crate::grid::Grid;
use crate::lanes::{Block, LANES};
use crate::plain::order::Depth;
use crate::plain::whose::Whose;
use crate::simd::Vector;

/// The symbols that are turned at once.
pub(crate) const QUAD: usize = 4;

/// Returns four symbols of several accounts, each symbol in a vector.
///
/// The accounts are as many as a vector has elements.
#[inline(always)]
pub(crate) fn turn<'a, S: Simd>(simd: S, row_of: impl Fn(usize) -> &'a [f64; QUAD]) -> [Vector<S>; QUAD] {
    let load = |register: usize| {
        let element = register * S::F64_LANES;
        let row = row_of(element / QUAD);
        S::as_simd_f64s(&row[element % QUAD..][..S::F64_LANES]).0[0]
    };
    // Written out: `array::from_fn` is a call, and hands its vectors over by way of memory.
    let rows: [S::f64s; QUAD] = [load(0), load(1), load(2), load(3)];
    simd.deinterleave_shfl_f64s(rows).map(|value| Vector::new(simd, value))
}

/// Returns what [`turn`] undoes: four numbers of each account.
#[inline(always)]
pub(crate) fn turn_back<S: Simd>(simd: S, columns: [Vector<S>; QUAD]) -> [Block; QUAD / 2] {
    let rows = simd.interleave_shfl_f64s(columns.map(Vector::value));
    let mut accounts = [[0.0; LANES]; QUAD / 2];
    S::as_mut_simd_f64s(accounts.as_flattened_mut()).0[..QUAD].copy_from_slice(&rows);
    accounts
}

/// Returns the four symbols from `quad` on of a block.
#[inline(always)]
pub(crate) fn quad_of(block: &Block, quad: usize) -> &[f64; QUAD] {
    block[quad * QUAD..][..QUAD].try_into().expect("four symbols")
}

/// The grids of a market, a block a bar, and of the rules in it.
#[derive(Clone, Copy)]
pub(crate) struct Tape<'a> {
    pub(crate) close: &'a [Block],
    /// Where fills are not at the closes decided on.
    pub(crate) fill: Option<&'a [Block]>,
    volume: Option<&'a [Block]>,
    slippage: Option<&'a [Block]>,
    ratios: Option<(&'a [Block], &'a [Block])>,
}

impl<'a> Tape<'a> {
    #[inline(always)]
    pub(crate) fn new(market: &'a Dataset, rules: Whose<'a>) -> Self {
        let (fill, lag) = market.fill_grid();
        let tables = if let Whose::One(rules) = rules { rules.tables.as_deref() } else { None };
        Self {
            close: market.close.blocks(),
            fill: (lag == 0).then(|| fill.blocks()),
            volume: market.volume.as_ref().map(Grid::blocks),
            slippage: tables.and_then(|tables| tables.slippage.as_ref()).map(Grid::blocks),
            ratios: tables
                .and_then(|tables| tables.ratios.as_ref())
                .map(|(ratio, root)| (ratio.blocks(), root.blocks())),
        }
    }

    /// Returns what the costs of four symbols depend on.
    ///
    /// `bar_of` gives the bars of the accounts.
    #[inline(always)]
    pub(crate) fn depths<S: Simd>(
        &self,
        simd: S,
        bar_of: impl Fn(usize) -> usize + Copy,
        quad: usize,
    ) -> [Depth<S>; QUAD] {
        let turned = |blocks: &'a [Block]| turn(simd, |a| quad_of(&blocks[bar_of(a)], quad));
        let ratios = self.ratios.map(|(ratio, root)| (turned(ratio), turned(root)));
        let volume = if ratios.is_some() { None } else { self.volume.map(turned) };
        let slippage = self.slippage.map(turned);
        std::array::from_fn(|k| Depth {
            slippage: slippage.map(|of| of[k]),
            volume: volume.map(|of| of[k]),
            ratio: ratios.map(|(ratio, root)| (ratio[k], root[k])),
        })
    }
}

#[cfg(test)]
mod tests {
    use pulp::{Arch, Scalar, WithSimd};

    use super::*;
    use crate::simd::{narrow, store};

    /// Turns numbers and turns them back.
    struct Turns([[f64; QUAD]; QUAD]);

    impl WithSimd for Turns {
        type Output = (Vec<[f64; QUAD]>, Vec<[f64; QUAD]>);

        fn with_simd<S: Simd>(self, simd: S) -> Self::Output {
            let turned = turn(simd, |a| &self.0[a]);
            let symbols = turned.map(|symbol| {
                let mut elements = [0.0; LANES];
                store(&mut elements, 0, symbol);
                *quad_of(&elements, 0)
            });
            let back = turn_back(simd, turned);
            let accounts = (0..S::F64_LANES).map(|a| *quad_of(&back[a / 2], a % 2));
            (symbols.map(|symbol| symbol).to_vec(), accounts.collect())
        }
    }

    #[test]
    fn accounts_keep_their_order_when_they_are_turned_on_every_machine() {
        let numbers = std::array::from_fn(|a| std::array::from_fn(|symbol| (10 * a + symbol) as f64));
        for (symbols, accounts) in
            [narrow(Arch::new()).dispatch(Turns(numbers)), Turns(numbers).with_simd(Scalar::new())]
        {
            for (a, account) in accounts.iter().enumerate() {
                assert_eq!(*account, numbers[a]);
                assert_eq!([0, 1, 2, 3].map(|symbol: usize| symbols[symbol][a]), numbers[a]);
            }
        }
    }
}
