use openoutcry::{CostModel as CoreCosts, Limits as CoreLimits};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::error::to_py;

/// A function and its arguments: the class, none by place, fields by name.
type Pickle<'py> = (Bound<'py, PyAny>, (Bound<'py, PyAny>, (), Bound<'py, PyDict>));

#[pyclass(frozen, eq, from_py_object, module = "openoutcry")]
#[derive(Clone, Copy, PartialEq)]
pub struct CostModel(pub(crate) CoreCosts);

#[pymethods]
impl CostModel {
    #[new]
    #[pyo3(signature = (*, fee_bps=None, slippage_bps=None, slippage_jitter=None, impact_bps=None, financing_bps=None, cash_bps=None, borrow_bps=None, capital=None))]
    #[expect(clippy::too_many_arguments, reason = "keyword-only fields of one struct")]
    fn new(
        fee_bps: Option<f64>,
        slippage_bps: Option<f64>,
        slippage_jitter: Option<f64>,
        impact_bps: Option<f64>,
        financing_bps: Option<f64>,
        cash_bps: Option<f64>,
        borrow_bps: Option<f64>,
        capital: Option<f64>,
    ) -> PyResult<Self> {
        let default = CoreCosts::default();
        let costs = CoreCosts {
            fee_bps: fee_bps.unwrap_or(default.fee_bps),
            slippage_bps: slippage_bps.unwrap_or(default.slippage_bps),
            slippage_jitter: slippage_jitter.unwrap_or(default.slippage_jitter),
            impact_bps: impact_bps.unwrap_or(default.impact_bps),
            financing_bps: financing_bps.unwrap_or(default.financing_bps),
            cash_bps: cash_bps.unwrap_or(default.cash_bps),
            borrow_bps: borrow_bps.unwrap_or(default.borrow_bps),
            capital: capital.unwrap_or(default.capital),
        };
        costs.validate().map_err(to_py)?;
        Ok(Self(costs))
    }

    #[staticmethod]
    fn zero() -> Self {
        Self(CoreCosts::zero())
    }

    #[getter]
    fn fee_bps(&self) -> f64 {
        self.0.fee_bps
    }

    #[getter]
    fn slippage_bps(&self) -> f64 {
        self.0.slippage_bps
    }

    #[getter]
    fn slippage_jitter(&self) -> f64 {
        self.0.slippage_jitter
    }

    #[getter]
    fn impact_bps(&self) -> f64 {
        self.0.impact_bps
    }

    #[getter]
    fn financing_bps(&self) -> f64 {
        self.0.financing_bps
    }

    #[getter]
    fn cash_bps(&self) -> f64 {
        self.0.cash_bps
    }

    #[getter]
    fn borrow_bps(&self) -> f64 {
        self.0.borrow_bps
    }

    #[getter]
    fn capital(&self) -> f64 {
        self.0.capital
    }

    #[pyo3(name = "to_dict")]
    fn dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        dict.set_item("fee_bps", self.0.fee_bps)?;
        dict.set_item("slippage_bps", self.0.slippage_bps)?;
        dict.set_item("slippage_jitter", self.0.slippage_jitter)?;
        dict.set_item("impact_bps", self.0.impact_bps)?;
        dict.set_item("financing_bps", self.0.financing_bps)?;
        dict.set_item("cash_bps", self.0.cash_bps)?;
        dict.set_item("borrow_bps", self.0.borrow_bps)?;
        dict.set_item("capital", self.0.capital)?;
        Ok(dict)
    }

    fn __hash__(&self, py: Python<'_>) -> PyResult<isize> {
        self.__repr__(py)?.into_pyobject(py)?.hash()
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        Ok(format!("CostModel({})", fields(&self.dict(py)?)?))
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Pickle<'py>> {
        reduce::<Self>(py, self.dict(py)?)
    }
}

#[pyclass(frozen, eq, from_py_object, module = "openoutcry")]
#[derive(Clone, Copy, PartialEq)]
pub struct Limits(pub(crate) CoreLimits);

#[pymethods]
impl Limits {
    #[new]
    #[pyo3(signature = (*, max_weight=None, max_gross=None, allow_short=None, max_participation=None, maintenance_margin=None))]
    fn new(
        max_weight: Option<f64>,
        max_gross: Option<f64>,
        allow_short: Option<bool>,
        max_participation: Option<f64>,
        maintenance_margin: Option<f64>,
    ) -> PyResult<Self> {
        let default = CoreLimits::default();
        let limits = CoreLimits {
            max_weight: max_weight.unwrap_or(default.max_weight),
            max_gross: max_gross.unwrap_or(default.max_gross),
            allow_short: allow_short.unwrap_or(default.allow_short),
            max_participation,
            maintenance_margin: maintenance_margin.unwrap_or(default.maintenance_margin),
        };
        limits.validate().map_err(to_py)?;
        Ok(Self(limits))
    }

    #[staticmethod]
    fn off() -> Self {
        Self(CoreLimits::off())
    }

    #[getter]
    fn max_weight(&self) -> f64 {
        self.0.max_weight
    }

    #[getter]
    fn max_gross(&self) -> f64 {
        self.0.max_gross
    }

    #[getter]
    fn allow_short(&self) -> bool {
        self.0.allow_short
    }

    #[getter]
    fn max_participation(&self) -> Option<f64> {
        self.0.max_participation
    }

    #[getter]
    fn maintenance_margin(&self) -> f64 {
        self.0.maintenance_margin
    }

    #[pyo3(name = "to_dict")]
    fn dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        dict.set_item("max_weight", self.0.max_weight)?;
        dict.set_item("max_gross", self.0.max_gross)?;
        dict.set_item("allow_short", self.0.allow_short)?;
        dict.set_item("max_participation", self.0.max_participation)?;
        dict.set_item("maintenance_margin", self.0.maintenance_margin)?;
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

fn fields(dict: &Bound<'_, PyDict>) -> PyResult<String> {
    let fields: PyResult<Vec<String>> =
        dict.iter().map(|(name, value)| Ok(format!("{name}={}", value.repr()?))).collect();
    Ok(fields?.join(", "))
}

/// Returns the pickle of a class whose fields are keyword arguments.
fn reduce<'py, T: pyo3::PyTypeInfo>(py: Python<'py>, fields: Bound<'py, PyDict>) -> PyResult<Pickle<'py>> {
    let call = py.import("openoutcry._pickle")?.getattr("call")?;
    Ok((call, (py.get_type::<T>().into_any(), (), fields)))
}
