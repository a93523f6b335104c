use std::sync::Arc;

use numpy::{
    IntoPyArray, PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray3, PyUntypedArrayMethods,
};
use openoutcry::batch::{Batch as CoreBatch, Market, SlidingArray, Terms};
use openoutcry::{FeatureScope, counted};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::arguments;
use crate::arrays;
use crate::batch_options::{Options, observed_names};
use crate::costs::CostModel;
use crate::dataset::Dataset;
use crate::error::{raise, to_py};
use crate::limits::Limits;
use crate::output_arrays::{Buffers, Results, Shown, Sizes, Views, misfit, taken};
use crate::reward::figure_arrays;
use crate::step_records::record_arrays;

/// A batch of accounts that are stepped together.
///
/// One per entry of `lanes`: the index of its dataset, its costs and its limits. Lane i has the stream of episodes of
/// `seed + i`. See `openoutcry.vector.OpenOutcryVectorEnv`.
///
/// In `options`, `windows` has one entry per dataset: start, end, bars of a random episode or None, and the split.
/// `autoreset` is `next_step`, `same_step` or `disabled`; `observation`, for new arrays, is `flat`, `dict`, `history`
/// (a dict with history) or `cursor`; the others are `reward`, `reward_parameter`, `lookback`, `no_trade_band`,
/// `max_episode_steps`, `threads` and `seed`.
#[pyclass(module = "openoutcry.openoutcry_py")]
pub struct Batch {
    core: CoreBatch,
    shown: Shown,
    /// The lanes that were reset in the last step with new arrays.
    resets: Vec<bool>,
}

/// Lanes, and observed numbers, of a step below ten microseconds.
///
/// Such a step keeps the GIL: releasing and retaking it would take up to a tenth of the step.
const FEW: (usize, usize) = (128, 8192);

/// The return value of a step with new arrays.
///
/// The observation, the outcome of the step, and its flags.
type Made = (Py<PyAny>, Py<PyArray1<f64>>, Py<PyArray1<bool>>, Py<PyArray1<bool>>, Option<Py<PyArray1<bool>>>, u8);

#[pymethods]
impl Batch {
    /// Create one lane per entry of `lanes`: market, costs and limits.
    #[new]
    fn new(
        py: Python<'_>,
        datasets: Vec<Dataset>,
        lanes: Vec<(usize, CostModel, Limits)>,
        options: Options,
        #[pyo3(from_py_with = arguments::seed)] seed: u64,
    ) -> PyResult<Self> {
        let (shown, observed) = (options.shown(), observed_names(&options.features, &options.history, &options.scale)?);
        let has_records = options.records;
        let settings = options.settings()?;
        let lanes: Vec<_> =
            lanes.into_iter().map(|(i, costs, limits)| (i, Terms { costs: costs.0, limits: limits.0 })).collect();
        let made = py.detach(|| {
            // Lanes that trade one dataset share one market.
            let first = |dataset: &Dataset| datasets.iter().position(|other| Arc::ptr_eq(&other.0, &dataset.0));
            let firsts: Vec<usize> = datasets.iter().filter_map(first).collect();
            let mut markets: Vec<Arc<Market>> = Vec::with_capacity(datasets.len());
            for (i, dataset) in datasets.iter().enumerate() {
                let is_new = firsts[i] == i;
                markets.push(if is_new {
                    Arc::new(Market::observing(Arc::clone(&dataset.0), &observed)?)
                } else {
                    Arc::clone(&markets[firsts[i]])
                });
            }
            let lanes: Vec<_> = lanes.into_iter().map(|(market, terms)| (firsts[market], terms)).collect();
            CoreBatch::new(markets, &lanes, settings, seed)
        });
        let core = made.map_err(to_py)?;
        let core = if has_records { core.with_records() } else { core };
        Ok(Self { shown, resets: vec![false; core.n_lanes()], core })
    }

    /// Reset each lane of `mask`, or all lanes.
    ///
    /// With a seed, lane i starts the stream of `seed + i`.
    #[pyo3(signature = (seed=None, mask=None))]
    fn reset(&mut self, seed: Option<u64>, mask: Option<PyReadonlyArray1<'_, bool>>) -> PyResult<()> {
        let mask = mask.map(|mask| mask.as_array().to_vec());
        self.core.reset(seed, mask.as_deref()).map_err(to_py)
    }

