use std::sync::{Arc, OnceLock};

use numpy::{PyReadonlyArray1, PyReadonlyArray2, PyReadwriteArray1, PyReadwriteArray2};
use openoutcry::batch::{DictArrays, Market, observe_account};
use openoutcry::{
    CostModel as CoreCosts, Dataset as CoreDataset, FeatureScope, Limits as CoreLimits, Shaping, StepCosts, Stepped,
    TradingEnv as CoreEnv, Window, counted,
};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use crate::arguments;
use crate::batch_options::{ObservedArgument, observed_names};
use crate::costs::CostModel;
use crate::dataset::Dataset;
use crate::error::{raise, to_py};
use crate::events::event_dict;
use crate::limits::Limits;
use crate::reward::{RewardArgument, figure_arrays, reward_of};
use crate::state::State;

/// The JSON environment: a market that is stepped with decisions in JSON.
///
/// The market is synthetic, or comes from `from_csv`. A new environment is ready to step; `reset` restarts the window.
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
///     OpenOutcryError: the data, the window, a cost or a limit is invalid.
#[pyclass(module = "openoutcry.openoutcry_py")]
pub struct TradingEnv {
    pub(crate) core: CoreEnv,
    stepped: Option<Stepped>,
    observation: String,
    info: String,
    /// Created with the first flat observation.
    market: OnceLock<Market>,
}

impl TradingEnv {
    fn make(data: Arc<CoreDataset>, window: Window, costs: CoreCosts, limits: CoreLimits, seed: u64) -> PyResult<Self> {
        let core = CoreEnv::new(data, window, costs, seed).and_then(|env| env.with_limits(limits)).map_err(to_py)?;
        Ok(Self { core, stepped: None, observation: String::new(), info: String::new(), market: OnceLock::new() })
    }

