//! The tables of a market in the layout of the step.

use crate::market::charges::ChargeTables;
use crate::market::columns::Columns;
use crate::market::corporate_actions::ActionTable;
use crate::market::grid::Grid;
use crate::market::validation;
use crate::vector::cpu_features::Arch;
use crate::vector::dispatch::vectorized;
use crate::vector::lane_sums::LANES;

/// The tables of a market; NaN for a missing value.
#[derive(Debug)]
pub(crate) struct MarketTables {
    pub(crate) close: Grid,
    pub(crate) open: Option<Grid>,
    pub(crate) high: Option<Grid>,
    pub(crate) low: Option<Grid>,
    pub(crate) volume: Option<Grid>,
    pub(crate) dividends: Option<ActionTable>,
    pub(crate) splits: Option<ActionTable>,
    /// 1 or 0.
    pub(crate) tradable: Option<ActionTable>,
    pub(crate) delistings: Option<ActionTable>,
    pub(crate) charges: ChargeTables,
}

impl MarketTables {
    /// Returns the tables of columns and leaves the columns empty.
    pub(crate) fn from_columns(columns: &mut Columns) -> Self {
        let n_symbols = columns.symbols.len();
        let grid = |table: Vec<f64>| Grid::from_rows(table, n_symbols, 1.0);
        let rare = |table: Vec<f64>, neutral| ActionTable::from_cells(table.into_iter(), n_symbols, neutral);
        let mask = |table: Vec<bool>| ActionTable::from_cells(table.into_iter().map(f64::from), n_symbols, 1.0);
        Self {
            close: grid(std::mem::take(&mut columns.close)),
            open: columns.open.take().map(grid),
            high: columns.high.take().map(grid),
            low: columns.low.take().map(grid),
            volume: columns.volume.take().map(grid),
            dividends: columns.dividends.take().map(|table| rare(table, 0.0)),
            splits: columns.splits.take().map(|table| rare(table, 1.0)),
            tradable: columns.tradable.take().map(mask),
            delistings: columns.delistings.take().map(|table| rare(table, f64::NAN)),
            charges: ChargeTables::from_columns(columns),
        }
    }

    /// Returns whether generated tables are valid.
    ///
    /// It may return false for valid tables; [`validation::check`] decides those.
    pub(crate) fn are_sound(&self) -> bool {
        let arch = Arch::new();
        let hold = |grid: &Grid, is_volume: bool| {
            vectorized(
                arch,
                #[inline(always)]
                || {
                    let cells = grid.blocks().as_flattened();
                    // The loop has no branch per cell, so that it is vectorized.
                    if is_volume { all(cells, validation::is_volume) } else { all(cells, validation::is_price) }
                },
            )
        };
        let prices = [Some(&self.close), self.open.as_ref(), self.high.as_ref(), self.low.as_ref()];
        prices.into_iter().flatten().all(|grid| hold(grid, false))
            && self.volume.as_ref().is_none_or(|grid| hold(grid, true))
            && (self.dividends.is_none() || self.open.is_some())
            && self.splits.as_ref().is_none_or(splits_are_few)
    }
}

/// Returns whether all cells hold, by a loop without a branch per cell.
#[inline(always)]
pub(crate) fn all(cells: &[f64], holds: impl Fn(f64) -> bool) -> bool {
    cells.iter().fold(true, |all, value| all & holds(*value))
}

/// Returns whether the splits of every symbol keep share counts in range.
fn splits_are_few(splits: &ActionTable) -> bool {
    let mut products = vec![[1.0; LANES]; splits.row(0).len()];
    for bar in splits.bars() {
        for (product, ratio) in products.as_flattened_mut().iter_mut().zip(splits.row(bar).as_flattened()) {
            *product *= ratio;
        }
    }
    products.as_flattened().iter().all(|product| *product >= 1.0 && validation::SPLITS.contains(product))
}
