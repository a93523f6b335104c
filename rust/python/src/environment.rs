use std::sync::Arc;

use numpy::{PyReadonlyArray1, PyReadwriteArray1, PyReadwriteArray2};
use openoutcry::{
    CostModel as CoreCosts, Dataset as CoreDataset, Event, FillKey, Limits as CoreLimits, Refusal, State as CoreState,
    StepCosts, Stepped, TradingEnv as CoreEnv, Window,
};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use crate::arguments;
use crate::dataset::Dataset;
use crate::error::{raise, to_py};
use crate::rules::{CostModel, Limits};

/// A checkpoint of an account, at one bar of one environment.
///
/// Stepping on from it gives the same bits as never having stopped.
#[pyclass(frozen, eq, from_py_object, module = "openoutcry.openoutcry_py")]
#[derive(Clone, PartialEq)]
pub struct State(CoreState);

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

/// The JSON door: a market to step through with decisions in JSON.
///
/// The market is synthetic, or comes from `from_csv`. It is ready to step when made; `reset` begins the window anew.
///
/// Args:
///     n_symbols: Symbols of the market.
///     n_days: Days of the market.
///     seed: Seed of the market and of the slippage noise.
///     window_start: First bar; None for the default of the contract.
///     window_end: One past the last bar; None for the end of the data.
///     fee_bps: As in `CostModel`; None for its default.
///     slippage_bps: As in `CostModel`; None for its default.
///     impact_bps: As in `CostModel`; None for its default.
///     financing_bps: As in `CostModel`; None for its default.
///     max_participation: As in `Limits`; None for no limit.
///
/// Raises:
///     OpenOutcryError: the data, the window, a cost or a limit cannot be used.
#[pyclass(module = "openoutcry.openoutcry_py")]
pub struct TradingEnv {
    core: CoreEnv,
    stepped: Option<Stepped>,
    observation: String,
    info: String,
}

impl TradingEnv {
    fn make(data: Arc<CoreDataset>, window: Window, costs: CoreCosts, limits: CoreLimits, seed: u64) -> PyResult<Self> {
        let core = CoreEnv::new(data, window, costs, seed).and_then(|env| env.with_limits(limits)).map_err(to_py)?;
        Ok(Self { core, stepped: None, observation: String::new(), info: String::new() })
    }

    #[expect(clippy::too_many_arguments, reason = "the flat arguments of the two JSON constructors")]
    fn flat(
        data: CoreDataset,
        seed: u64,
        window_start: Option<usize>,
        window_end: Option<usize>,
        fee_bps: Option<f64>,
        slippage_bps: Option<f64>,
        impact_bps: Option<f64>,
        financing_bps: Option<f64>,
        max_participation: Option<f64>,
    ) -> PyResult<Self> {
        let default = CoreCosts::default();
        let costs = CoreCosts {
            fee_bps: fee_bps.unwrap_or(default.fee_bps),
            slippage_bps: slippage_bps.unwrap_or(default.slippage_bps),
            impact_bps: impact_bps.unwrap_or(default.impact_bps),
            financing_bps: financing_bps.unwrap_or(default.financing_bps),
            ..default
        };
        let limits = CoreLimits { max_participation, ..CoreLimits::default() };
        let window = Window::resolve(window_start, window_end, openoutcry::DEFAULT_LOOKBACK, data.n_bars());
        Self::make(Arc::new(data), window.map_err(to_py)?, costs, limits, seed)
    }
}

#[pymethods]
impl TradingEnv {
    #[new]
    #[pyo3(signature = (n_symbols=4, n_days=120, seed=0, window_start=None, window_end=None, fee_bps=None, slippage_bps=None, impact_bps=None, financing_bps=None, max_participation=None))]
    #[expect(clippy::too_many_arguments, reason = "the flat arguments of the contract")]
    fn new(
        py: Python<'_>,
        #[pyo3(from_py_with = arguments::n_symbols)] n_symbols: usize,
        #[pyo3(from_py_with = arguments::n_days)] n_days: usize,
        #[pyo3(from_py_with = arguments::seed)] seed: u64,
        #[pyo3(from_py_with = arguments::window_start)] window_start: Option<usize>,
        #[pyo3(from_py_with = arguments::window_end)] window_end: Option<usize>,
        #[pyo3(from_py_with = arguments::fee_bps)] fee_bps: Option<f64>,
        #[pyo3(from_py_with = arguments::slippage_bps)] slippage_bps: Option<f64>,
        #[pyo3(from_py_with = arguments::impact_bps)] impact_bps: Option<f64>,
        #[pyo3(from_py_with = arguments::financing_bps)] financing_bps: Option<f64>,
        #[pyo3(from_py_with = arguments::max_participation)] max_participation: Option<f64>,
    ) -> PyResult<Self> {
        let data = py.detach(|| CoreDataset::synthetic(n_symbols, n_days, seed)).map_err(to_py)?;
        Self::flat(
            data,
            seed,
            window_start,
            window_end,
            fee_bps,
            slippage_bps,
            impact_bps,
            financing_bps,
            max_participation,
        )
    }

