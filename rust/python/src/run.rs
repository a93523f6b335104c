use numpy::{PyArray1, PyArray2, PyReadonlyArray2, PyUntypedArrayMethods};
use openoutcry::{Backtest, Decision, Run as CoreRun, StepCosts, Window};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use crate::agents::Baseline;
use crate::arguments;
use crate::arrays;
use crate::dataset::Dataset;
use crate::environment::{event_dict, refusal_dict};
use crate::error::{AgentFault, raise, to_py};
use crate::rules::{CostModel, Limits};

#[pyclass(frozen, module = "openoutcry.openoutcry_py")]
pub struct Run {
    dataset: Dataset,
    core: CoreRun,
    settings: Settings,
}

/// What every backtest is told beside its data and its decisions: a dict of Python.
#[derive(Clone, Copy, FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Settings {
    window: (usize, usize),
    costs: CostModel,
    limits: Limits,
    lookback: usize,
    seed: u64,
}

impl Settings {
    fn window(self) -> Window {
        Window { start: self.window.0, end: self.window.1 }
    }

    fn backtest(self, dataset: &Dataset) -> PyResult<Backtest<'_>> {
        let backtest = Backtest::new(&dataset.0, self.window(), self.seed, self.costs.0).map_err(to_py)?;
        Ok(backtest.with_limits(self.limits.0).map_err(to_py)?.with_lookback(self.lookback))
    }
}

#[pyfunction]
pub(crate) fn run_agent(py: Python<'_>, dataset: &Dataset, agent: &Baseline, settings: Settings) -> PyResult<Run> {
    let backtest = settings.backtest(dataset)?;
    let mut agent = agent.make()?;
    let core = py.detach(|| backtest.run(&mut *agent)).map_err(to_py)?;
    Ok(Run { dataset: dataset.clone(), core, settings })
}

#[pyfunction]
pub(crate) fn run_callable(dataset: &Dataset, decide: &Bound<'_, PyAny>, settings: Settings) -> PyResult<Run> {
    let core = settings.backtest(dataset)?.try_run(|observation| {
        let answer = decide.call1((observation.to_json(),)).map_err(AgentFault::Python)?;
        let answer = arguments::decision(&answer).map_err(AgentFault::Python)?;
        Decision::from_json(answer).map_err(|error| AgentFault::Python(to_py(error)))
    })?;
    Ok(Run { dataset: dataset.clone(), core, settings })
}

#[pyfunction]
pub(crate) fn run_weights(
    py: Python<'_>,
    dataset: &Dataset,
    weights: PyReadonlyArray2<'_, f64>,
    settings: Settings,
) -> PyResult<Run> {
    let backtest = settings.backtest(dataset)?;
    let (n_bars, n_symbols) = (dataset.0.n_bars(), dataset.0.n_symbols());
    let found = weights.shape();
    if found != [n_bars, n_symbols] {
        let message = format!(
            "`weights` must have shape ({n_bars}, {n_symbols}), bars by symbols; received ({}, {})",
            found[0], found[1]
        );
        return Err(raise("shape_mismatch", &message));
    }
    let Window { start, end } = settings.window();
    let rows = start * n_symbols..(end - 1) * n_symbols;
    // Copied while the GIL is held: Python code may write to the array once we detach.
    // Not rust-numpy's `as_slice`, which also takes an array that is contiguous column by column.
    let orders = match weights.as_array().as_slice() {
        Some(values) => values[rows].to_vec(),
        None => weights.as_array().iter().copied().skip(rows.start).take(rows.len()).collect(),
    };
    let core = py.detach(|| backtest.run_orders(orders)).map_err(to_py)?;
    Ok(Run { dataset: dataset.clone(), core, settings })
}

#[pymethods]
impl Run {
    #[getter]
    fn nav<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        arrays::vector(py, self.core.nav.clone())
    }

    #[getter]
    fn returns<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        arrays::vector(py, self.core.returns())
    }

    #[getter]
    fn gains<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let gains = PyDict::new(py);
        for (kind, column) in CoreRun::GAINS.into_iter().zip(&self.core.gains) {
            gains.set_item(kind, arrays::vector(py, column.clone()))?;
        }
        Ok(gains)
    }

    #[getter]
    fn turnover<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        arrays::vector(py, self.core.turnover.clone())
    }

    #[getter]
    fn costs<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let costs = PyDict::new(py);
        for (kind, column) in StepCosts::KINDS.into_iter().zip(&self.core.costs) {
            costs.set_item(kind, arrays::vector(py, column.clone()))?;
        }
        Ok(costs)
    }

    #[getter]
    fn decisions<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        arrays::matrix(py, self.core.orders.clone(), self.settings.window().n_decisions())
    }

    #[getter]
    fn terminated_at(&self) -> Option<usize> {
        self.core.terminated_at
    }

    fn weights<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let weights = py.detach(|| self.core.weights(&self.dataset.0)).map_err(to_py)?;
        arrays::matrix(py, weights, self.core.nav.len())
    }

    fn fills(&self, py: Python<'_>) -> PyResult<Vec<(usize, usize, f64, f64)>> {
        let fills = py.detach(|| self.core.fills(&self.dataset.0)).map_err(to_py)?;
        Ok(fills.into_iter().map(|fill| (fill.bar, fill.symbol, fill.shares, fill.price)).collect())
    }

    fn events<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let mut events = Vec::new();
        for (decision, refusal) in &self.core.refusals {
            events.push((*decision, refusal_dict(py, refusal)?));
        }
        for (decision, event) in &self.core.events {
            events.push((*decision, event_dict(py, event, self.dataset.0.symbols())?));
        }
        // Stable: within a decision, refusals by name come before what the step did.
        events.sort_by_key(|(decision, _)| *decision);
        let list = PyList::empty(py);
        for (decision, event) in events {
            event.set_item("decision", decision)?;
            event.set_item("bar", self.settings.window().start + decision + 1)?;
            list.append(event)?;
        }
        Ok(list)
    }

    fn delayed(&self, py: Python<'_>) -> PyResult<Self> {
        let backtest = self.settings.backtest(&self.dataset)?;
        let core = py.detach(|| backtest.run_delayed(&self.core)).map_err(to_py)?;
        Ok(Self { dataset: self.dataset.clone(), core, settings: self.settings })
    }

    fn metrics<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyDict>, Bound<'py, PyDict>)> {
        let Window { start, end } = self.settings.window();
        let returns = self.core.returns();
        let cost: Vec<f64> = (0..returns.len())
            .map(|k| if self.core.nav[k] == 0.0 { 0.0 } else { self.core.cost_of(k) / self.core.nav[k] })
            .collect();
        let track = openoutcry_score::Track {
            returns: &returns,
            risk_free: self.dataset.0.risk_free().map(|rates| &rates[start + 1..end]),
            turnover: &self.core.turnover,
            cost: &cost,
            periods_per_year: self.dataset.0.periods_per_year(),
        };
        crate::score::metrics(py, &track)
    }
}
