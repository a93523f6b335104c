//! Records of steps as arrays.

use numpy::PyArray1;
use openoutcry::{StepCosts, StepRecord};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::environment::TradingEnv;

/// Returns records as arrays by name.
///
/// `costs`, `events` and `limits` are dicts of arrays.
pub(crate) fn record_arrays<'py>(py: Python<'py>, records: &[StepRecord]) -> PyResult<Bound<'py, PyDict>> {
    let found = PyDict::new(py);
    if records.is_empty() {
        return Ok(found);
    }
    let costs = PyDict::new(py);
    for (k, name) in StepCosts::KINDS.into_iter().enumerate() {
        costs.set_item(name, PyArray1::from_iter(py, records.iter().map(|record| record.costs[k])))?;
    }
    found.set_item("costs", costs)?;
    for (k, name) in StepRecord::GAINS.into_iter().enumerate() {
        found.set_item(name, PyArray1::from_iter(py, records.iter().map(|record| record.gains[k])))?;
    }
    found.set_item("events", counts(py, &StepRecord::EVENTS, records, |record, k| record.events[k])?)?;
    found.set_item("limits", counts(py, &StepRecord::LIMITS, records, |record, k| record.limits[k])?)?;
    Ok(found)
}

fn counts<'py>(
    py: Python<'py>,
    names: &[&str],
    records: &[StepRecord],
    of: impl Fn(&StepRecord, usize) -> u32,
) -> PyResult<Bound<'py, PyDict>> {
    let found = PyDict::new(py);
    for (k, name) in names.iter().enumerate() {
        found.set_item(name, PyArray1::from_iter(py, records.iter().map(|record| i64::from(of(record, k)))))?;
    }
    Ok(found)
}

/// Return the decision of the last step of an environment.
///
/// It has one weight per symbol, and NaN for a hold. The no-trade band is applied. All are NaN
/// after a reset or a restored state.
#[pyfunction]
pub(crate) fn last_decision<'py>(py: Python<'py>, env: PyRef<'py, TradingEnv>) -> Bound<'py, PyArray1<f64>> {
    PyArray1::from_slice(py, env.core.orders())
}
