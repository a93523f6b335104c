use numpy::{PyArray1, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use openoutcry::counted;
use openoutcry_score::{METRICS, Track, Trading};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arrays;
use crate::error::raise;

/// Returns each metric by name, and the reason of each that is undefined.
///
/// An undefined metric is None.
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

/// Refuses a metric that does not exist.
pub(crate) fn check_metric(name: &str) -> PyResult<()> {
    if METRICS.contains(&name) {
        return Ok(());
    }
    let message = format!("`metric` must be one of {}; received {name:?}", METRICS.join(", "));
    Err(raise("argument_invalid", &message))
}

/// Return every metric by name, and the reason of each that is undefined and None.
///
/// Metrics that need more than a series of returns, such as turnover, are undefined.
#[pyfunction]
#[pyo3(signature = (returns, *, periods_per_year, risk_free=None))]
pub(crate) fn summarize<'py>(
    py: Python<'py>,
    returns: PyReadonlyArray1<'py, f64>,
    periods_per_year: Option<f64>,
    risk_free: Option<PyReadonlyArray1<'py, f64>>,
) -> PyResult<(Bound<'py, PyDict>, Bound<'py, PyDict>)> {
    let returns = arrays::values(&returns);
    let risk_free = risk_free.as_ref().map(arrays::values);
    if let Some(rates) = risk_free.as_ref().filter(|rates| rates.len() != returns.len()) {
        let message = format!("`risk_free` must have {}; received {}", counted(returns.len(), "value"), rates.len());
        return Err(raise("shape_mismatch", &message));
    }
    let track = Track {
        returns: &returns,
        risk_free: risk_free.as_deref(),
        trading: Trading::UNKNOWN,
        periods_per_year: periods_per_year.unwrap_or(f64::NAN),
    };
    metrics(py, &track)
}

/// Return the drawdown of NAV from its peak so far, shape `(n_bars,)`, at most 0.
#[pyfunction]
pub(crate) fn drawdowns<'py>(py: Python<'py>, nav: PyReadonlyArray1<'py, f64>) -> Bound<'py, PyArray1<f64>> {
    arrays::vector(py, openoutcry_score::drawdowns_of_nav(&arrays::values(&nav)))
}

/// Return gross exposure per bar of weights, shape `(n_bars, n_symbols)`.
#[pyfunction]
pub(crate) fn gross_exposure<'py>(
    py: Python<'py>,
    weights: PyReadonlyArray2<'py, f64>,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let n_symbols = n_symbols_of(&weights)?;
    Ok(arrays::vector(py, openoutcry_score::gross_exposure(&arrays::values(&weights), n_symbols)))
}

/// Return net exposure per bar of weights, shape `(n_bars, n_symbols)`.
#[pyfunction]
pub(crate) fn net_exposure<'py>(
    py: Python<'py>,
    weights: PyReadonlyArray2<'py, f64>,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let n_symbols = n_symbols_of(&weights)?;
    Ok(arrays::vector(py, openoutcry_score::net_exposure(&arrays::values(&weights), n_symbols)))
}

/// Return the sum, the number and the longest run of gains, and of losses.
#[pyfunction]
pub(crate) fn signed_sums(returns: PyReadonlyArray1<'_, f64>) -> [(f64, usize, usize); 2] {
    openoutcry_score::signed_sums(&arrays::values(&returns)).map(|side| (side.sum, side.count, side.longest))
}

/// Return whether returns are constant except for rounding.
#[pyfunction]
pub(crate) fn is_riskless(returns: PyReadonlyArray1<'_, f64>) -> bool {
    openoutcry_score::is_riskless(&arrays::values(&returns))
}

fn n_symbols_of(weights: &PyReadonlyArray2<'_, f64>) -> PyResult<usize> {
    let [n_bars, n_symbols] = [weights.shape()[0], weights.shape()[1]];
    if n_symbols == 0 {
        let message = format!("`weights` must have one column per symbol, at least 1; received shape ({n_bars}, 0)");
        return Err(raise("shape_mismatch", &message));
    }
    Ok(n_symbols)
}

/// Adds the functions of this file to the module.
pub(crate) fn add_to(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(drawdowns, module)?)?;
    module.add_function(wrap_pyfunction!(gross_exposure, module)?)?;
    module.add_function(wrap_pyfunction!(is_riskless, module)?)?;
    module.add_function(wrap_pyfunction!(net_exposure, module)?)?;
    module.add_function(wrap_pyfunction!(signed_sums, module)?)?;
    module.add_function(wrap_pyfunction!(summarize, module)?)?;
    Ok(())
}
