use crate::account::cost_tables::CostTables;
use crate::market::dataset::Dataset;
use crate::vector::lane_sums::Block;

/// The table rows that a step reads.
#[derive(Clone, Copy)]
pub(super) struct Rows<'a> {
    /// Closes of the decision bar, NaN where missing.
    pub(super) decided: &'a [Block],
    pub(super) fill: &'a [Block],
    pub(super) close: &'a [Block],
    pub(super) volume: Option<&'a [Block]>,
    pub(super) slippage: Option<&'a [Block]>,
    pub(super) roots: Option<&'a [Block]>,
}

impl<'a> Rows<'a> {
    /// Returns the rows of a decision at the close of bar `decided`.
    #[inline(always)]
    pub(super) fn at(market: &'a Dataset, tables: Option<&'a CostTables>, decided: usize) -> Self {
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
