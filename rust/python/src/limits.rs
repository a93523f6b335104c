use openoutcry::Limits as CoreLimits;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arguments;
use crate::error::to_py;
use crate::pickle::{Pickle, fields, reduce};

/// Limits on a decision. A limit cuts an order and never forces one.
///
/// Args:
///     max_weight: Largest |weight| of one symbol; 1.
///     max_gross: Largest sum of |weight|; 1.
///     allow_short: Whether weights below 0 are accepted; True.
///     max_participation: Largest share of the volume of a bar, or of NAV without volume, one order may take; None.
///     maintenance_margin: NAV as a fraction of gross exposure below which the account is liquidated; 0 for never.
///     cash_account: Whether purchases are cut at the fill to the cash of the account; needs allow_short=False; False.
///
/// Raises:
///     OpenOutcryError: `limit_invalid`: a field is out of its range.
#[pyclass(frozen, eq, from_py_object, module = "openoutcry")]
#[derive(Clone, Copy, PartialEq)]
pub struct Limits(pub(crate) CoreLimits);

#[pymethods]
impl Limits {
    #[new]
    #[pyo3(signature = (*, max_weight=None, max_gross=None, allow_short=None, max_participation=None, maintenance_margin=None, cash_account=None))]
    fn new(
        #[pyo3(from_py_with = arguments::max_weight)] max_weight: Option<f64>,
        #[pyo3(from_py_with = arguments::max_gross)] max_gross: Option<f64>,
        #[pyo3(from_py_with = arguments::allow_short)] allow_short: Option<bool>,
        #[pyo3(from_py_with = arguments::max_participation)] max_participation: Option<f64>,
        #[pyo3(from_py_with = arguments::maintenance_margin)] maintenance_margin: Option<f64>,
        #[pyo3(from_py_with = arguments::cash_account)] cash_account: Option<bool>,
    ) -> PyResult<Self> {
        let default = CoreLimits::default();
        let limits = CoreLimits {
            max_weight: max_weight.unwrap_or(default.max_weight),
            max_gross: max_gross.unwrap_or(default.max_gross),
            allow_short: allow_short.unwrap_or(default.allow_short),
            max_participation,
            maintenance_margin: maintenance_margin.unwrap_or(default.maintenance_margin),
            cash_account: cash_account.unwrap_or(default.cash_account),
        };
        limits.validate().map_err(to_py)?;
        Ok(Self(limits))
    }

    /// Return limits that never cut an order.
    #[staticmethod]
    fn off() -> Self {
        Self(CoreLimits::off())
    }

    /// Largest |weight| of one symbol.
    #[getter]
    fn max_weight(&self) -> f64 {
        self.0.max_weight
    }

    /// Largest sum of |weight|.
    #[getter]
    fn max_gross(&self) -> f64 {
        self.0.max_gross
    }

    /// Whether weights below 0 are accepted.
    #[getter]
    fn allow_short(&self) -> bool {
        self.0.allow_short
    }

    /// Largest share of the volume of a bar that one order may take; None for no limit.
    #[getter]
    fn max_participation(&self) -> Option<f64> {
        self.0.max_participation
    }

    /// NAV as a fraction of gross exposure below which the account is liquidated.
    #[getter]
    fn maintenance_margin(&self) -> f64 {
        self.0.maintenance_margin
    }

    /// Whether purchases are cut at the fill to the cash of the account.
    #[getter]
    fn cash_account(&self) -> bool {
        self.0.cash_account
    }

    /// Return the fields by name; `cash_account` only where it is on.
    #[pyo3(name = "to_dict")]
    fn dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        dict.set_item("max_weight", self.0.max_weight)?;
        dict.set_item("max_gross", self.0.max_gross)?;
        dict.set_item("allow_short", self.0.allow_short)?;
        dict.set_item("max_participation", self.0.max_participation)?;
        dict.set_item("maintenance_margin", self.0.maintenance_margin)?;
        if self.0.cash_account {
            dict.set_item("cash_account", true)?;
        }
        Ok(dict)
    }

    fn __hash__(&self, py: Python<'_>) -> PyResult<isize> {
        self.__repr__(py)?.into_pyobject(py)?.hash()
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        Ok(format!("Limits({})", fields(&self.dict(py)?)?))
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Pickle<'py>> {
        reduce::<Self>(py, self.dict(py)?)
    }
}
