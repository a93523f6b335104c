//! Arrays that a batch writes to: new ones, and those that `buffers` binds.

use std::sync::{Arc, Mutex};

use numpy::ndarray::Dimension;
use numpy::{Element, Ix1, Ix2, Ix3, PyArray, PyArrayMethods, PyUntypedArrayMethods};
use openoutcry::batch::{DictArrays, ObservationArrays, Outcome, SlidingArray};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arrays::unmasked;
use crate::error::raise;

/// The kind of an observation.
#[derive(Clone, Copy)]
pub(crate) enum Shown {
    Flat,
    Dict {
        /// Whether there are windows.
        history: bool,
        /// Whether the listed symbols are shown.
        mask: bool,
    },
    Cursor,
}

/// Sizes of the arrays of a batch.
#[derive(Clone, Copy)]
pub(crate) struct Sizes {
    pub(crate) n_lanes: usize,
    pub(crate) n_symbols: usize,
    pub(crate) lookback: usize,
    /// Columns of the windows; 0 for closes without an axis of columns.
    pub(crate) n_history: usize,
    /// Features of a symbol, and of the market.
    pub(crate) n_features: [usize; 2],
    pub(crate) flat_len: usize,
}

/// Arrays of one observation.
pub(crate) enum Views {
    Flat(Py<PyArray<f32, Ix2>>),
    /// Rows of sliding windows.
    Sliding {
        rows: Py<PyArray<f32, Ix2>>,
        sliding_array: SlidingArray,
    },
    Dict {
        closes: Py<PyArray<f64, Ix2>>,
        listed: Py<PyArray<i8, Ix2>>,
        positions: Py<PyArray<f64, Ix2>>,
        cash: Py<PyArray<f64, Ix2>>,
        /// The last axis has symbols, and columns of each.
        history: Option<Py<PyArray<f64, Ix3>>>,
        /// Columns per symbol of `history`; 0 if they are no axis of their own.
        n_history: usize,
        mask: bool,
        features: Option<Py<PyArray<f64, Ix3>>>,
        market_features: Option<Py<PyArray<f64, Ix2>>>,
    },
    Cursor {
        bars: Py<PyArray<i64, Ix1>>,
        account: Py<PyArray<f32, Ix2>>,
    },
}

/// Arrays of the outcome of a step, one element per lane.
pub(crate) struct Results {
    pub(crate) rewards: Py<PyArray<f64, Ix1>>,
    pub(crate) terminated: Py<PyArray<bool, Ix1>>,
    pub(crate) truncated: Py<PyArray<bool, Ix1>>,
    /// Absent if an array is created only for a set flag.
    reset: Option<Py<PyArray<bool, Ix1>>>,
}

/// The output arrays of a batch, validated once.
///
/// They must be C-contiguous, writeable and disjoint. `outcome` is rewards (float64), terminations, truncations and
/// resets (bool), each of shape `(n_lanes,)`. As with `out=` of numpy, two threads must not write to one array at a
/// time.
#[pyclass(frozen, module = "openoutcry.openoutcry_py")]
pub struct Buffers {
    /// Shared by the turns of one sliding array.
    pub(crate) arrays: Arc<Mutex<(Views, Results)>>,
    /// The turn of a sliding array.
    pub(crate) turn: usize,
}

/// Returns the elements of an output array.
///
/// The borrow flags of rust-numpy cost 60 ns per array and step, and do not bind Python code.
#[expect(unsafe_code, clippy::mut_from_ref, reason = "arrays that are bound once are checked once")]
fn elements<'a, T: Element, D: Dimension>(array: &'a Bound<'_, PyArray<T, D>>) -> PyResult<&'a mut [T]> {
    if !array.is_c_contiguous() {
        return Err(raise("shape_mismatch", "an output array must be C-contiguous; received an array with strides"));
    }
    // SAFETY: the array is alive as long as the slice, and contiguous. `Buffers` binds writeable disjoint arrays and
    // lends them to one step at a time; new arrays have no other user.
    unsafe { array.as_slice_mut() }
        .map_err(|error| raise("shape_mismatch", &format!("an output array must be aligned: {error}")))
}

/// Returns an uninitialized array; every element must be written.
#[expect(unsafe_code, reason = "what is written over need not be cleared first")]
fn fresh<T: Element, D: Dimension>(
    py: Python<'_>,
    dims: impl numpy::ndarray::IntoDimension<Dim = D>,
) -> Py<PyArray<T, D>> {
    // SAFETY: the types are plain numbers, and a step writes every element before it is read.
    unsafe { PyArray::new(py, dims, false) }.unbind()
}

/// Returns windows with an axis of columns, or as they are for none.
fn by_column<'py>(history: &Bound<'py, PyArray<f64, Ix3>>, n_columns: usize) -> PyResult<Bound<'py, PyAny>> {
    if n_columns == 0 {
        return Ok(history.clone().into_any());
    }
    let shape = history.dims();
    Ok(history.reshape([shape[0], shape[1], shape[2] / n_columns, n_columns])?.into_any())
}