    /// Return an environment on the market of a CSV text, long or wide.
    #[staticmethod]
    #[pyo3(signature = (csv_text, seed=0, window_start=None, window_end=None, fee_bps=None, slippage_bps=None, impact_bps=None, financing_bps=None, max_participation=None))]
    #[expect(clippy::too_many_arguments, reason = "the flat arguments of the contract")]
    fn from_csv(
        py: Python<'_>,
        csv_text: &Bound<'_, PyAny>,
        #[pyo3(from_py_with = arguments::seed)] seed: u64,
        #[pyo3(from_py_with = arguments::window_start)] window_start: Option<usize>,
        #[pyo3(from_py_with = arguments::window_end)] window_end: Option<usize>,
        #[pyo3(from_py_with = arguments::fee_bps)] fee_bps: Option<f64>,
        #[pyo3(from_py_with = arguments::slippage_bps)] slippage_bps: Option<f64>,
        #[pyo3(from_py_with = arguments::impact_bps)] impact_bps: Option<f64>,
        #[pyo3(from_py_with = arguments::financing_bps)] financing_bps: Option<f64>,
        #[pyo3(from_py_with = arguments::max_participation)] max_participation: Option<f64>,
    ) -> PyResult<Self> {
        let text = arguments::csv_text(csv_text)?;
        let data = py.detach(|| CoreDataset::from_csv(text, openoutcry::DEFAULT_PERIODS_PER_YEAR)).map_err(to_py)?;
        Self::flat(
            data,
            seed,
            window_start,
            window_end,
            fee_bps,
            slippage_bps,
            impact_bps,
            financing_bps,
            max_participation,
        )
    }

    /// Return an environment on a market that is there already.
    #[staticmethod]
    #[pyo3(signature = (dataset, *, window, costs, limits, lookback, seed))]
    fn from_dataset(
        dataset: &Dataset,
        window: (usize, usize),
        costs: &CostModel,
        limits: &Limits,
        #[pyo3(from_py_with = arguments::lookback)] lookback: usize,
        #[pyo3(from_py_with = arguments::seed)] seed: u64,
    ) -> PyResult<Self> {
        let window = Window { start: window.0, end: window.1 };
        let mut env = Self::make(Arc::clone(&dataset.0), window, costs.0, limits.0, seed)?;
        env.core = env.core.with_lookback(lookback).map_err(to_py)?;
        Ok(env)
    }

    /// Begin the window anew and return its first observation, canonical JSON.
    fn reset(&mut self) -> &str {
        self.stepped = None;
        self.observation.clear();
        self.core.reset_json(&mut self.observation);
        &self.observation
    }

    /// Trade as a decision says and move on by one bar.
    ///
    /// Returns `(observation_json, reward, done, info_json)`.
    ///
    /// Raises:
    ///     OpenOutcryError: the text is not a decision, or the episode is over; nothing has moved.
    fn step(&mut self, decision_json: &Bound<'_, PyAny>) -> PyResult<(&str, f64, bool, &str)> {
        let decision_json = arguments::decision(decision_json)?;
        self.observation.clear();
        self.info.clear();
        let step = self.core.step_json(decision_json, &mut self.observation, &mut self.info).map_err(to_py)?;
        self.stepped = None;
        Ok((&self.observation, step.reward, step.done, &self.info))
    }

    /// Return the current observation, canonical JSON.
    fn observation_json(&mut self) -> &str {
        self.observation.clear();
        self.core.write_observation(&mut self.observation);
        &self.observation
    }

    /// Begin the window anew, without JSON.
    fn reset_arrays(&mut self) {
        self.stepped = None;
        self.core.restart();
    }

    /// Trade to target weights, shape `(n_symbols,)`, and return the reward.
    ///
    /// Raises:
    ///     OpenOutcryError: the weights have the wrong shape or are not finite, or the episode is over.
    fn step_weights(&mut self, py: Python<'_>, weights: PyReadonlyArray1<'_, f64>) -> PyResult<f64> {
        let weights = weights.as_array().to_vec();
        let stepped = py.detach(|| self.core.step_weights(&weights)).map_err(to_py)?;
        self.stepped = Some(stepped);
        Ok(stepped.reward)
    }

