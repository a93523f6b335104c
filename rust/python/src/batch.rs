use std::sync::Arc;

use numpy::PyArrayMethods;
use numpy::{
    PyArray1, PyArray2, PyArray3, PyReadonlyArray1, PyReadonlyArray2, PyReadwriteArray, PyUntypedArrayMethods,
};
use openoutcry::batch::{Arrays, Autoreset, Batch as CoreBatch, Market, Outcome, Seen, Settings, Terms};
use openoutcry::{Reward, Window, Windows};
use pyo3::prelude::*;

use crate::arguments;
use crate::arrays;
use crate::dataset::Dataset;
use crate::error::{raise, to_py};
use crate::rules::{CostModel, Limits};

/// The arrays that a batch writes into, checked once.
#[pyclass(frozen, module = "openoutcry.openoutcry_py")]
pub struct Buffers {
    seen: Views,
    rewards: Py<PyArray1<f64>>,
    terminated: Py<PyArray1<bool>>,
    truncated: Py<PyArray1<bool>>,
    reset: Py<PyArray1<bool>>,
}

enum Views {
    Flat(Py<PyArray2<f32>>),
    Dict {
        closes: Py<PyArray2<f64>>,
        listed: Py<PyArray2<i8>>,
        positions: Py<PyArray2<f64>>,
        cash: Py<PyArray2<f64>>,
        history: Option<Py<PyArray3<f64>>>,
    },
    Cursor {
        bars: Py<PyArray1<i64>>,
        account: Py<PyArray2<f32>>,
    },
}

type Lent<'py, T, D> = PyReadwriteArray<'py, T, D>;

/// Borrowed arrays of one observation.
enum LentViews<'py> {
    Flat(Lent<'py, f32, numpy::Ix2>),
    Dict {
        closes: Lent<'py, f64, numpy::Ix2>,
        listed: Lent<'py, i8, numpy::Ix2>,
        positions: Lent<'py, f64, numpy::Ix2>,
        cash: Lent<'py, f64, numpy::Ix2>,
        history: Option<Lent<'py, f64, numpy::Ix3>>,
    },
    Cursor {
        bars: Lent<'py, i64, numpy::Ix1>,
        account: Lent<'py, f32, numpy::Ix2>,
    },
}

/// Borrows an array to be written, if it can be.
fn lend<'py, T: numpy::Element, D: numpy::ndarray::Dimension>(
    array: &Bound<'py, numpy::PyArray<T, D>>,
) -> PyResult<Lent<'py, T, D>> {
    if !array.is_c_contiguous() {
        return Err(raise("shape_mismatch", "an array to be written must be C-contiguous; received one with strides"));
    }
    let wanted = "an array to be written must be writeable and in nobody else's hands";
    array
        .try_readwrite()
        .map_err(|error| raise("shape_mismatch", &format!("{wanted}; received one that is not: {error}")))
}

/// Returns the elements of a borrowed array.
fn slice<'a, T: numpy::Element, D: numpy::ndarray::Dimension>(array: &'a mut Lent<'_, T, D>) -> PyResult<&'a mut [T]> {
    Ok(array.as_slice_mut()?)
}

impl Views {
    fn lend<'py>(&self, py: Python<'py>) -> PyResult<LentViews<'py>> {
        Ok(match self {
            Self::Flat(flat) => LentViews::Flat(lend(flat.bind(py))?),
            Self::Cursor { bars, account } => {
                LentViews::Cursor { bars: lend(bars.bind(py))?, account: lend(account.bind(py))? }
            }
            Self::Dict { closes, listed, positions, cash, history } => LentViews::Dict {
                closes: lend(closes.bind(py))?,
                listed: lend(listed.bind(py))?,
                positions: lend(positions.bind(py))?,
                cash: lend(cash.bind(py))?,
                history: history.as_ref().map(|history| lend(history.bind(py))).transpose()?,
            },
        })
    }
}

impl LentViews<'_> {
    fn seen(&mut self) -> PyResult<Seen<'_>> {
        Ok(match self {
            Self::Flat(flat) => Seen::Flat(slice(flat)?),
            Self::Cursor { bars, account } => Seen::Cursor { bars: slice(bars)?, account: slice(account)? },
            Self::Dict { closes, listed, positions, cash, history } => Seen::Dict(Arrays {
                closes: slice(closes)?,
                listed: slice(listed)?,
                positions: slice(positions)?,
                cash: slice(cash)?,
                history: match history {
                    Some(history) => slice(history)?,
                    None => &mut [],
                },
            }),
        })
    }
}

/// Take an array of the wanted type and number of axes, or refuse it by name.
fn taken<'py, T: numpy::Element, D: numpy::ndarray::Dimension>(
    name: &str,
    value: &Bound<'py, PyAny>,
) -> PyResult<Py<numpy::PyArray<T, D>>> {
    match value.cast::<numpy::PyArray<T, D>>() {
        Ok(array) => Ok(array.clone().unbind()),
        Err(_) => {
            let wanted = T::get_dtype(value.py()).str()?;
            let axes = D::NDIM.unwrap_or(0);
            let received = value.get_type().name()?;
            let dtype = value.getattr("dtype").map_or_else(|_| Ok(received), |dtype| dtype.str())?;
            let shape = value
                .getattr("shape")
                .map_or_else(|_| Ok("no shape".to_owned()), |shape| shape.repr().map(|s| s.to_string()))?;
            let message = format!("`{name}` must be an array of {wanted} with {axes} axes; received {dtype} {shape}");
            Err(raise("shape_mismatch", &message))
        }
    }
}

