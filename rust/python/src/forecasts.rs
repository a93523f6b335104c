//! Binds the statistics of forecasts.

use numpy::{PyArray1, PyReadonlyArray1};
use openoutcry_score::forecasts::{ForecastIntervals, Forecasts, PairedForecasts};
use openoutcry_score::{BadSetup, Draws};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::error::to_py;
use crate::{arguments, arrays};

pub(crate) fn add_to(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(forecast_effects, module)?)?;
    module.add_function(wrap_pyfunction!(forecast_intervals, module)?)?;
    module.add_function(wrap_pyfunction!(forecast_log_scores, module)?)?;
    module.add_function(wrap_pyfunction!(paired_forecasts, module)?)?;
    Ok(())
}

/// Forecasts, copied.
struct Copied {
    starts: Vec<usize>,
    markets: Vec<u32>,
    losses: Vec<f64>,
    n_markets: usize,
}

impl Copied {
    fn new(
        starts: Vec<usize>,
        markets: &PyReadonlyArray1<'_, u32>,
        losses: &PyReadonlyArray1<'_, f64>,
        n_markets: usize,
    ) -> Self {
        // Copied while the GIL is held: Python code may write after we detach.
        Self { starts, markets: markets.as_array().to_vec(), losses: losses.as_array().to_vec(), n_markets }
    }

    fn forecasts(&self) -> Result<Forecasts<'_>, BadSetup> {
        Forecasts::new(&self.starts, &self.markets, &self.losses, self.n_markets)
    }
}

/// Return the mean loss of each agent, adjusted for the markets of its forecasts.
///
/// `starts` has the index of the first forecast of each agent, then the number of all; markets of an agent ascend. An
/// agent that is not connected by markets with the largest group of agents has NaN.
#[pyfunction]
fn forecast_effects<'py>(
    py: Python<'py>,
    starts: Vec<usize>,
    markets: PyReadonlyArray1<'py, u32>,
    losses: PyReadonlyArray1<'py, f64>,
    n_markets: usize,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let copied = Copied::new(starts, &markets, &losses, n_markets);
    let effects = py
        .detach(|| copied.forecasts().map(|forecasts| openoutcry_score::forecasts::agent_effects(&forecasts)))
        .map_err(to_py)?;
    Ok(arrays::vector(py, effects))
}

/// Return bootstrap intervals of each agent, by name.
///
/// Each has shape `(n_agents,)`. Markets are resampled. Skill is 1 less the sum of losses over that of references.
/// Intervals are 95 % intervals. `best`, `top` and `holds` are shares of resamples: with the highest skill, with a rank
/// in the first 5 %, and with the rank of the sample or better.
#[pyfunction]
#[pyo3(signature = (starts, markets, losses, references, n_markets, *, n_draws, seed))]
#[expect(clippy::too_many_arguments, reason = "Python gives them by name")]
fn forecast_intervals<'py>(
    py: Python<'py>,
    starts: Vec<usize>,
    markets: PyReadonlyArray1<'py, u32>,
    losses: PyReadonlyArray1<'py, f64>,
    references: PyReadonlyArray1<'py, f64>,
    n_markets: usize,
    #[pyo3(from_py_with = arguments::n_draws)] n_draws: usize,
    #[pyo3(from_py_with = arguments::seed)] seed: u64,
) -> PyResult<Bound<'py, PyDict>> {
    let copied = Copied::new(starts, &markets, &losses, n_markets);
    let (references, draws) = (references.as_array().to_vec(), Draws { n: n_draws, seed, block_length: None });
    let resampled = || openoutcry_score::forecasts::forecast_intervals(&copied.forecasts()?, &references, &draws);
    let ForecastIntervals { loss_low, loss_high, skill_low, skill_high, rank_low, rank_high, best, top, holds } =
        py.detach(resampled).map_err(to_py)?;
    let found = PyDict::new(py);
    found.set_item("loss_low", arrays::vector(py, loss_low))?;
    found.set_item("loss_high", arrays::vector(py, loss_high))?;
    found.set_item("skill_low", arrays::vector(py, skill_low))?;
    found.set_item("skill_high", arrays::vector(py, skill_high))?;
    found.set_item("rank_low", arrays::vector(py, rank_low))?;
    found.set_item("rank_high", arrays::vector(py, rank_high))?;
    found.set_item("best", arrays::vector(py, best))?;
    found.set_item("top", arrays::vector(py, top))?;
    found.set_item("holds", arrays::vector(py, holds))?;
    Ok(found)
}

/// Return the mean log probability that each agent gave to the outcomes.
///
/// `probabilities` are in the order of the forecasts; an agent without any has NaN.
#[pyfunction]
fn forecast_log_scores<'py>(
    py: Python<'py>,
    starts: Vec<usize>,
    probabilities: PyReadonlyArray1<'py, f64>,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let probabilities = probabilities.as_array().to_vec();
    let scores = py.detach(|| openoutcry_score::forecasts::log_scores(&starts, &probabilities)).map_err(to_py)?;
    Ok(arrays::vector(py, scores))
}

/// Compare two agents by the differences of their losses.
///
/// The values are both ends of the 95 % interval of the mean difference, the share of resamples in which the first
/// agent has the lower loss, and the p-value of random signs. Differences are whole numbers of any unit, one per
/// market.
#[pyfunction]
#[pyo3(signature = (differences, *, n_draws, seed))]
fn paired_forecasts(
    py: Python<'_>,
    differences: PyReadonlyArray1<'_, i64>,
    #[pyo3(from_py_with = arguments::n_draws)] n_draws: usize,
    #[pyo3(from_py_with = arguments::seed)] seed: u64,
) -> PyResult<(f64, f64, f64, f64)> {
    let differences = differences.as_array().to_vec();
    let draws = Draws { n: n_draws, seed, block_length: None };
    let compared = py.detach(|| openoutcry_score::forecasts::paired_forecasts(&differences, &draws));
    let PairedForecasts { low, high, better, p_value } = compared.map_err(to_py)?;
    Ok((low, high, better, p_value))
}
