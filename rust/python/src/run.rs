use numpy::{PyArray1, PyArray2, PyReadonlyArray2, PyUntypedArrayMethods};
use openoutcry::{Charge, Decision, Fill, Flows, OrderTable, Run as CoreRun, StepCosts, StepError, Totals, Window};
use openoutcry_score::{Metrics, TRADING_METRICS, Track, Trading};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use crate::agents::Baseline;
use crate::arguments::{self, Text};
use crate::arrays;
use crate::backtest_settings::{Names, Settings};
use crate::condition_arrays::{ConditionColumns, Conditions, condition_columns};
use crate::dataset::Dataset;
use crate::error::{AgentFault, raise, to_py};
use crate::events::{event_dict, refusal_dict};
use crate::huge_pages::reserve_in_huge_pages;
use crate::record::Record;

/// The native run behind `openoutcry.Run`.
#[pyclass(frozen, module = "openoutcry.openoutcry_py")]
pub struct Run {
    dataset: Dataset,
    core: CoreRun,
    settings: Settings,
}

/// Run a baseline over a window of a market.
#[pyfunction]
pub(crate) fn run_agent(py: Python<'_>, dataset: &Dataset, agent: &Baseline, settings: Settings) -> PyResult<Run> {
    let backtest = settings.backtest(dataset)?;
    let mut agent = agent.make()?;
    let core = py.detach(|| backtest.run(&mut *agent)).map_err(to_py)?;
    Ok(Run { dataset: dataset.clone(), core, settings })
}

/// Run a callable from observation JSON to decision JSON over a window.
#[pyfunction]
pub(crate) fn run_callable(dataset: &Dataset, decide: &Bound<'_, PyAny>, settings: Settings) -> PyResult<Run> {
    let core = settings.backtest(dataset)?.try_run(|observation| {
        let answer = decide.call1((observation.to_json(),)).map_err(AgentFault::Python)?;
        let answer = arguments::decision(&answer).map_err(AgentFault::Python)?;
        Decision::from_json(answer).map_err(|error| AgentFault::Python(to_py(error)))
    })?;
    Ok(Run { dataset: dataset.clone(), core, settings })
}

/// Run a baseline as `run_agent` does, and record it.
#[pyfunction]
pub(crate) fn capture_agent(
    py: Python<'_>,
    dataset: &Dataset,
    agent: &Baseline,
    settings: Settings,
    names: Names<'_>,
) -> PyResult<(Run, Record)> {
    let backtest = settings.captured(dataset, &names)?;
    let mut agent = agent.make()?;
    let (core, record) = py.detach(|| backtest.capture(&mut *agent)).map_err(to_py)?;
    Ok((Run { dataset: dataset.clone(), core, settings }, Record::of_run(&names.agent_id, record)))
}

/// Run a callable as `run_callable` does, and record it.
///
/// Instead of a text the callable may return a tuple of a text and its fault or None. A tuple never ends the run: with
/// a fault, or a text that is not a decision, the decision defaults to hold, and the record has the fault.
///
/// `write_line` receives each line of the record as soon as it is complete.
#[pyfunction]
pub(crate) fn capture_callable(
    dataset: &Dataset,
    decide: &Bound<'_, PyAny>,
    settings: Settings,
    names: Names<'_>,
    write_line: Option<&Bound<'_, PyAny>>,
) -> PyResult<(Run, Record)> {
    let backtest = settings.captured(dataset, &names)?;
    let (core, record) = backtest.try_capture(
        |observation| {
            let answer = decide.call1((observation,)).map_err(AgentFault::Python)?;
            arguments::answer(&answer).map_err(AgentFault::Python)
        },
        |line| write_line.map_or(Ok(()), |write| write.call1((line,)).map(|_| ()).map_err(AgentFault::Python)),
    )?;
    Ok((Run { dataset: dataset.clone(), core, settings }, Record::of_run(&names.agent_id, record)))
}