#[pymethods]
impl Buffers {
    /// Bind the arrays of flat observations and of outcomes.
    #[staticmethod]
    fn flat(flat: &Bound<'_, PyAny>, outcome: [Bound<'_, PyAny>; 4]) -> PyResult<Self> {
        Self::with(Views::Flat(taken("observations", flat)?), &outcome)
    }

    /// Bind the arrays of dict observations and of outcomes.
    #[staticmethod]
    #[pyo3(signature = (arrays, history, outcome))]
    fn dict(
        arrays: [Bound<'_, PyAny>; 4],
        history: Option<Bound<'_, PyAny>>,
        outcome: [Bound<'_, PyAny>; 4],
    ) -> PyResult<Self> {
        let [closes, listed, positions, cash] = &arrays;
        let seen = Views::Dict {
            closes: taken("closes", closes)?,
            listed: taken("listed", listed)?,
            positions: taken("positions", positions)?,
            cash: taken("cash", cash)?,
            history: history.map(|history| taken("history", &history)).transpose()?,
        };
        Self::with(seen, &outcome)
    }

    /// Bind the arrays of cursor observations and of outcomes.
    #[staticmethod]
    fn cursor(bars: &Bound<'_, PyAny>, account: &Bound<'_, PyAny>, outcome: [Bound<'_, PyAny>; 4]) -> PyResult<Self> {
        Self::with(Views::Cursor { bars: taken("cursor", bars)?, account: taken("account", account)? }, &outcome)
    }
}

impl Buffers {
    fn with(seen: Views, outcome: &[Bound<'_, PyAny>; 4]) -> PyResult<Self> {
        let [rewards, terminated, truncated, reset] = outcome;
        Ok(Self {
            seen,
            rewards: taken("rewards", rewards)?,
            terminated: taken("terminations", terminated)?,
            truncated: taken("truncations", truncated)?,
            reset: taken("reset", reset)?,
        })
    }
}

/// Many accounts that are stepped together.
#[pyclass(module = "openoutcry.openoutcry_py")]
pub struct Batch(CoreBatch);

/// How a batch is run: a dict of Python.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct Options {
    /// Per market: start, end, bars of a random episode or none, and the split.
    windows: Vec<(usize, usize, Option<usize>, String)>,
    autoreset: String,
    reward: String,
    reward_parameter: f64,
    lookback: usize,
    no_trade_band: f64,
    max_episode_steps: Option<usize>,
    threads: usize,
    seed: u64,
}

impl Options {
    fn settings(self) -> PyResult<Settings> {
        let windows = self.windows.into_iter().map(|(start, end, n_bars, split)| {
            let range = Window { start, end };
            n_bars.map_or(Windows::Fixed(range), |n_bars| Windows::Random { range, n_bars, split })
        });
        let autoreset = match self.autoreset.as_str() {
            "next_step" => Autoreset::NextStep,
            "same_step" => Autoreset::SameStep,
            _ => Autoreset::Disabled,
        };
        let reward = Reward::by_name(&self.reward, self.reward_parameter).ok_or_else(|| {
            let wanted = "one of simple, log, differential-sharpe (0 < rate < 1), drawdown, turnover (penalty >= 0)";
            let message = format!("`reward` must be {wanted}; received {} with {}", self.reward, self.reward_parameter);
            raise("argument_invalid", &message)
        })?;
        Ok(Settings {
            windows: windows.collect(),
            autoreset,
            reward,
            lookback: self.lookback,
            no_trade_band: self.no_trade_band,
            max_episode_steps: self.max_episode_steps.unwrap_or(usize::MAX),
            n_threads: self.threads,
            seed: self.seed,
        })
    }
}

#[pymethods]
impl Batch {
    /// Make one lane per entry of `lanes`: market, costs and limits.
    #[new]
    fn new(
        py: Python<'_>,
        datasets: Vec<Dataset>,
        lanes: Vec<(usize, CostModel, Limits)>,
        options: Options,
        #[pyo3(from_py_with = arguments::seed)] seed: u64,
    ) -> PyResult<Self> {
        let settings = options.settings()?;
        let lanes: Vec<_> =
            lanes.into_iter().map(|(i, costs, limits)| (i, Terms { costs: costs.0, limits: limits.0 })).collect();
        let made = py.detach(|| {
            let markets = datasets.iter().map(|dataset| Arc::new(Market::new(Arc::clone(&dataset.0)))).collect();
            CoreBatch::new(markets, &lanes, settings, seed)
        });
        Ok(Self(made.map_err(to_py)?))
    }

    /// Begin an episode in each lane of `mask`, or in all.
    #[pyo3(signature = (seed=None, mask=None))]
    fn reset(&mut self, seed: Option<u64>, mask: Option<PyReadonlyArray1<'_, bool>>) -> PyResult<()> {
        let mask = mask.map(|mask| mask.as_array().to_vec());
        self.0.reset(seed, mask.as_deref()).map_err(to_py)
    }

    /// Write what every lane may see.
    fn observe(&self, py: Python<'_>, buffers: &Buffers) -> PyResult<()> {
        let mut seen = buffers.seen.lend(py)?;
        self.0.observe(seen.seen()?).map_err(to_py)
    }

    /// Trade every lane and write what it led to; `last` gets what a lane saw before a reset of this step.
    #[pyo3(signature = (actions, hold, buffers, last=None))]
    fn step(
        &mut self,
        py: Python<'_>,
        actions: &Bound<'_, PyAny>,
        hold: Option<PyReadonlyArray2<'_, bool>>,
        buffers: &Buffers,
        last: Option<&Buffers>,
    ) -> PyResult<()> {
        let mut seen = buffers.seen.lend(py)?;
        let mut last = last.map(|last| last.seen.lend(py)).transpose()?;
        let mut rewards = lend(buffers.rewards.bind(py))?;
        let mut terminated = lend(buffers.terminated.bind(py))?;
        let mut truncated = lend(buffers.truncated.bind(py))?;
        let mut reset = lend(buffers.reset.bind(py))?;
        let outcome = Outcome {
            rewards: slice(&mut rewards)?,
            terminated: slice(&mut terminated)?,
            truncated: slice(&mut truncated)?,
            reset: slice(&mut reset)?,
        };
        let (seen, last) = (seen.seen()?, last.as_mut().map(LentViews::seen).transpose()?);
        // Copied while the GIL is held: Python code may write to the array once we detach.
        self.accept(actions, hold)?;
        py.detach(|| self.0.step(seen, last, outcome)).map_err(to_py)
    }

    /// Return the NAV of every lane.
    #[getter]
    fn nav<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        arrays::vector(py, (0..self.0.n_lanes()).map(|lane| self.0.book(lane).nav()).collect())
    }

    /// Return the cash of every lane.
    #[getter]
    fn cash<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        arrays::vector(py, (0..self.0.n_lanes()).map(|lane| self.0.book(lane).cash()).collect())
    }

    /// Return the bar of every lane.
    #[getter]
    fn bars<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i64>> {
        let bars = (0..self.0.n_lanes()).map(|lane| self.0.book(lane).bar() as i64);
        PyArray1::from_iter(py, bars)
    }

    /// Return the shares of every lane and symbol.
    #[getter]
    fn shares<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let (n_lanes, n_symbols) = (self.0.n_lanes(), self.0.n_symbols());
        let shares = (0..n_lanes).flat_map(|lane| (0..n_symbols).map(move |i| (lane, i)));
        arrays::matrix(py, shares.map(|(lane, i)| self.0.book(lane).shares(i)).collect(), n_lanes)
    }

    /// Return whether the episode of every lane is over.
    #[getter]
    fn done<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<bool>> {
        PyArray1::from_iter(py, (0..self.0.n_lanes()).map(|lane| self.0.is_done(lane)))
    }

    /// Return which symbols of every lane can be held.
    #[getter]
    fn tradable<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<bool>>> {
        let (n_lanes, n_symbols) = (self.0.n_lanes(), self.0.n_symbols());
        let cells = (0..n_lanes).flat_map(|lane| {
            let as_of = self.0.market(lane).data().as_of(self.0.book(lane).bar());
            (0..n_symbols).map(move |i| as_of.is_listed(i))
        });
        PyArray1::from_iter(py, cells).reshape([n_lanes, n_symbols])
    }
}

