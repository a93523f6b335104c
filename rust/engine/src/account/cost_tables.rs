use crate::market::grid::Grid;
use crate::vector::lane_sums::Block;

/// Cost coefficients of every bar and symbol that do not depend on the account.
///
/// They are computed once and shared by many accounts.
#[derive(Debug)]
pub(crate) struct CostTables {
    /// Slippage including its jitter.
    pub(crate) slippage: Option<Grid>,
    /// Square root of capital over volume; present if every cell has a volume.
    pub(crate) roots: Option<Grid>,
}

impl CostTables {
    pub(crate) fn slippage(&self, bar: usize) -> Option<&[Block]> {
        self.slippage.as_ref().map(|grid| grid.row(bar))
    }

    pub(crate) fn roots(&self, bar: usize) -> Option<&[Block]> {
        self.roots.as_ref().map(|grid| grid.row(bar))
    }
}
