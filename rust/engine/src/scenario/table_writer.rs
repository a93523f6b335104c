//! Writers of the tables of a generated market.

use std::ops::Range;

use crate::market::charges::ChargeTables;
use crate::market::corporate_actions::ActionTable;
use crate::market::grid::Grid;
use crate::market::market_tables::MarketTables;
use crate::scenario::spec::ScenarioSpec;

/// Returns empty tables; tables that the market does not have are absent.
pub(super) fn tables(spec: &ScenarioSpec) -> MarketTables {
    let table = || Grid::with_capacity(spec.n_days, spec.n_symbols);
    let bars = || spec.has_bars.then(table);
    let rare = |is_kept: bool, neutral| is_kept.then(|| ActionTable::new(spec.n_days, spec.n_symbols, neutral));
    MarketTables {
        close: table(),
        open: bars(),
        high: bars(),
        low: bars(),
        volume: bars(),
        dividends: rare(spec.dividend_yield > 0.0, 0.0),
        splits: rare(spec.split_above > 0.0, 1.0),
        tradable: rare(spec.halt_rate > 0.0, 1.0),
        delistings: rare(spec.delisting_rate > 0.0, f64::NAN),
        charges: ChargeTables::default(),
    }
}

/// Adds days with missing values.
///
/// A few days at a time: they are still in the cache when they are written.
pub(super) fn grow(tables: &mut MarketTables, spec: &ScenarioSpec, n_days: usize) {
    let MarketTables { close, open, high, low, volume, .. } = tables;
    for table in [Some(close), open.as_mut(), high.as_mut(), low.as_mut(), volume.as_mut()].into_iter().flatten() {
        table.grow(n_days, spec.n_symbols, 1.0);
    }
}

/// Writes some values of a symbol; the first value is that of day `first`.
pub(super) fn put(table: &mut Grid, first: usize, symbol: usize, values: &[f64], which: Range<usize>) {
    if which.is_empty() {
        return;
    }
    for (cell, value) in table.column_mut(first + which.start, symbol).zip(&values[which]) {
        *cell = *value;
    }
}