    /// Write the current observation into buffers of the caller and return the cash.
    ///
    /// Args:
    ///     closes: Shape `(n_symbols,)`, written: last closes, 0 where a symbol is not listed.
    ///     positions: Shape `(n_symbols,)`, written: signed shares.
    ///     listed: Shape `(n_symbols,)`, written: 1 where a symbol can be held.
    ///     history: Shape `(lookback, n_symbols)`, written: closes, oldest first, 0 before a listing.
    #[pyo3(signature = (closes, positions, listed, history=None))]
    fn observe_into(
        &self,
        mut closes: PyReadwriteArray1<'_, f64>,
        mut positions: PyReadwriteArray1<'_, f64>,
        mut listed: PyReadwriteArray1<'_, i8>,
        history: Option<PyReadwriteArray2<'_, f64>>,
    ) -> PyResult<f64> {
        let n = self.core.data().n_symbols();
        let (closes, positions, listed) = (closes.as_slice_mut()?, positions.as_slice_mut()?, listed.as_slice_mut()?);
        if (closes.len(), positions.len(), listed.len()) != (n, n, n) {
            return Err(raise("shape_mismatch", &format!("buffers of {n} symbols are required; received others")));
        }
        let (as_of, book) = (self.core.as_of(), self.core.book());
        for symbol in 0..n {
            let is_listed = as_of.is_listed(symbol);
            closes[symbol] = if is_listed { book.mark(symbol) } else { 0.0 };
            positions[symbol] = book.shares(symbol);
            listed[symbol] = i8::from(is_listed);
        }
        if let Some(mut history) = history {
            let mut rows = history.as_array_mut();
            if rows.ncols() != n {
                let message = format!("`history` must have shape (lookback, {n}); received {:?}", rows.dim());
                return Err(raise("shape_mismatch", &message));
            }
            let lookback = rows.nrows();
            let mut closes = vec![0.0; lookback * n];
            as_of.history_rows(lookback, &mut closes);
            rows.iter_mut().zip(closes).for_each(|(cell, close)| *cell = close);
        }
        Ok(book.cash())
    }

    /// Return what the last array step had to say.
    ///
    /// That is `nav`, `date`, `events`, `costs` by kind and the gains.
    fn info<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let info = PyDict::new(py);
        info.set_item("nav", self.core.book().nav())?;
        info.set_item("date", self.core.as_of().date())?;
        let events = PyList::empty(py);
        if let Some(stepped) = &self.stepped {
            for event in self.core.events() {
                events.append(event_dict(py, event, self.core.data().symbols())?)?;
            }
            let costs = PyDict::new(py);
            for (kind, cost) in StepCosts::KINDS.into_iter().zip(stepped.costs.by_kind()) {
                costs.set_item(kind, cost)?;
            }
            info.set_item("costs", costs)?;
            info.set_item("dividends", stepped.dividends)?;
            info.set_item("interest", stepped.interest)?;
            info.set_item("settlement", stepped.settlement)?;
            info.set_item("turnover", stepped.turnover)?;
        }
        info.set_item("events", events)?;
        Ok(info)
    }

    /// NAV at the current close; 1 at the start.
    #[getter]
    fn nav(&self) -> f64 {
        self.core.book().nav()
    }

    /// Index of the current bar in the dataset.
    #[getter]
    fn bar(&self) -> usize {
        self.core.book().bar()
    }

    /// Whether the account was liquidated or ruined.
    #[getter]
    fn terminated(&self) -> bool {
        self.core.terminated()
    }

    /// Whether the window has ended.
    #[getter]
    fn truncated(&self) -> bool {
        self.core.truncated()
    }

    /// The market of this environment.
    #[getter]
    fn dataset(&self) -> Dataset {
        Dataset(Arc::clone(self.core.data()))
    }

    /// Return a checkpoint of the account, in O(symbols).
    fn clone_state(&self) -> State {
        State(self.core.clone_state())
    }

    /// Go back to a checkpoint of this environment.
    ///
    /// Raises:
    ///     OpenOutcryError: `state_mismatch`: the checkpoint is of another market or window.
    fn restore_state(&mut self, state: &State) -> PyResult<()> {
        self.core.restore_state(&state.0).map_err(to_py)?;
        self.stepped = None;
        Ok(())
    }
}

pub(crate) fn event_dict<'py>(py: Python<'py>, event: &Event, symbols: &[String]) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("slug", event.slug())?;
    if let Some(symbol) = event.symbol() {
        dict.set_item("symbol", &symbols[symbol])?;
    }
    if let Some(reason) = event.reason() {
        dict.set_item("reason", reason)?;
    }
    for (name, value) in event.numbers().into_iter().flatten() {
        dict.set_item(name, value)?;
    }
    Ok(dict)
}

pub(crate) fn refusal_dict<'py>(py: Python<'py>, refusal: &Refusal) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("slug", "refused")?;
    dict.set_item("symbol", &refusal.symbol)?;
    dict.set_item("reason", refusal.reason.slug())?;
    dict.set_item("weight", refusal.weight)?;
    Ok(dict)
}

/// Return the draw in [0, 1) that jitters the slippage of a symbol in a bar.
#[pyfunction]
pub(crate) fn fill_noise(
    #[pyo3(from_py_with = arguments::seed)] seed: u64,
    #[pyo3(from_py_with = arguments::bar)] bar: usize,
    symbol: &str,
) -> f64 {
    FillKey::from_seed(seed).uniform(bar, symbol)
}

/// Return the bars of a window whose edges may be left open.
#[pyfunction]
#[pyo3(signature = (start, end, lookback, n_bars))]
pub(crate) fn resolve_window(
    #[pyo3(from_py_with = arguments::start)] start: Option<usize>,
    #[pyo3(from_py_with = arguments::end)] end: Option<usize>,
    #[pyo3(from_py_with = arguments::lookback)] lookback: usize,
    #[pyo3(from_py_with = arguments::n_bars)] n_bars: usize,
) -> PyResult<(usize, usize)> {
    let window = Window::resolve(start, end, lookback, n_bars).map_err(to_py)?;
    Ok((window.start, window.end))
}
