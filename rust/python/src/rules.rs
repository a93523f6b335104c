use openoutcry::{CostModel as CoreCosts, Limits as CoreLimits};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arguments;
use crate::error::to_py;

/// A function and its arguments: the class, none by place, fields by name.
type Pickle<'py> = (Bound<'py, PyAny>, (Bound<'py, PyAny>, (), Bound<'py, PyDict>));

/// What trading and holding cost. A field that is not given has its default.
///
/// Args:
///     fee_bps: Commission on slipped notional; 1.
///     slippage_bps: Half-spread; 2, as large caps pay 1 to 5.
///     slippage_jitter: Noise of the slippage as a fraction of it, in [0, 1]; 0.
///     impact_bps: Square-root impact at 100 % participation, Y times daily volatility; 0, since it needs a volatility.
///     financing_bps: Rate a year on borrowed cash; 100.
///     cash_bps: Rate a year on idle cash, may be negative; 0.
///     borrow_bps: Rate a year on the value of shorts; 25, general collateral (D'Avolio 2002).
///     capital: Account currency at NAV 1, which turns NAV into a share of volume; 1e6.
///
/// Raises:
///     OpenOutcryError: `cost_invalid`: a field is out of its range.
#[pyclass(frozen, eq, from_py_object, module = "openoutcry")]
#[derive(Clone, Copy, PartialEq)]
pub struct CostModel(pub(crate) CoreCosts);

#[pymethods]
impl CostModel {
    #[new]
    #[pyo3(signature = (*, fee_bps=None, slippage_bps=None, slippage_jitter=None, impact_bps=None, financing_bps=None, cash_bps=None, borrow_bps=None, capital=None))]
    #[expect(clippy::too_many_arguments, reason = "keyword-only fields of one struct")]
    fn new(
        #[pyo3(from_py_with = arguments::fee_bps)] fee_bps: Option<f64>,
        #[pyo3(from_py_with = arguments::slippage_bps)] slippage_bps: Option<f64>,
        #[pyo3(from_py_with = arguments::slippage_jitter)] slippage_jitter: Option<f64>,
        #[pyo3(from_py_with = arguments::impact_bps)] impact_bps: Option<f64>,
        #[pyo3(from_py_with = arguments::financing_bps)] financing_bps: Option<f64>,
        #[pyo3(from_py_with = arguments::cash_bps)] cash_bps: Option<f64>,
        #[pyo3(from_py_with = arguments::borrow_bps)] borrow_bps: Option<f64>,
        #[pyo3(from_py_with = arguments::capital)] capital: Option<f64>,
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

    /// Return a market without any cost.
    #[staticmethod]
    fn zero() -> Self {
        Self(CoreCosts::zero())
    }

    /// Commission on slipped notional, in bps.
    #[getter]
    fn fee_bps(&self) -> f64 {
        self.0.fee_bps
    }

    /// Half-spread of every fill, in bps of its price.
    #[getter]
    fn slippage_bps(&self) -> f64 {
        self.0.slippage_bps
    }

    /// Noise of the slippage as a fraction of it, in [0, 1].
    #[getter]
    fn slippage_jitter(&self) -> f64 {
        self.0.slippage_jitter
    }

    /// Square-root impact at 100 % participation, in bps.
    #[getter]
    fn impact_bps(&self) -> f64 {
        self.0.impact_bps
    }

    /// Rate a year on borrowed cash, in bps.
    #[getter]
    fn financing_bps(&self) -> f64 {
        self.0.financing_bps
    }

    /// Rate a year on idle cash, in bps; may be negative.
    #[getter]
    fn cash_bps(&self) -> f64 {
        self.0.cash_bps
    }

    /// Rate a year on the value of shorts, in bps.
    #[getter]
    fn borrow_bps(&self) -> f64 {
        self.0.borrow_bps
    }

    /// Account currency at NAV 1, which turns NAV into a share of volume.
    #[getter]
    fn capital(&self) -> f64 {
        self.0.capital
    }

    /// Return the fields by name.
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

/// What a decision may ask for. A limit cuts an order and never forces one.
///
/// Args:
///     max_weight: Largest |weight| of one symbol; 1.
///     max_gross: Largest sum of |weight|; 1.
///     allow_short: Whether weights below 0 are accepted; True.
///     max_participation: Largest share of a bar's volume, or of NAV where there is none, one order may take; None.
///     maintenance_margin: NAV as a fraction of gross exposure below which all is closed; 0, which never calls.
///
/// Raises:
///     OpenOutcryError: `limit_invalid`: a field is out of its range.
#[pyclass(frozen, eq, from_py_object, module = "openoutcry")]
#[derive(Clone, Copy, PartialEq)]
pub struct Limits(pub(crate) CoreLimits);

#[pymethods]
impl Limits {
    #[new]
    #[pyo3(signature = (*, max_weight=None, max_gross=None, allow_short=None, max_participation=None, maintenance_margin=None))]
    fn new(
        #[pyo3(from_py_with = arguments::max_weight)] max_weight: Option<f64>,
        #[pyo3(from_py_with = arguments::max_gross)] max_gross: Option<f64>,
        #[pyo3(from_py_with = arguments::allow_short)] allow_short: Option<bool>,
        #[pyo3(from_py_with = arguments::max_participation)] max_participation: Option<f64>,
        #[pyo3(from_py_with = arguments::maintenance_margin)] maintenance_margin: Option<f64>,
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

    /// Return limits that cut nothing.
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

    /// Largest share of a bar's volume one order may take; None for any.
    #[getter]
    fn max_participation(&self) -> Option<f64> {
        self.0.max_participation
    }

    /// NAV as a fraction of gross exposure below which all is closed.
    #[getter]
    fn maintenance_margin(&self) -> f64 {
        self.0.maintenance_margin
    }

    /// Return the fields by name.
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
