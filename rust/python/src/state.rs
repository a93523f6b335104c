//! Checkpoints of an environment.

use openoutcry::State as CoreState;
use pyo3::prelude::*;

/// A checkpoint of an account, at one bar of one environment.
///
/// An environment resumed from it gives the same bits.
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
}