/// Run target weights as `run_weights` does, and record them as decisions.
#[pyfunction]
#[pyo3(signature = (dataset, weights, settings, names, conditions=None))]
pub(crate) fn capture_weights(
    py: Python<'_>,
    dataset: &Dataset,
    weights: PyReadonlyArray2<'_, f64>,
    settings: Settings,
    names: Names<'_>,
    conditions: Option<Conditions<'_>>,
) -> PyResult<(Run, Record)> {
    let backtest = settings.captured(dataset, &names)?;
    let orders = conditional(dataset, orders_of(dataset, &weights, settings.window())?, conditions, settings)?;
    let (core, record) = py.detach(|| backtest.capture_orders(&orders)).map_err(to_py)?;
    Ok((Run { dataset: dataset.clone(), core, settings }, Record::of_run(&names.agent_id, record)))
}

/// Bar, symbol, shares and price of each fill.
type FillColumns<'py> =
    (Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<f64>>);

fn fill_columns<'py>(py: Python<'py>, fills: &[Fill]) -> FillColumns<'py> {
    let places =
        |of: fn(&Fill) -> usize| PyArray1::from_iter(py, fills.iter().map(|fill| of(fill).cast_signed() as i64));
    let numbers = |of: fn(&Fill) -> f64| PyArray1::from_iter(py, fills.iter().map(of));
    (places(|fill| fill.bar), places(|fill| fill.symbol), numbers(|fill| fill.shares), numbers(|fill| fill.price))
}

/// Run target weights over a window, with conditions of their orders.
///
/// Each has the shape `(n_bars, n_symbols)`.
#[pyfunction]
#[pyo3(signature = (dataset, weights, settings, conditions=None))]
pub(crate) fn run_weights(
    py: Python<'_>,
    dataset: &Dataset,
    weights: PyReadonlyArray2<'_, f64>,
    settings: Settings,
    conditions: Option<Conditions<'_>>,
) -> PyResult<Run> {
    let backtest = settings.backtest(dataset)?;
    let orders = conditional(dataset, orders_of(dataset, &weights, settings.window())?, conditions, settings)?;
    let core = py.detach(|| backtest.run_table(orders)).map_err(to_py)?;
    Ok(Run { dataset: dataset.clone(), core, settings })
}

/// Return the returns of the passive portfolios of a market.
///
/// The first has equal parts of all symbols on every bar, at the costs of the settings. The others trade
/// without costs: the same, and, every 21 bars, equal parts, one over volatility, one over variance, and minimum
/// variance.
#[pyfunction]
pub(crate) fn passive_returns<'py>(
    py: Python<'py>,
    dataset: &Dataset,
    settings: Settings,
) -> PyResult<Vec<Bound<'py, PyArray1<f64>>>> {
    let backtest = settings.backtest(dataset)?;
    let passive = py.detach(|| backtest.passive()).map_err(to_py)?;
    Ok(passive.into_iter().map(|returns| PyArray1::from_vec(py, returns)).collect())
}

/// Returns decision rows with their conditions, if there are any.
fn conditional(
    dataset: &Dataset,
    orders: OrderTable,
    conditions: Option<Conditions<'_>>,
    settings: Settings,
) -> PyResult<OrderTable> {
    match conditions {
        Some(conditions) => conditions.of(dataset, orders, settings.window()),
        None => Ok(orders),
    }
}

/// Returns a copy of the decision rows of a window.
fn orders_of(dataset: &Dataset, weights: &PyReadonlyArray2<'_, f64>, window: Window) -> PyResult<OrderTable> {
    let mut memory = Vec::new();
    reserve_in_huge_pages(&mut memory, window.n_decisions() * dataset.0.n_symbols());
    orders_in(memory, dataset, weights, window)
}

