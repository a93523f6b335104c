//! Checkpoints of an environment.

use openoutcry::State as CoreState;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::error::raise;

/// A checkpoint of an account, at one bar of one environment.
///
/// An environment resumed from it gives the same bits. A pickle holds the account and the digests of market and rules,
/// so an environment with an equal market and rules restores it, in another process too, and any other refuses it.
#[pyclass(frozen, eq, from_py_object, module = "openoutcry.openoutcry_py")]
#[derive(Clone, PartialEq)]
pub struct State(pub(crate) CoreState);

#[pymethods]
impl State {
    /// Index of the bar of the checkpoint.
    #[getter]
    fn bar(&self) -> usize {
        self.0.bar()
    }

    /// NAV at the checkpoint; 1 at the start.
    #[getter]
    fn nav(&self) -> f64 {
        self.0.nav()
    }

    /// Window of the episode, as start and end.
    #[getter]
    fn window(&self) -> (usize, usize) {
        let window = self.0.window();
        (window.start, window.end)
    }

    /// Return the checkpoint of the bytes of a pickle.
    #[staticmethod]
    fn from_bytes(saved: &[u8]) -> PyResult<Self> {
        let message = "the bytes of a checkpoint are required; received others";
        CoreState::from_bytes(saved).map(Self).ok_or_else(|| raise("state_mismatch", message))
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyBytes>,))> {
        let build = py.get_type::<Self>().getattr("from_bytes")?;
        Ok((build, (PyBytes::new(py, &self.0.to_bytes()),)))
    }
}