impl Views {
    /// Returns new arrays.
    pub(crate) fn fresh(py: Python<'_>, shown: Shown, sizes: Sizes) -> Self {
        let Sizes { n_lanes, n_symbols, lookback, n_history, n_features: [of_symbol, of_market], flat_len } = sizes;
        let cells = [n_lanes, n_symbols];
        match shown {
            Shown::Flat => Self::Flat(fresh(py, [n_lanes, flat_len])),
            Shown::Cursor => Self::Cursor { bars: fresh(py, [n_lanes]), account: fresh(py, [n_lanes, n_symbols + 1]) },
            Shown::Dict { history, mask } => Self::Dict {
                closes: fresh(py, cells),
                listed: fresh(py, cells),
                positions: fresh(py, cells),
                cash: fresh(py, [n_lanes, 1]),
                history: history.then(|| fresh(py, [n_lanes, lookback, n_symbols * n_history.max(1)])),
                n_history,
                mask,
                features: (of_symbol > 0).then(|| fresh(py, [n_lanes, n_symbols, of_symbol])),
                market_features: (of_market > 0).then(|| fresh(py, [n_lanes, of_market])),
            },
        }
    }

    /// Returns the array of flat observations of the caller.
    pub(crate) fn given(out: &Bound<'_, PyAny>, sizes: Sizes) -> PyResult<Self> {
        let (py, required) = (out.py(), [sizes.n_lanes, sizes.flat_len]);
        unmasked("out", out)?;
        let flat = written::<f32, Ix2>("out", out)?;
        if flat.bind(py).shape() != required {
            let message = format!("`out` must have shape {required:?}; received {:?}", flat.bind(py).shape());
            return Err(raise("shape_mismatch", &message));
        }
        let _held = borrowed(py, "out", &flat)?;
        Ok(Self::Flat(flat))
    }

    /// Returns the arrays in the form of a learner.
    pub(crate) fn observation(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let found = PyDict::new(py);
        match self {
            Self::Flat(flat) | Self::Sliding { rows: flat, .. } => return Ok(flat.clone_ref(py).into_any()),
            Self::Cursor { bars, account } => {
                found.set_item(intern!(py, "account"), account)?;
                found.set_item(intern!(py, "cursor"), bars)?;
            }
            Self::Dict { closes, listed, positions, cash, history, features, market_features, n_history, mask } => {
                found.set_item(intern!(py, "cash"), cash)?;
                found.set_item(intern!(py, "closes"), closes)?;
                if let Some(features) = features {
                    found.set_item(intern!(py, "features"), features)?;
                }
                if let Some(history) = history {
                    found.set_item(intern!(py, "history"), by_column(history.bind(py), *n_history)?)?;
                }
                if *mask {
                    found.set_item(intern!(py, "listed"), listed)?;
                }
                if let Some(features) = market_features {
                    found.set_item(intern!(py, "market_features"), features)?;
                }
                found.set_item(intern!(py, "positions"), positions)?;
            }
        }
        Ok(found.into_any().unbind())
    }

    /// Calls `write` with the elements of all arrays.
    ///
    /// For sliding rows, with those of a turn.
    pub(crate) fn with<R>(
        &mut self,
        py: Python<'_>,
        turn: usize,
        write: impl FnOnce(ObservationArrays<'_>) -> PyResult<R>,
    ) -> PyResult<R> {
        match self {
            Self::Sliding { rows, sliding_array } => {
                write(ObservationArrays::Sliding(sliding_array.seen(elements(rows.bind(py))?, turn)))
            }
            Self::Flat(flat) => write(ObservationArrays::Flat(elements(flat.bind(py))?)),
            Self::Cursor { bars, account } => write(ObservationArrays::Cursor {
                bars: elements(bars.bind(py))?,
                account: elements(account.bind(py))?,
            }),
            Self::Dict { closes, listed, positions, cash, history, features, market_features, .. } => {
                let history = history.as_ref().map(|history| history.bind(py));
                let features = features.as_ref().map(|features| features.bind(py));
                let market_features = market_features.as_ref().map(|features| features.bind(py));
                write(ObservationArrays::Dict(DictArrays {
                    closes: elements(closes.bind(py))?,
                    listed: elements(listed.bind(py))?,
                    positions: elements(positions.bind(py))?,
                    cash: elements(cash.bind(py))?,
                    history: history.map_or(Ok(&mut [][..]), elements)?,
                    features: features.map_or(Ok(&mut [][..]), elements)?,
                    market_features: market_features.map_or(Ok(&mut [][..]), elements)?,
                }))
            }
        }
    }
}

impl Results {
    /// Returns new arrays.
    pub(crate) fn fresh(py: Python<'_>, n_lanes: usize) -> Self {
        Self {
            rewards: fresh(py, [n_lanes]),
            terminated: fresh(py, [n_lanes]),
            truncated: fresh(py, [n_lanes]),
            reset: None,
        }
    }