/// Returns a copy of the decision rows of a window, in the memory of another.
///
/// Copied while the GIL is held: Python code may write to the array after we detach.
pub(crate) fn orders_in(
    memory: Vec<f64>,
    dataset: &Dataset,
    weights: &PyReadonlyArray2<'_, f64>,
    window: Window,
) -> PyResult<OrderTable> {
    let (n_bars, n_symbols) = (dataset.0.n_bars(), dataset.0.n_symbols());
    let found = weights.shape();
    if found != [n_bars, n_symbols] {
        let message = format!(
            "`weights` must have shape ({n_bars}, {n_symbols}), bars by symbols; received ({}, {})",
            found[0], found[1]
        );
        return Err(raise("shape_mismatch", &message));
    }
    let rows = window.start * n_symbols..(window.end - 1) * n_symbols;
    // Not `as_slice` of rust-numpy, which also accepts an array in column-major order.
    Ok(match weights.as_array().as_slice() {
        Some(values) => OrderTable::copy_in(memory, &values[rows], n_symbols),
        None => {
            OrderTable::new(weights.as_array().iter().copied().skip(rows.start).take(rows.len()).collect(), n_symbols)
        }
    })
}

#[pymethods]
impl Run {
    /// NAV at the close of each bar, shape `(n_bars,)`; 1 at the first.
    #[getter]
    fn nav<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyArray1<f64>>> {
        arrays::borrowed(&slf.get().core.nav, slf)
    }

    /// Simple return of each bar after the first, shape `(n_bars - 1,)`.
    #[getter]
    fn returns<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        arrays::vector(py, self.core.returns())
    }

    /// Gains other than price changes, by kind and decision.
    ///
    /// Funding only in a market that has it.
    #[getter]
    fn gains<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyDict>> {
        let gains = PyDict::new(slf.py());
        let n_kinds = Flows::GAINS.len() - usize::from(!slf.get().dataset.0.has_charge(Charge::Funding));
        for (kind, column) in Flows::GAINS.into_iter().zip(&slf.get().flows(slf.py())?.gains).take(n_kinds) {
            gains.set_item(kind, arrays::borrowed(column, slf)?)?;
        }
        Ok(gains)
    }

    /// Notional traded over NAV per decision; both sides count.
    #[getter]
    fn turnover<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyArray1<f64>>> {
        arrays::borrowed(&slf.get().flows(slf.py())?.turnover, slf)
    }

    /// Costs by kind and decision, in units of the starting NAV.
    #[getter]
    fn costs<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyDict>> {
        let costs = PyDict::new(slf.py());
        for (kind, column) in StepCosts::KINDS.into_iter().zip(&slf.get().flows(slf.py())?.costs) {
            costs.set_item(kind, arrays::borrowed(column, slf)?)?;
        }
        Ok(costs)
    }

    /// Target weights as decided, shape `(n_bars - 1, n_symbols)`; NaN is a hold.
    #[getter]
    fn decisions<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        arrays::matrix(py, self.core.orders.to_vec(), self.settings.window().n_decisions())
    }

    /// Return the orders with conditions as columns.
    ///
    /// Decision, symbol, prices, and whether at the close.
    fn conditions<'py>(&self, py: Python<'py>) -> ConditionColumns<'py> {
        condition_columns(py, self.core.orders.conditions())
    }

    /// The decision with which the account was terminated, if it was.
    #[getter]
    fn terminated_at(&self) -> Option<usize> {
        self.core.terminated_at
    }

    /// Share of the bars after the first with a position at the close.
    #[getter]
    fn time_in_market(&self, py: Python<'_>) -> PyResult<f64> {
        let totals = py.detach(|| self.core.totals(&self.dataset.0)).map_err(to_py)?;
        Ok(totals.n_invested as f64 / self.settings.window().n_decisions() as f64)
    }

    /// Return the weights held at each close, shape `(n_bars, n_symbols)`.
    fn weights<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let weights = py.detach(|| self.core.weights(&self.dataset.0)).map_err(to_py)?;
        arrays::matrix(py, weights, self.core.nav.len())
    }

    /// Return the fills as columns: bar, symbol, shares, price.
    fn fills<'py>(&self, py: Python<'py>) -> PyResult<FillColumns<'py>> {
        let fills = py.detach(|| self.core.fills(&self.dataset.0)).map_err(to_py)?;
        Ok(fill_columns(py, &fills))
    }

    /// Return the weights and the fills, of a replay that also gives the flows.
    fn positions<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyArray2<f64>>, FillColumns<'py>)> {
        let (weights, fills) = py.detach(|| self.core.positions(&self.dataset.0)).map_err(to_py)?;
        Ok((arrays::matrix(py, weights, self.core.nav.len())?, fill_columns(py, &fills)))
    }

    /// Return the events other than fills.
    fn events<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let mut events = Vec::new();
        for (decision, refusal) in &self.core.refusals {
            events.push((*decision, refusal_dict(py, refusal)?));
        }
        for (decision, event) in &self.core.events {
            events.push((*decision, event_dict(py, event, self.dataset.0.symbols())?));
        }
        // Stable: within a decision, refusals of unknown names come before the events of the step.
        events.sort_by_key(|(decision, _)| *decision);
        let list = PyList::empty(py);
        for (decision, event) in events {
            event.set_item("decision", decision)?;
            event.set_item("bar", self.settings.window().start + decision + 1)?;
            list.append(event)?;
        }
        Ok(list)
    }

    /// Return the run of the same decisions with a delay of one bar.
    fn delayed(&self, py: Python<'_>) -> PyResult<Self> {
        let backtest = self.settings.backtest(&self.dataset)?;
        let core = py.detach(|| backtest.run_delayed(&self.core)).map_err(to_py)?;
        Ok(Self { dataset: self.dataset.clone(), core, settings: self.settings })
    }

    /// Return of each bar less the risk-free one, if the dataset has one.
    #[getter]
    fn excess<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        arrays::vector(py, openoutcry_score::excess(&self.core.returns(), self.risk_free()))
    }

    /// Return every metric by name, and the reason of each that is undefined and None.
    fn metrics<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyDict>, Bound<'py, PyDict>)> {
        let (returns, trading) = py.detach(|| (self.core.returns(), self.trading()));
        crate::metrics::metrics(py, &self.track(&returns, trading.map_err(to_py)?))
    }

    /// Return one metric, or None if it is undefined; only what it needs is computed.
    fn metric(&self, py: Python<'_>, name: Text) -> PyResult<Option<f64>> {
        crate::metrics::check_metric(&name)?;
        py.detach(|| self.statistic(&name, &mut Vec::new())).map_err(to_py)
    }
}