    /// Set the seed of every lane, and the index of its next episode.
    fn set_streams(&mut self, streams: Vec<(u64, u64)>) -> PyResult<()> {
        if streams.len() != self.core.n_lanes() {
            let wanted = counted(self.core.n_lanes(), "stream");
            return Err(raise("shape_mismatch", &format!("`streams` must be {wanted}; received {}", streams.len())));
        }
        self.core.set_streams(&streams);
        Ok(())
    }

    /// Return the accounts and episodes of all lanes as bytes.
    fn save<'py>(&mut self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.core.save())
    }

    /// Restore the lanes of `save` of a batch with the same markets.
    fn restore(&mut self, saved: &[u8]) -> PyResult<()> {
        let message = "the saved lanes of a batch with the same markets are required; received others";
        if self.core.restore(saved) { Ok(()) } else { Err(raise("state_mismatch", message)) }
    }

    /// Index of the dataset of every lane.
    #[getter]
    fn markets(&self) -> Vec<usize> {
        (0..self.core.n_lanes()).map(|lane| self.core.market_index(lane)).collect()
    }

    /// Index of the dataset of the previous episode of every lane.
    #[getter]
    fn last_markets(&self) -> Vec<usize> {
        (0..self.core.n_lanes()).map(|lane| self.core.last_market(lane)).collect()
    }

    /// Seed of every lane, and the index of its next episode.
    #[getter]
    fn streams(&self) -> Vec<(u64, u64)> {
        (0..self.core.n_lanes()).map(|lane| self.core.stream(lane)).collect()
    }

    /// Set the datasets of next episodes, pairs of a lane and the index of a dataset.
    fn set_next_markets(&mut self, lanes: Vec<(usize, usize)>) -> PyResult<()> {
        self.core.set_next_markets(&lanes).map_err(to_py)
    }

    /// Costs, gains and events of the last step of every lane: arrays by name.
    ///
    /// Empty unless `records` was set.
    #[getter]
    fn records<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        record_arrays(py, self.core.records())
    }

    /// Write the observation of every lane.
    fn observe(&self, py: Python<'_>, buffers: &Buffers) -> PyResult<()> {
        buffers.lend(|views, turn, _| views.with(py, turn, |seen| self.core.observe(seen).map_err(to_py)))
    }

    /// Return the observation of every lane, in new arrays.
    fn observe_new(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let mut views = Views::fresh(py, self.shown, self.sizes());
        views.with(py, 0, |seen| self.core.observe(seen).map_err(to_py))?;
        views.observation(py)
    }

    /// Step every lane and write the results.
    ///
    /// `last` receives the final observation of each lane that this step resets. The returned number has bit 0 set if
    /// an episode ended, and bit 1 if the step reset a lane.
    ///
    /// Raises:
    ///     OpenOutcryError: an array is invalid, a weight is not finite, or an episode has ended; no lane has moved.
    #[pyo3(signature = (actions, hold, buffers, last=None))]
    fn step(
        &mut self,
        py: Python<'_>,
        actions: &Bound<'_, PyAny>,
        hold: Option<&Bound<'_, PyAny>>,
        buffers: &Buffers,
        last: Option<&Buffers>,
    ) -> PyResult<u8> {
        buffers.lend(|views, turn, results| self.advance(py, (actions, hold), (views, turn, results), last))
    }

    /// Step every lane and return the results in new arrays.
    ///
    /// Flat observations are written to `out`, if it is given. The values are the observation, rewards, terminations,
    /// truncations and resets, or None without a reset; then the number of `step`.
    #[pyo3(signature = (actions, hold, last=None, out=None))]
    fn step_new(
        &mut self,
        py: Python<'_>,
        actions: &Bound<'_, PyAny>,
        hold: Option<&Bound<'_, PyAny>>,
        last: Option<&Buffers>,
        out: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Made> {
        let sizes = self.sizes();
        let mut views = out.map_or_else(|| Ok(Views::fresh(py, self.shown, sizes)), |out| Views::given(out, sizes))?;
        let results = Results::fresh(py, self.core.n_lanes());
        let flags = self.advance(py, (actions, hold), (&mut views, 0, &results), last)?;
        let Results { rewards, terminated, truncated, .. } = results;
        let reset = (flags & 2 != 0).then(|| PyArray1::from_slice(py, &self.resets).unbind());
        Ok((views.observation(py)?, rewards, terminated, truncated, reset, flags))
    }

    /// Set the exits of the next step alone, None for none.
    ///
    /// Distances from the last closes, shape `(n_lanes, n_symbols, 2)`.
    ///
    /// Raises:
    ///     OpenOutcryError: the array has the wrong shape, or a distance is not in [-1, 1).
    fn set_brackets(&mut self, distances: Option<PyReadonlyArray3<'_, f64>>) -> PyResult<()> {
        let Some(distances) = distances else { return Ok(()) };
        let distances: Vec<f64> = distances.as_array().iter().copied().collect();
        self.core.set_brackets(&distances).map_err(to_py)
    }

    /// Length of a row of sliding observations, and the start column of each window.
    #[getter]
    fn sliding_layout(&self) -> (usize, Vec<usize>) {
        let sliding_array = SlidingArray::new(&self.core);
        (sliding_array.row_len(), (0..sliding_array.n_turns()).map(|turn| sliding_array.begin(turn)).collect())
    }

    /// NAV of every lane.
    #[getter]
    fn nav<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        arrays::vector(py, (0..self.core.n_lanes()).map(|lane| self.core.nav(lane)).collect())
    }

    /// Cash of every lane.
    #[getter]
    fn cash<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        arrays::vector(py, (0..self.core.n_lanes()).map(|lane| self.core.cash(lane)).collect())
    }

    /// Index of the bar of every lane.
    #[getter]
    fn bars<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i64>> {
        let bars = (0..self.core.n_lanes()).map(|lane| self.core.bar(lane) as i64);
        PyArray1::from_iter(py, bars)
    }

    /// Shares of every lane and symbol.
    #[getter]
    fn shares<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let Sizes { n_lanes, n_symbols, .. } = self.sizes();
        let shares = (0..n_lanes).flat_map(|lane| (0..n_symbols).map(move |i| (lane, i)));
        arrays::matrix(py, shares.map(|(lane, i)| self.core.shares(lane, i)).collect(), n_lanes)
    }

    /// Figures of the last step of every lane: arrays by name.
    ///
    /// Empty unless the reward is None.
    #[getter]
    fn figures<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        figure_arrays(py, self.core.figures())
    }

    /// Whether the episode of every lane has ended.
    #[getter]
    fn done<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<bool>> {
        PyArray1::from_iter(py, (0..self.core.n_lanes()).map(|lane| self.core.is_done(lane)))
    }

    /// NAV and bar at the end of the previous episodes of `lanes`.
    ///
    /// A lane whose previous episode did not end is refused.
    fn ended(&self, lanes: Vec<usize>) -> PyResult<Vec<(f64, usize)>> {
        let of = |lane: usize| (lane < self.core.n_lanes()).then(|| self.core.ended(lane)).flatten();
        let message = |lane| format!("`lanes` must have an ended episode; received {lane}");
        lanes.into_iter().map(|lane| of(lane).ok_or_else(|| raise("argument_invalid", &message(lane)))).collect()
    }

    /// The listed symbols of every lane.
    #[getter]
    fn tradable<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<bool>>> {
        let Sizes { n_lanes, n_symbols, .. } = self.sizes();
        let mut cells = Vec::with_capacity(n_lanes * n_symbols);
        for lane in 0..n_lanes {
            let as_of = self.core.market(lane).data().as_of(self.core.bar(lane));
            cells.extend((0..n_symbols).map(|symbol| as_of.is_listed(symbol)));
        }
        cells.into_pyarray(py).reshape([n_lanes, n_symbols])
    }

    /// Return the rows of a dataset, shape `(n_bars, bar_len)`, float32.
    ///
    /// A row has log returns, then observed columns.
    fn market_bars<'py>(&self, py: Python<'py>, market: usize) -> PyResult<Bound<'py, PyArray2<f32>>> {
        let lane = (0..self.core.n_lanes()).find(|lane| self.core.market_index(*lane) == market);
        let lane = lane.ok_or_else(|| raise("argument_invalid", "`market` must be a market of a lane"))?;
        let market = self.core.market(lane);
        market.bars().to_vec().into_pyarray(py).reshape([market.data().n_bars(), market.bar_len()])
    }
}

