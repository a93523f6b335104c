//! Conversion of numpy arrays.

use std::borrow::Cow;

use numpy::ndarray::{ArrayView1, Dimension};
use numpy::{
    IntoPyArray, PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray, PyReadonlyArray2, PyUntypedArray,
    PyUntypedArrayMethods,
};
use pyo3::PyClass;
use pyo3::prelude::*;
use pyo3::pyclass::boolean_struct::True;

use crate::error::raise;

/// Returns a copy of a (bars, symbols) array, row by row.
///
/// Copied while the GIL is held: the borrow flag of rust-numpy does not bind Python code, which may write after we
/// detach.
pub(crate) fn table<T: numpy::Element + Copy>(
    name: &str,
    array: &PyReadonlyArray2<'_, T>,
    shape: (usize, usize),
) -> PyResult<Vec<T>> {
    let found = array.shape();
    if (found[0], found[1]) != shape {
        let message =
            format!("`{name}` must have shape ({}, {}); received ({}, {})", shape.0, shape.1, found[0], found[1]);
        return Err(raise("shape_mismatch", &message));
    }
    // Not `as_slice` of rust-numpy, which also accepts an array in column-major order.
    Ok(match array.as_array().as_slice() {
        Some(values) => values.to_vec(),
        None => array.as_array().iter().copied().collect(),
    })
}

/// Returns the values of an array, without a copy if they are contiguous.
///
/// For work that holds the GIL: Python code may write to the array after we detach.
pub(crate) fn values<'a, D: Dimension>(array: &'a PyReadonlyArray<'_, f64, D>) -> Cow<'a, [f64]> {
    // Not `as_slice` of rust-numpy, which also accepts an array in column-major order.
    let view = array.as_array();
    view.to_slice().map_or_else(|| Cow::Owned(view.iter().copied().collect()), Cow::Borrowed)
}

pub(crate) fn vector(py: Python<'_>, values: Vec<f64>) -> Bound<'_, PyArray1<f64>> {
    values.into_pyarray(py)
}

/// Returns values of a frozen object as a read-only array that keeps it alive.
///
/// The values must be those of the object.
#[expect(unsafe_code, reason = "the array borrows from an object that it keeps alive and that never changes")]
pub(crate) fn borrowed<'py, T: PyClass<Frozen = True>>(
    values: &[f64],
    of: &Bound<'py, T>,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    // SAFETY: the container is the object that holds the values.
    let array = unsafe { PyArray1::borrow_from_array(&ArrayView1::from(values), of.clone().into_any()) };
    array.call_method1("setflags", (false,))?;
    Ok(array)
}

pub(crate) fn matrix(py: Python<'_>, values: Vec<f64>, rows: usize) -> PyResult<Bound<'_, PyArray2<f64>>> {
    let columns = values.len() / rows.max(1);
    values.into_pyarray(py).reshape([rows, columns])
}

/// Refuses a masked array: its mask would be lost.
pub(crate) fn unmasked(name: &str, array: &Bound<'_, PyAny>) -> PyResult<()> {
    if !array.is_exact_instance_of::<PyUntypedArray>() && array.hasattr("mask")? {
        let message = format!("`{name}` must be an array without a mask; received a masked array");
        return Err(raise("shape_mismatch", &message));
    }
    Ok(())
}
