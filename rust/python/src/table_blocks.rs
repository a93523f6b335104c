//! Tables of decisions that arrive in blocks of rows.

use numpy::{PyArray1, PyReadonlyArray1, PyReadonlyArray2};
use openoutcry::TableBlocks;
use pyo3::prelude::*;

use crate::arrays;
use crate::backtest_settings::Settings;
use crate::dataset::Dataset;
use crate::error::to_py;

/// Return the places of values below a limit, int64.
#[pyfunction]
pub(crate) fn places_below<'py>(
    py: Python<'py>,
    values: PyReadonlyArray1<'py, f64>,
    limit: f64,
) -> Bound<'py, PyArray1<i64>> {
    const PART: usize = 32;
    let (values, mut places) = (arrays::values(&values), Vec::new());
    for (first, part) in (0..).step_by(PART).zip(values.chunks(PART)) {
        // Most parts have none, which a loop without a branch per value shows.
        if part.iter().map(|value| u32::from(*value < limit)).sum::<u32>() > 0 {
            places.extend((first..).zip(part).filter(|(_, value)| **value < limit).map(|(place, _)| place));
        }
    }
    PyArray1::from_vec(py, places)
}

/// Return the NAV of tables of target weights at some bars of the window.
///
/// Each block is a list of tables of the same shape, one per account, with the next decisions. Eight accounts run at
/// once, and have the NAV of `run_tables`. A run that ends early keeps its last NAV.
#[pyfunction]
pub(crate) fn nav_of_blocks<'py>(
    py: Python<'py>,
    dataset: &Dataset,
    blocks: &Bound<'py, PyAny>,
    settings: Settings,
    bars: Vec<usize>,
) -> PyResult<Vec<Bound<'py, PyArray1<f64>>>> {
    let backtest = settings.backtest(dataset)?;
    let (mut runs, mut found): (Option<TableBlocks<'_>>, Vec<Vec<f64>>) = (None, Vec::new());
    let (mut row, mut bars) = (0, bars.into_iter().peekable());
    for block in blocks.try_iter()? {
        let tables: Vec<PyReadonlyArray2<'_, f64>> = block?.extract()?;
        let n_rows = tables.first().map_or(0, |table| table.as_array().nrows());
        // Copied while the GIL is held: Python code may write to the arrays after we detach.
        let orders: Vec<Vec<f64>> = tables.iter().map(|table| arrays::values(table).into_owned()).collect();
        found.resize_with(tables.len(), Vec::new);
        let runs = runs.get_or_insert_with(|| backtest.table_blocks(tables.len()));
        py.detach(|| runs.advance(orders)).map_err(to_py)?;
        while let Some(bar) = bars.next_if(|bar| *bar <= row + n_rows) {
            for (account, nav) in found.iter_mut().zip(runs.navs()) {
                account.push(nav[(bar - row).min(nav.len() - 1)]);
            }
        }
        row += n_rows;
    }
    Ok(found.into_iter().map(|navs| arrays::vector(py, navs)).collect())
}