impl Batch {
    pub(crate) fn core(&self) -> &CoreBatch {
        &self.core
    }

    fn sizes(&self) -> Sizes {
        let (market, lookback) = (self.core.market(0), self.core.settings().lookback);
        Sizes {
            n_lanes: self.core.n_lanes(),
            n_symbols: self.core.n_symbols(),
            lookback,
            n_history: market.n_history(),
            n_features: [FeatureScope::Symbol, FeatureScope::Market].map(|scope| market.n_columns(scope)),
            flat_len: market.flat_len(lookback),
        }
    }

    fn advance(
        &mut self,
        py: Python<'_>,
        (actions, hold): (&Bound<'_, PyAny>, Option<&Bound<'_, PyAny>>),
        (views, turn, results): (&mut Views, usize, &Results),
        last: Option<&Buffers>,
    ) -> PyResult<u8> {
        let stepped = self.advance_once(py, (actions, hold), (views, turn, results), last);
        self.core.clear_brackets();
        stepped
    }

    fn advance_once(
        &mut self,
        py: Python<'_>,
        (actions, hold): (&Bound<'_, PyAny>, Option<&Bound<'_, PyAny>>),
        (views, turn, results): (&mut Views, usize, &Results),
        last: Option<&Buffers>,
    ) -> PyResult<u8> {
        // Copied while the GIL is held: Python code may write to the array after we detach.
        self.accept(actions, hold)?;
        let Sizes { n_lanes, flat_len, .. } = self.sizes();
        let is_brief = n_lanes <= FEW.0 && n_lanes * flat_len <= FEW.1;
        let core = &mut self.core;
        results.with(py, &mut self.resets, |outcome| {
            views.with(py, turn, |seen| {
                let Some(last) = last else {
                    let stepped = if is_brief {
                        core.step(seen, None, outcome)
                    } else {
                        py.detach(|| core.step(seen, None, outcome))
                    };
                    return stepped.map_err(to_py);
                };
                last.lend(|last, turn, _| {
                    last.with(py, turn, |last| py.detach(|| core.step(seen, Some(last), outcome)).map_err(to_py))
                })
            })
        })
    }

