//! Events of a step as Python dicts.

use openoutcry::{Event, Refusal};
use pyo3::prelude::*;
use pyo3::types::PyDict;

pub(crate) fn event_dict<'py>(py: Python<'py>, event: &Event, symbols: &[String]) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("slug", event.slug())?;
    if let Some(symbol) = event.symbol() {
        dict.set_item("symbol", &symbols[symbol])?;
    }
    if let Some(reason) = event.reason() {
        dict.set_item("reason", reason)?;
    }
    for (name, value) in event.numbers().into_iter().flatten() {
        dict.set_item(name, value)?;
    }
    Ok(dict)
}

pub(crate) fn refusal_dict<'py>(py: Python<'py>, refusal: &Refusal) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("slug", "refused")?;
    dict.set_item("symbol", &refusal.symbol)?;
    dict.set_item("reason", refusal.reason.slug())?;
    dict.set_item("weight", refusal.weight)?;
    Ok(dict)
}
