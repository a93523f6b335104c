use openoutcry::{EpisodeStream, EpisodeWindows, Window};
use pyo3::prelude::*;

use crate::arguments::{self, Text};
use crate::batch_options::{episode_markets, windows};
use crate::error::{raise, to_py};

/// The windows of a stream of episodes.
///
/// The window of episode k is a function of the seed and k.
#[pyclass(module = "openoutcry.openoutcry_py")]
pub struct Episodes {
    windows: EpisodeWindows,
    stream: EpisodeStream,
}

#[pymethods]
impl Episodes {
    /// Draw from a range of bars; without `n_bars` every episode is the whole range.
    #[new]
    fn new(range: (usize, usize), n_bars: Option<usize>, split: Text, data_bars: usize) -> PyResult<Self> {
        let windows = windows(range.0, range.1, n_bars, split.0);
        windows.validate(data_bars).map_err(to_py)?;
        Ok(Self { windows, stream: EpisodeStream::default() })
    }

    /// Start the stream of a seed, before its first episode.
    fn seed(&mut self, #[pyo3(from_py_with = arguments::seed)] seed: u64) {
        self.stream = EpisodeStream::new(seed);
    }

    /// Seed of the stream, and index of the next episode.
    #[getter]
    fn place(&self) -> (u64, u64) {
        self.stream.place()
    }

    #[setter]
    fn set_place(&mut self, place: (u64, u64)) {
        self.stream = EpisodeStream::at(place.0, place.1);
    }

    /// Return the window of the next episode, as start and end.
    fn next(&mut self) -> (usize, usize) {
        let Window { start, end } = self.stream.next(&self.windows);
        (start, end)
    }
}

/// Return the index of the dataset of an episode, among `n`.
///
/// `kind` is `cycle` or `random`; streams of different splits share no draw.
#[pyfunction]
pub(crate) fn episode_market(kind: String, split: String, seed: u64, episode: u64, n: usize) -> PyResult<usize> {
    let drawn = (n > 0).then(|| episode_markets((kind, split)).map(|kind| kind.draw(seed, episode, n))).transpose()?;
    let message = "an episode needs a rule that draws from at least one dataset; received another";
    drawn.flatten().ok_or_else(|| raise("argument_invalid", message))
}

/// Return the bars of a window with optional start and end.
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