impl Batch {
    fn accept(&mut self, actions: &Bound<'_, PyAny>, hold: Option<PyReadonlyArray2<'_, bool>>) -> PyResult<()> {
        let shape = [self.0.n_lanes(), self.0.n_symbols()];
        let hold = match &hold {
            None => None,
            Some(hold) => Some(rows("hold", hold, shape)?),
        };
        if let Ok(actions) = actions.cast::<PyArray2<f32>>() {
            let actions = actions.try_readonly()?;
            return self.0.accept(rows("actions", &actions, shape)?, hold).map_err(to_py);
        }
        let taken = taken::<f64, numpy::Ix2>("actions", actions)?;
        let actions = taken.bind(actions.py()).try_readonly()?;
        self.0.accept(rows("actions", &actions, shape)?, hold).map_err(to_py)
    }
}

/// Returns the elements of an array row by row.
fn rows<'a, T: numpy::Element>(name: &str, array: &'a PyReadonlyArray2<'_, T>, shape: [usize; 2]) -> PyResult<&'a [T]> {
    if array.shape() != shape {
        let message = format!("`{name}` must have shape {shape:?}, lanes by symbols; received {:?}", array.shape());
        return Err(raise("shape_mismatch", &message));
    }
    array
        .as_array()
        .to_slice()
        .ok_or_else(|| raise("shape_mismatch", &format!("`{name}` must be C-contiguous; received one with strides")))
}
