//! The constructors of `Buffers`, which validate the arrays of the caller.

use std::sync::Arc;

use numpy::{Ix2, PyUntypedArrayMethods};
use openoutcry::batch::SlidingArray;
use pyo3::prelude::*;

use crate::batch::Batch;
use crate::error::raise;
use crate::output_arrays::{Buffers, Views, borrowed, written};

#[pymethods]
impl Buffers {
    /// Bind the array of flat observations and those of outcomes.
    ///
    /// The shape is `(n_lanes, lookback * bar_len + n_symbols + 1)`.
    #[staticmethod]
    fn flat(py: Python<'_>, flat: &Bound<'_, PyAny>, outcome: [Bound<'_, PyAny>; 4]) -> PyResult<Self> {
        let flat = written("observations", flat)?;
        let _held = borrowed(py, "observations", &flat)?;
        Self::bound(py, Views::Flat(flat), &outcome)
    }

    /// Bind the arrays of dict observations and those of outcomes.
    ///
    /// `arrays` is closes, listed, positions and cash; `optional` is history, features and features of the market. The
    /// columns of a history are in its last axis, symbol by symbol.
    #[staticmethod]
    fn dict(
        py: Python<'_>,
        arrays: [Bound<'_, PyAny>; 4],
        optional: [Option<Bound<'_, PyAny>>; 3],
        outcome: [Bound<'_, PyAny>; 4],
    ) -> PyResult<Self> {
        let [closes, listed, positions, cash] = &arrays;
        let closes = written("closes", closes)?;
        let listed = written("listed", listed)?;
        let positions = written("positions", positions)?;
        let cash = written("cash", cash)?;
        let [history, features, market_features] = optional;
        let history = history.map(|history| written("history", &history)).transpose()?;
        let features = features.map(|features| written("features", &features)).transpose()?;
        let market_features = market_features.map(|features| written("market_features", &features)).transpose()?;
        let _held = (
            borrowed(py, "closes", &closes)?,
            borrowed(py, "listed", &listed)?,
            borrowed(py, "positions", &positions)?,
            borrowed(py, "cash", &cash)?,
            history.as_ref().map(|history| borrowed(py, "history", history)).transpose()?,
            features.as_ref().map(|features| borrowed(py, "features", features)).transpose()?,
            market_features.as_ref().map(|features| borrowed(py, "market_features", features)).transpose()?,
        );
        let views = Views::Dict {
            closes,
            listed,
            positions,
            cash,
            history,
            n_history: 0,
            mask: true,
            features,
            market_features,
        };
        Self::bound(py, views, &outcome)
    }

    /// Bind the arrays of cursor observations and those of outcomes.
    ///
    /// The shapes are `(n_lanes,)` and `(n_lanes, n_symbols + 1)`.
    #[staticmethod]
    fn cursor(
        py: Python<'_>,
        bars: &Bound<'_, PyAny>,
        account: &Bound<'_, PyAny>,
        outcome: [Bound<'_, PyAny>; 4],
    ) -> PyResult<Self> {
        let (bars, account) = (written("cursor", bars)?, written("account", account)?);
        let _held = (borrowed(py, "cursor", &bars)?, borrowed(py, "account", &account)?);
        Self::bound(py, Views::Cursor { bars, account }, &outcome)
    }

    /// Bind the rows of sliding observations, and the arrays of outcomes.
    ///
    /// Returns one binding per start column of `Batch.sliding_layout`, in its order. They are for that batch only.
    /// Other writes to the rows change later observations.
    #[staticmethod]
    fn sliding(
        py: Python<'_>,
        batch: &Batch,
        rows: &Bound<'_, PyAny>,
        outcome: [Bound<'_, PyAny>; 4],
    ) -> PyResult<Vec<Self>> {
        let sliding_array = SlidingArray::new(batch.core());
        let (n_turns, required) = (sliding_array.n_turns(), [batch.core().n_lanes(), sliding_array.row_len()]);
        let rows = written::<f32, Ix2>("rows", rows)?;
        if rows.bind(py).shape() != required {
            let message = format!("`rows` must have shape {required:?}; received {:?}", rows.bind(py).shape());
            return Err(raise("shape_mismatch", &message));
        }
        let _held = borrowed(py, "rows", &rows)?;
        let Self { arrays, .. } = Self::bound(py, Views::Sliding { rows, sliding_array }, &outcome)?;
        Ok((0..n_turns).map(|turn| Self { arrays: Arc::clone(&arrays), turn }).collect())
    }
}
