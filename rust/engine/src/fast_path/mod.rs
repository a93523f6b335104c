//! A step on which nothing has to be told.
//!
//! Every order is filled whole, and nothing is paid out, split or settled.
//!
//! The numbers are those of `execution` and `settlement`, expression by expression, in one pass instead of many. What
//! does not fit is left to them: nothing here has an effect before it is known that all of it fits.

mod account_block;
mod account_store;
mod account_vector;
pub(crate) mod action_rows;
mod block_steps;
mod few_symbols;
mod lane_group;
pub(crate) mod log_returns;
mod many_symbols;
mod market_tape;
mod observation_writer;
mod order_vector;
mod short_copy;
mod single_account;
mod single_trade;

use pulp::Simd;

use crate::account::cost_tables::Tables;
use crate::market::dataset::Dataset;
use crate::vector::lane_sums::Block;
use crate::vector::simd::Vector;

pub use crate::account::lane_terms::{Tariff, Whose};
pub use account_block::Pack;
pub use account_store::{Shelf, ShelfMut};
pub use block_steps::{Track, run_group};
pub use lane_group::{Growths, Orders, step_pack};
pub use many_symbols::{Spare, step_shelf};
pub use observation_writer::{Observed, Slid};
pub(crate) use order_vector::Terms;
pub(crate) use single_account::step;

/// What a plain step may leave out, known before it.
#[derive(Clone, Copy)]
struct Features {
    /// Whether a price may be missing.
    gaps: bool,
    /// Whether the cost of a fill depends on its size, bar or symbol.
    varies: bool,
    /// Whether an account can be short, or called.
    owes: bool,
}

impl Features {
    /// Returns the features of steps in `market` under these rules.
    ///
    /// Nothing where no step of them is plain: where rules differ none has a jitter, whose table is of one set of them.
    fn of(market: &Dataset, whose: Whose<'_>) -> Option<Self> {
        let traits = whose.traits();
        let has_table = whose.tables().is_some();
        if cfg!(feature = "planted") || !traits.is_plain || (traits.jitters && !has_table) {
            return None;
        }
        let gaps = !market.is_whole();
        Some(Self { gaps, varies: traits.varies || traits.jitters, owes: gaps || traits.owes })
    }
}

/// The rows of the bar that a step fills in.
#[derive(Clone, Copy)]
struct Rows<'a> {
    /// Closes that the decision was taken on, NaN where there is none.
    decided: &'a [Block],
    fill: &'a [Block],
    close: &'a [Block],
    volume: Option<&'a [Block]>,
    slippage: Option<&'a [Block]>,
    roots: Option<&'a [Block]>,
}

impl<'a> Rows<'a> {
    /// Returns the rows of decisions at the close of a bar.
    #[inline(always)]
    fn at(market: &'a Dataset, tables: Option<&'a Tables>, decided: usize) -> Self {
        let bar = decided + 1;
        Self {
            decided: market.closes(decided),
            fill: market.fill_prices(bar),
            close: market.closes(bar),
            volume: market.volumes(bar),
            slippage: tables.and_then(|tables| tables.slippage(bar)),
            roots: tables.and_then(|tables| tables.roots(bar)),
        }
    }
}

/// Returns the total over 1, 4 or 8 symbols in the contract's order.
///
/// Each symbol is a vector of accounts.
///
/// The contract's lanes begin at 0, which turns but the sign of a zero, and of a whole sum as of its lanes.
#[inline(always)]
fn total<S: Simd, const N: usize>(zero: Vector<S>, of: &[Vector<S>; N]) -> Vector<S> {
    if N == 1 {
        return zero + of[0];
    }
    let pair = |k: usize| if N > 4 { of[k] + of[k + 4] } else { of[k] };
    zero + ((pair(0) + pair(2)) + (pair(1) + pair(3)))
}