    fn market(&self) -> &Market {
        self.market.get_or_init(|| Market::new(Arc::clone(self.core.data())))
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
        let data = py.detach(|| CoreDataset::from_csv(text, None)).map_err(to_py)?;
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

    /// Return an environment on an existing market.
    ///
    /// `shaping` is the reward of array steps, its parameter, and the no-trade band. The reward is a name, a list of
    /// terms with weights, or None for the simple return. `observed` has the names of observed columns, those of
    /// windows, and the scale with its number of bars.
    #[staticmethod]
    #[pyo3(signature = (dataset, *, window, costs, limits, lookback, seed, shaping=None, observed=None))]
    #[expect(clippy::too_many_arguments, reason = "keyword-only arguments of one environment")]
    fn from_dataset(
        dataset: &Dataset,
        window: (usize, usize),
        costs: &CostModel,
        limits: &Limits,
        #[pyo3(from_py_with = arguments::lookback)] lookback: usize,
        #[pyo3(from_py_with = arguments::seed)] seed: u64,
        shaping: Option<(Option<RewardArgument>, f64, f64)>,
        observed: Option<ObservedArgument>,
    ) -> PyResult<Self> {
        let window = Window { start: window.0, end: window.1 };
        let mut env = Self::make(Arc::clone(&dataset.0), window, costs.0, limits.0, seed)?;
        env.core = env.core.with_lookback(lookback).map_err(to_py)?;
        if let Some((reward, parameter, no_trade_band)) = shaping {
            env.core = env.core.with_shaping(Shaping { reward: reward_of(reward.as_ref(), parameter)?, no_trade_band });
        }
        if let Some((names, history, scale)) = observed {
            let market =
                Market::observing(Arc::clone(&dataset.0), &observed_names(&names, &history, &scale)?).map_err(to_py)?;
            env.market = OnceLock::from(market);
        }
        Ok(env)
    }

    /// Restart the window and return its first observation, canonical JSON.
    fn reset(&mut self) -> &str {
        self.stepped = None;
        self.observation.clear();
        self.core.reset_json(&mut self.observation);
        &self.observation
    }

    /// Trade a decision and advance by one bar.
    ///
    /// Returns `(observation_json, reward, done, info_json)`.
    ///
    /// Raises:
    ///     OpenOutcryError: the text is not a decision, or the episode has ended; the account has not moved.
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

    /// Restart the window, without JSON.
    fn reset_arrays(&mut self) {
        self.stepped = None;
        self.core.restart();
    }

    /// Start another window, without JSON.
    fn begin(&mut self, start: usize, end: usize) -> PyResult<()> {
        self.core.begin(Window { start, end }).map_err(to_py)?;
        self.stepped = None;
        Ok(())
    }

    /// Trade to target weights, shape `(n_symbols,)`, and return the reward.
    ///
    /// Symbols with `hold` set are not traded. `brackets` has distances of exits, shape `(n_symbols, 2)`.
    ///
    /// Raises:
    ///     OpenOutcryError: the weights have the wrong shape or are not finite, or the episode has ended.
    #[pyo3(signature = (weights, hold=None, brackets=None))]
    fn step_weights(
        &mut self,
        py: Python<'_>,
        weights: PyReadonlyArray1<'_, f64>,
        hold: Option<PyReadonlyArray1<'_, bool>>,
        brackets: Option<PyReadonlyArray2<'_, f64>>,
    ) -> PyResult<f64> {
        let (weights, hold) = (weights.as_array().to_vec(), hold.map(|hold| hold.as_array().to_vec()));
        hold.as_ref().map_or(Ok(()), |hold| fits("hold", hold.len(), weights.len()))?;
        let brackets: Vec<f64> = brackets.map(|of| of.as_array().iter().copied().collect()).unwrap_or_default();
        fits("brackets", brackets.len(), if brackets.is_empty() { 0 } else { 2 * weights.len() })?;
        let (stepped, reward) = py.detach(|| self.core.act(&weights, hold.as_deref(), &brackets)).map_err(to_py)?;
        self.stepped = Some(stepped);
        Ok(reward)
    }

    /// Write the last log returns, the weights and the cash over NAV.
    ///
    /// The shape is `(lookback * bar_len + n_symbols + 1,)`, float32.
    fn observe_flat(&self, mut flat: PyReadwriteArray1<'_, f32>) -> PyResult<()> {
        let market = self.market();
        let (cells, expected) = (flat.as_slice_mut()?, market.flat_len(self.core.lookback()));
        fits("flat", cells.len(), expected)?;
        market.observe_flat(self.core.book().held(), self.core.lookback(), cells);
        Ok(())
    }

    /// Write the weights and the cash over NAV, shape `(n_symbols + 1,)`.
    fn observe_account(&self, mut account: PyReadwriteArray1<'_, f32>) -> PyResult<()> {
        let cells = account.as_slice_mut()?;
        fits("account", cells.len(), self.core.data().n_symbols() + 1)?;
        observe_account(self.core.book().held(), cells);
        Ok(())
    }

    /// Write the current observation into buffers of the caller and return the cash.
    ///
    /// Args:
    ///     closes: Shape `(n_symbols,)`, written: last closes, 0 for a symbol that is not listed.
    ///     positions: Shape `(n_symbols,)`, written: signed shares.
    ///     listed: Shape `(n_symbols,)`, written: 1 for a listed symbol.
    ///     history: Shape `(lookback, n_symbols * n_columns)`, written: windows, oldest first, 0 before a listing.
    ///     features: Shape `(n_symbols, n_features)`, written: observed columns with a value per symbol.
    ///     market_features: Shape `(n_features,)`, written: observed columns of the market.
    #[pyo3(signature = (closes, positions, listed, history=None, features=None, market_features=None))]
    fn observe_into(
        &self,
        mut closes: PyReadwriteArray1<'_, f64>,
        mut positions: PyReadwriteArray1<'_, f64>,
        mut listed: PyReadwriteArray1<'_, i8>,
        history: Option<PyReadwriteArray2<'_, f64>>,
        mut features: Option<PyReadwriteArray2<'_, f64>>,
        mut market_features: Option<PyReadwriteArray1<'_, f64>>,
    ) -> PyResult<f64> {
        let (n, mut cash) = (self.core.data().n_symbols(), [0.0]);
        let (closes, positions, listed) = (closes.as_slice_mut()?, positions.as_slice_mut()?, listed.as_slice_mut()?);
        let sizes = (closes.len(), positions.len(), listed.len());
        if sizes != (n, n, n) {
            let wanted = format!("buffers of {} are required", counted(n, "symbol"));
            return Err(raise("shape_mismatch", &format!("{wanted}; received {sizes:?}")));
        }
        let features = features.as_mut().map_or(Ok(&mut [][..]), |features| features.as_slice_mut())?;
        let market_features = market_features.as_mut().map_or(Ok(&mut [][..]), |features| features.as_slice_mut())?;
        let (book, market) = (self.core.book(), self.market());
        fits("features", features.len(), n * market.n_columns(FeatureScope::Symbol))?;
        fits("market_features", market_features.len(), market.n_columns(FeatureScope::Market))?;
        let mut arrays =
            DictArrays { closes, listed, positions, cash: &mut cash, history: &mut [], features, market_features };
        let Some(mut history) = history else {
            arrays.write(0, book.held(), market, 0);
            return Ok(cash[0]);
        };
        let mut rows = history.as_array_mut();
        let width = market.window_len(1);
        if rows.ncols() != width {
            let message = format!("`history` must have shape (lookback, {width}); received {:?}", rows.dim());
            return Err(raise("shape_mismatch", &message));
        }
        let mut cells = vec![0.0; rows.len()];
        arrays.history = &mut cells;
        arrays.write(0, book.held(), market, rows.nrows());
        // Cell by cell: the array of the caller may have any layout.
        rows.iter_mut().zip(cells).for_each(|(cell, close)| *cell = close);
        Ok(cash[0])
    }

    /// Return the info of the last array step.
    ///
    /// The fields are `nav`, `date`, `events`, `costs` by kind and the gains.
    fn info<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let info = PyDict::new(py);
        info.set_item("nav", self.core.book().nav())?;
        info.set_item("date", &*self.core.as_of().date())?;
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

    /// Figures of the last array step: arrays of shape `(1,)` by name.
    #[getter]
    fn figures<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        figure_arrays(py, &[self.core.figures()])
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

    /// Restore a checkpoint of this environment.
    ///
    /// Raises:
    ///     OpenOutcryError: `state_mismatch`: the checkpoint is of another market or window.
    fn restore_state(&mut self, state: &State) -> PyResult<()> {
        self.core.restore_state(&state.0).map_err(to_py)?;
        self.stepped = None;
        Ok(())
    }
}

fn fits(name: &str, received: usize, expected: usize) -> PyResult<()> {
    let message = || format!("`{name}` must have {}; received {received}", counted(expected, "element"));
    if received == expected { Ok(()) } else { Err(raise("shape_mismatch", &message())) }
}
