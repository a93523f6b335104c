//! Text of unknown origin in a form that is safe to print.

use openoutcry::readable_text as core;
use pyo3::prelude::*;
use pyo3::types::PyString;

/// Return text on one line, in a form that is safe to print.
///
/// Controls and invisible characters become escapes such as `\x1b`, except for the characters of `kept`.
#[pyfunction]
#[pyo3(signature = (text, kept=""))]
pub(crate) fn readable_text(text: &Bound<'_, PyString>, kept: &str) -> PyResult<String> {
    Ok(core::readable_text(&encodable(text)?, kept))
}

/// Return the message of an error, safe to print and of at most 2,000 bytes.
///
/// A longer message is cut in the middle. Tabs and line breaks remain.
#[pyfunction]
pub(crate) fn readable_message(text: &Bound<'_, PyString>) -> PyResult<String> {
    Ok(core::readable_message(&encodable(text)?))
}

/// Returns a text with its lone surrogates escaped.
fn encodable(text: &Bound<'_, PyString>) -> PyResult<String> {
    if let Ok(text) = text.to_str() {
        return Ok(text.to_owned());
    }
    let bytes: Vec<u8> = text.call_method1("encode", ("utf-8", "backslashreplace"))?.extract()?;
    Ok(String::from_utf8(bytes)?)
}