    fn accept(&mut self, actions: &Bound<'_, PyAny>, hold: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
        let shape = [self.core.n_lanes(), self.core.n_symbols()];
        // First, because it may run Python code before any element is read.
        arrays::unmasked("actions", actions)?;
        hold.map_or(Ok(()), |hold| arrays::unmasked("hold", hold))?;
        let hold = hold.map(|hold| taken::<bool, numpy::Ix2>("hold", hold)).transpose()?;
        let hold = hold.as_ref().map(|hold| hold.bind(actions.py()));
        let hold = hold.map(|hold| rows("hold", hold, shape)).transpose()?;
        if let Ok(actions) = actions.cast::<PyArray2<f32>>() {
            return self.core.accept(rows("actions", actions, shape)?, hold).map_err(to_py);
        }
        let Ok(actions) = actions.cast::<PyArray2<f64>>() else {
            return Err(misfit::<f32, numpy::Ix2>("actions", actions));
        };
        self.core.accept(rows("actions", actions, shape)?, hold).map_err(to_py)
    }
}

/// Returns the elements of an array row by row.
#[expect(unsafe_code, reason = "the flags of rust-numpy cost more than a step")]
fn rows<'a, T: numpy::Element>(name: &str, array: &'a Bound<'_, PyArray2<T>>, shape: [usize; 2]) -> PyResult<&'a [T]> {
    if array.shape() != shape {
        let message = format!("`{name}` must have shape {shape:?}, lanes by symbols; received {:?}", array.shape());
        return Err(raise("shape_mismatch", &message));
    }
    if !array.is_c_contiguous() {
        return Err(raise("shape_mismatch", &format!("`{name}` must be C-contiguous; received an array with strides")));
    }
    // SAFETY: the array is alive and contiguous, and it is read while the GIL is held.
    unsafe { array.as_slice() }.map_err(|error| raise("shape_mismatch", &format!("`{name}` must be aligned: {error}")))
}