    /// Calls `write` with the elements of all arrays.
    ///
    /// `resets` is a scratch array if none is bound. Returns the flags that any lane has set: 1 for an ended episode, 2
    /// for a reset.
    pub(crate) fn with(
        &self,
        py: Python<'_>,
        resets: &mut [bool],
        write: impl FnOnce(Outcome<'_>) -> PyResult<()>,
    ) -> PyResult<u8> {
        let rewards = elements(self.rewards.bind(py))?;
        let (terminated, truncated) = (elements(self.terminated.bind(py))?, elements(self.truncated.bind(py))?);
        let bound = self.reset.as_ref().map(|reset| reset.bind(py));
        let reset = bound.map_or(Ok(resets), elements)?;
        write(Outcome { rewards, terminated, truncated, reset })?;
        // Without an early exit the loop is vectorized.
        let any = |flags: &[bool]| flags.iter().fold(false, |any, flag| any | flag);
        Ok(u8::from(any(terminated) | any(truncated)) | u8::from(any(reset)) << 1)
    }
}

/// Returns an array of the expected type and number of axes, else an error.
pub(crate) fn taken<T: Element, D: Dimension>(name: &str, value: &Bound<'_, PyAny>) -> PyResult<Py<PyArray<T, D>>> {
    value.cast::<PyArray<T, D>>().map(|array| array.clone().unbind()).map_err(|_| misfit::<T, D>(name, value))
}

/// Returns the error of an array with the wrong type or number of axes.
pub(crate) fn misfit<T: Element, D: Dimension>(name: &str, value: &Bound<'_, PyAny>) -> PyErr {
    let described = || -> PyResult<String> {
        let (required, axes) = (T::get_dtype(value.py()).str()?, D::NDIM.unwrap_or(0));
        let received = match (value.getattr("dtype"), value.getattr("shape")) {
            (Ok(dtype), Ok(shape)) => format!("{} of shape {}", dtype.str()?, shape.repr()?),
            _ => value.get_type().name()?.to_string(),
        };
        Ok(format!("`{name}` must be an array of {required} with {axes} axes; received {received}"))
    };
    described().map_or_else(|error| error, |message| raise("shape_mismatch", &message))
}

/// Returns a writeable array.
pub(crate) fn written<T: Element, D: Dimension>(name: &str, value: &Bound<'_, PyAny>) -> PyResult<Py<PyArray<T, D>>> {
    let array = taken::<T, D>(name, value)?;
    if !array.bind(value.py()).is_c_contiguous() {
        let message = format!("`{name}` must be C-contiguous; received an array with strides");
        return Err(raise("shape_mismatch", &message));
    }
    Ok(array)
}

/// Refuses an array that is read-only, or overlaps a borrowed one.
pub(crate) fn borrowed<'py, T: Element, D: Dimension>(
    py: Python<'py>,
    name: &str,
    array: &Py<PyArray<T, D>>,
) -> PyResult<numpy::PyReadwriteArray<'py, T, D>> {
    array.bind(py).try_readwrite().map_err(|error| {
        let required = format!("`{name}` must be writeable and must not overlap another array");
        raise("shape_mismatch", &format!("{required}; received an array with the error: {error}"))
    })
}

impl Buffers {
    /// Binds validated arrays of observations, and validates those of outcomes.
    pub(crate) fn bound(py: Python<'_>, views: Views, outcome: &[Bound<'_, PyAny>; 4]) -> PyResult<Self> {
        let [rewards, terminated, truncated, reset] = outcome;
        let reset = written("reset", reset)?;
        let (terminated, truncated) = (written("terminations", terminated)?, written("truncations", truncated)?);
        let results = Results { rewards: written("rewards", rewards)?, terminated, truncated, reset: None };
        let _held = (
            borrowed(py, "rewards", &results.rewards)?,
            borrowed(py, "terminations", &results.terminated)?,
            borrowed(py, "truncations", &results.truncated)?,
            borrowed(py, "reset", &reset)?,
        );
        let results = Results { reset: Some(reset), ..results };
        Ok(Self { arrays: Arc::new(Mutex::new((views, results))), turn: 0 })
    }

    /// Lends the arrays to `write`, unless another thread has them.
    ///
    /// `write` receives the turn.
    pub(crate) fn lend<R>(&self, write: impl FnOnce(&mut Views, usize, &Results) -> PyResult<R>) -> PyResult<R> {
        let mut arrays = self.arrays.try_lock().map_err(|_| {
            raise(
                "shape_mismatch",
                "buffers must be used by one step at a time; received a concurrent step, or one that failed",
            )
        })?;
        let (views, results) = &mut *arrays;
        write(views, self.turn, results)
    }
}
