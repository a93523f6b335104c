use numpy::PyReadonlyArray1;
use openoutcry_score::{METRICS, Track};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::error::raise;

/// Returns each metric by name, and the reason of each that is undefined.
///
/// An undefined one is None.
pub(crate) fn metrics<'py>(py: Python<'py>, track: &Track<'_>) -> PyResult<(Bound<'py, PyDict>, Bound<'py, PyDict>)> {
    let (values, reasons) = (PyDict::new(py), PyDict::new(py));
    for (name, statistic) in METRICS.into_iter().zip(openoutcry_score::summarize(track)) {
        values.set_item(name, statistic.ok())?;
        if let Err(undefined) = statistic {
            reasons.set_item(name, undefined.to_string())?;
        }
    }
    Ok((values, reasons))
}

#[pyfunction]
#[pyo3(signature = (returns, *, periods_per_year, risk_free=None))]
pub(crate) fn summarize<'py>(
    py: Python<'py>,
    returns: PyReadonlyArray1<'py, f64>,
    periods_per_year: f64,
    risk_free: Option<PyReadonlyArray1<'py, f64>>,
) -> PyResult<(Bound<'py, PyDict>, Bound<'py, PyDict>)> {
    let returns = returns.as_array().to_vec();
    let risk_free = risk_free.map(|rates| rates.as_array().to_vec());
    if let Some(rates) = risk_free.as_ref().filter(|rates| rates.len() != returns.len()) {
        let message = format!("`risk_free` must have {} values; received {}", returns.len(), rates.len());
        return Err(raise("shape_mismatch", &message));
    }
    let track =
        Track { returns: &returns, risk_free: risk_free.as_deref(), turnover: &[], cost: &[], periods_per_year };
    metrics(py, &track)
}