impl Run {
    pub(crate) fn new(dataset: &Dataset, settings: Settings, core: CoreRun) -> Self {
        Self { dataset: dataset.clone(), core, settings }
    }

    pub(crate) fn into_core(self) -> CoreRun {
        self.core
    }

    /// Returns a metric that exists, or `None` if it is undefined.
    ///
    /// `returns` is memory for the returns.
    pub(crate) fn statistic(&self, name: &str, returns: &mut Vec<f64>) -> Result<Option<f64>, StepError> {
        let trading = if TRADING_METRICS.contains(&name) { self.trading()? } else { Trading::UNKNOWN };
        self.core.write_returns(returns);
        Ok(Metrics::of(self.track(returns, trading)).get(name).and_then(Result::ok))
    }

    /// Risk-free return of each bar after the first.
    fn risk_free(&self) -> Option<&[f64]> {
        let Window { start, end } = self.settings.window();
        self.dataset.0.risk_free().map(|rates| &rates[start + 1..end])
    }

    fn track<'a>(&'a self, returns: &'a [f64], trading: Trading) -> Track<'a> {
        let periods_per_year = self.dataset.0.periods_per_year().unwrap_or(f64::NAN);
        Track { returns, risk_free: self.risk_free(), trading, periods_per_year }
    }

    fn trading(&self) -> Result<Trading, StepError> {
        let n_decisions = self.settings.window().n_decisions();
        if n_decisions == 0 {
            return Ok(Trading::UNKNOWN);
        }
        let Totals { turnover, cost, gross, net, .. } = self.core.totals(&self.dataset.0)?;
        let mean = |total: f64| Ok(total / n_decisions as f64);
        Ok(Trading { turnover: mean(turnover), cost: mean(cost), gross: mean(gross), net: mean(net) })
    }

    fn flows(&self, py: Python<'_>) -> PyResult<&Flows> {
        py.detach(|| self.core.flows(&self.dataset.0)).map_err(to_py)
    }
}
