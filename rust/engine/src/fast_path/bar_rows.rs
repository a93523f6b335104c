use crate::account::cost_tables::Tables;
use crate::market::dataset::Dataset;
use crate::vector::lane_sums::Block;

/// The rows of the bar that a step fills in.
#[derive(Clone, Copy)]
pub(super) struct Rows<'a> {
    /// Closes that the decision was taken on, NaN where there is none.
    pub(super) decided: &'a [Block],
    pub(super) fill: &'a [Block],
    pub(super) close: &'a [Block],
    pub(super) volume: Option<&'a [Block]>,
    pub(super) slippage: Option<&'a [Block]>,
    pub(super) roots: Option<&'a [Block]>,
}

impl<'a> Rows<'a> {
    /// Returns the rows of decisions at the close of a bar.
    #[inline(always)]
    pub(super) fn at(market: &'a Dataset, tables: Option<&'a Tables>, decided: usize) -> Self {
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
