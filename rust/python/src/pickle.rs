//! Pickles and representations of classes whose fields are keyword arguments.

use pyo3::prelude::*;
use pyo3::types::PyDict;

/// A function and its arguments: the class, no positional ones, the fields by name.
pub(crate) type Pickle<'py> = (Bound<'py, PyAny>, (Bound<'py, PyAny>, (), Bound<'py, PyDict>));

/// Returns the fields of a class as keyword arguments in Python.
pub(crate) fn fields(dict: &Bound<'_, PyDict>) -> PyResult<String> {
    let fields: PyResult<Vec<String>> =
        dict.iter().map(|(name, value)| Ok(format!("{name}={}", value.repr()?))).collect();
    Ok(fields?.join(", "))
}

/// Returns the pickle of a class whose fields are keyword arguments.
pub(crate) fn reduce<'py, T: pyo3::PyTypeInfo>(py: Python<'py>, fields: Bound<'py, PyDict>) -> PyResult<Pickle<'py>> {
    let call = py.import("openoutcry.arguments")?.getattr("call_with_keywords")?;
    Ok((call, (py.get_type::<T>().into_any(), (), fields)))
}
