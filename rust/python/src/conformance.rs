use openoutcry::Decision;
use openoutcry::record::{self, Digest};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::arguments;
use crate::error::to_py;

macro_rules! files {
    ($($name:literal),* $(,)?) => {
        [$(($name, include_str!(concat!("../../../contract/conformance/", $name)))),*]
    };
}

/// The conformance kit, embedded for wheels.
const FILES: [(&str, &str); 16] = files![
    "awkward_news.json",
    "empty_start.json",
    "empty_universe.json",
    "extreme_prices.json",
    "halted_symbol_held.json",
    "legacy_decision_shape.json",
    "negative.json",
    "numbers_of_rfc8785.json",
    "positive.json",
    "several_symbols_with_fundamentals_and_news.json",
    "signed_book.json",
    "signed_short.json",
    "single_symbol_with_a_position.json",
    "unicode_symbols.json",
    "unknown_fields_everywhere.json",
    "unknown_observation_field.json",
];

/// The sample decisions with day orders, a kit of their own.
///
/// The digest of the first kit does not depend on them.
const DAY_ORDER_FILES: [(&str, &str); 2] = [
    ("negative.json", include_str!("../../../contract/conformance/v1.1/negative.json")),
    ("positive.json", include_str!("../../../contract/conformance/v1.1/positive.json")),
];

/// Return the files of `contract/conformance` by name.
#[pyfunction]
pub fn conformance_files(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    by_name(py, &FILES)
}

/// Return the files of `contract/conformance/v1.1` by name.
#[pyfunction]
pub fn day_order_conformance_files(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    by_name(py, &DAY_ORDER_FILES)
}

fn by_name<'py>(py: Python<'py>, files: &[(&str, &str)]) -> PyResult<Bound<'py, PyDict>> {
    let texts = PyDict::new(py);
    for (name, text) in files {
        texts.set_item(name, text)?;
    }
    Ok(texts)
}

/// Return a parsed decision in canonical JSON.
///
/// Optional fields with default values are left out.
///
/// Raises:
///     OpenOutcryError: the text is refused, with the slug of its first fault.
#[pyfunction]
pub fn read_decision(text: &Bound<'_, PyAny>) -> PyResult<String> {
    Decision::from_json(arguments::decision(text)?).map(|decision| decision.to_json()).map_err(to_py)
}

/// Return the Ed25519 signature of a conformance report, 64 bytes.
#[pyfunction]
pub fn sign_conformance(py: Python<'_>, digest: [u8; 32], private_key: [u8; 32]) -> Bound<'_, PyBytes> {
    PyBytes::new(py, &record::sign_conformance(&Digest(digest), &private_key))
}

/// Return whether the signature of a conformance report is valid for a key.
///
/// Invalid keys have no valid signature.
#[pyfunction]
pub fn conformance_is_signed(digest: [u8; 32], public_key: [u8; 32], signature: [u8; 64]) -> bool {
    record::conformance_is_signed(&Digest(digest), &public_key, &signature)
}
