use openoutcry::{CostModel as CoreCosts, FillKey};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arguments::{self, Text};
use crate::error::to_py;
use crate::pickle::{Pickle, fields, reduce};

/// The cost model. A field that is not given has its default.
///
/// Args:
///     fee_bps: Commission on slipped notional; 1.
///     slippage_bps: Half-spread; 2, as large caps pay 1 to 5.
///     slippage_jitter: Noise of the slippage as a fraction of it, in [0, 1]; 0.
///     impact_bps: Square-root impact at 100 % participation, Y times daily volatility; 0, since it needs a volatility.
///     stop_gap: Part of the way from a stop to the extreme of the bar by which it fills late, in [0, 1]; 0.
///     financing_bps: Annual rate on borrowed cash; 100.
///     cash_bps: Annual rate on idle cash, may be negative; 0.
///     borrow_bps: Annual rate on the value of shorts; 25, general collateral (D'Avolio 2002).
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
    #[pyo3(signature = (*, fee_bps=None, slippage_bps=None, slippage_jitter=None, impact_bps=None, stop_gap=None, financing_bps=None, cash_bps=None, borrow_bps=None, capital=None))]
    #[expect(clippy::too_many_arguments, reason = "keyword-only fields of one struct")]
    fn new(
        #[pyo3(from_py_with = arguments::fee_bps)] fee_bps: Option<f64>,
        #[pyo3(from_py_with = arguments::slippage_bps)] slippage_bps: Option<f64>,
        #[pyo3(from_py_with = arguments::slippage_jitter)] slippage_jitter: Option<f64>,
        #[pyo3(from_py_with = arguments::impact_bps)] impact_bps: Option<f64>,
        #[pyo3(from_py_with = arguments::stop_gap)] stop_gap: Option<f64>,
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
            stop_gap: stop_gap.unwrap_or(default.stop_gap),
            financing_bps: financing_bps.unwrap_or(default.financing_bps),
            cash_bps: cash_bps.unwrap_or(default.cash_bps),
            borrow_bps: borrow_bps.unwrap_or(default.borrow_bps),
            capital: capital.unwrap_or(default.capital),
        };
        costs.validate().map_err(to_py)?;
        Ok(Self(costs))
    }

    /// Return a cost model without costs.
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

    /// Share of the way from a stop to the extreme of the bar, in [0, 1].
    ///
    /// A stop inside the bar fills late by it.
    #[getter]
    fn stop_gap(&self) -> f64 {
        self.0.stop_gap
    }

    /// Annual rate on borrowed cash, in bps.
    #[getter]
    fn financing_bps(&self) -> f64 {
        self.0.financing_bps
    }

    /// Annual rate on idle cash, in bps; may be negative.
    #[getter]
    fn cash_bps(&self) -> f64 {
        self.0.cash_bps
    }

    /// Annual rate on the value of shorts, in bps.
    #[getter]
    fn borrow_bps(&self) -> f64 {
        self.0.borrow_bps
    }

    /// Account currency at NAV 1, which turns NAV into a share of volume.
    #[getter]
    fn capital(&self) -> f64 {
        self.0.capital
    }

    /// Return the fields by name; `stop_gap` only where it is not 0.
    #[pyo3(name = "to_dict")]
    fn dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        dict.set_item("fee_bps", self.0.fee_bps)?;
        dict.set_item("slippage_bps", self.0.slippage_bps)?;
        dict.set_item("slippage_jitter", self.0.slippage_jitter)?;
        dict.set_item("impact_bps", self.0.impact_bps)?;
        if self.0.stop_gap != 0.0 {
            dict.set_item("stop_gap", self.0.stop_gap)?;
        }
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

/// Return the draw in [0, 1) that jitters the slippage of a symbol in a bar.
#[pyfunction]
pub(crate) fn fill_noise(
    #[pyo3(from_py_with = arguments::seed)] seed: u64,
    #[pyo3(from_py_with = arguments::bar)] bar: usize,
    symbol: Text,
) -> f64 {
    FillKey::from_seed(seed).uniform(bar, &symbol)
}
