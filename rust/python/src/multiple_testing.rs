//! Binds the tests of a field of agents.

use numpy::{PyArray1, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use openoutcry_score::{Draws, Interval, Panel, TestError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::error::to_py;
use crate::{arguments, arrays};

/// Returns of agents, copied, and the lengths of their windows.
struct Returns {
    values: Vec<f64>,
    n_agents: usize,
    windows: Vec<usize>,
}

impl Returns {
    fn new(returns: &PyReadonlyArray2<'_, f64>, windows: Vec<usize>) -> Self {
        // Copied while the GIL is held: Python code may write after we detach.
        Self { values: returns.as_array().iter().copied().collect(), n_agents: returns.shape()[1], windows }
    }

    /// Calls `test` on the panel without the GIL.
    fn test<T: Send>(
        &self,
        py: Python<'_>,
        test: impl Send + FnOnce(&Panel<'_>) -> Result<T, TestError>,
    ) -> PyResult<T> {
        let tested = || test(&Panel::new(&self.values, self.n_agents, &self.windows)?);
        py.detach(tested).map_err(to_py)
    }
}

/// Return the mean block length of the stationary bootstrap, over all agents.
///
/// `returns` has shape `(n_days, n_agents)`; `windows` has the days of each window. With `of_sharpe` it is optimal for
/// Sharpe ratios, else for means.
#[pyfunction]
#[pyo3(signature = (returns, windows, *, of_sharpe=false))]
pub(crate) fn block_length(
    py: Python<'_>,
    returns: PyReadonlyArray2<'_, f64>,
    windows: Vec<usize>,
    of_sharpe: bool,
) -> PyResult<f64> {
    let estimate = if of_sharpe { openoutcry_score::sharpe_block_length } else { openoutcry_score::block_length };
    Returns::new(&returns, windows).test(py, |panel| Ok(estimate(panel)?))
}

/// Test whether the mean of one agent is above 0.
///
/// The values are the mean per day, its p-value, the p-value of the signs of windows or None, and the mean block
/// length.
#[pyfunction]
#[pyo3(signature = (returns, windows, *, n_draws, seed, block_length=None))]
pub(crate) fn mean_test(
    py: Python<'_>,
    returns: PyReadonlyArray2<'_, f64>,
    windows: Vec<usize>,
    #[pyo3(from_py_with = arguments::n_draws)] n_draws: usize,
    #[pyo3(from_py_with = arguments::seed)] seed: u64,
    block_length: Option<f64>,
) -> PyResult<(f64, f64, Option<f64>, f64)> {
    let draws = Draws { n: n_draws, seed, block_length };
    let test = Returns::new(&returns, windows).test(py, |panel| openoutcry_score::mean_test(panel, &draws))?;
    Ok((test.mean, test.p_value, test.sign_flip, test.block_length))
}

/// Return an interval of a Sharpe ratio, or of the difference of two.
///
/// The values are the estimate, its standard error, both ends, the p-value of 0, and the block length.
#[pyfunction]
#[pyo3(signature = (returns, windows, *, periods_per_year, level, n_draws, seed, block_length=None))]
#[expect(clippy::too_many_arguments, reason = "Python gives them by name")]
pub(crate) fn sharpe_interval(
    py: Python<'_>,
    returns: PyReadonlyArray2<'_, f64>,
    windows: Vec<usize>,
    #[pyo3(from_py_with = arguments::periods_per_year)] periods_per_year: f64,
    level: f64,
    #[pyo3(from_py_with = arguments::n_draws)] n_draws: usize,
    #[pyo3(from_py_with = arguments::seed)] seed: u64,
    block_length: Option<f64>,
) -> PyResult<(f64, f64, f64, f64, f64, usize)> {
    let draws = Draws { n: n_draws, seed, block_length };
    let of =
        if returns.shape()[1] == 2 { openoutcry_score::sharpe_difference } else { openoutcry_score::sharpe_interval };
    let Interval { estimate, standard_error, low, high, p_value, block_length } =
        Returns::new(&returns, windows).test(py, |panel| of(panel, periods_per_year, level, &draws))?;
    Ok((estimate, standard_error, low, high, p_value, block_length))
}

/// Return the tests of a field of agents by name.
///
/// Tests of each agent have shape `(n_agents,)`; all others are numbers.
#[pyfunction]
#[pyo3(signature = (returns, windows, *, n_draws, seed, block_length=None))]
pub(crate) fn field_tests<'py>(
    py: Python<'py>,
    returns: PyReadonlyArray2<'py, f64>,
    windows: Vec<usize>,
    #[pyo3(from_py_with = arguments::n_draws)] n_draws: usize,
    #[pyo3(from_py_with = arguments::seed)] seed: u64,
    block_length: Option<f64>,
) -> PyResult<Bound<'py, PyDict>> {
    let draws = Draws { n: n_draws, seed, block_length };
    let tests = Returns::new(&returns, windows).test(py, |panel| openoutcry_score::field_tests(panel, &draws))?;
    let found = PyDict::new(py);
    found.set_item("reality_check", tests.reality_check)?;
    found.set_item("spa_lower", tests.spa_lower)?;
    found.set_item("spa_consistent", tests.spa_consistent)?;
    found.set_item("spa_upper", tests.spa_upper)?;
    found.set_item("statistics", arrays::vector(py, tests.statistics))?;
    found.set_item("alone", arrays::vector(py, tests.alone))?;
    found.set_item("romano_wolf", arrays::vector(py, tests.romano_wolf))?;
    found.set_item("block_length", tests.block_length)?;
    Ok(found)
}

/// Return p-values adjusted for the family-wise error rate.
#[pyfunction]
pub(crate) fn holm<'py>(py: Python<'py>, p_values: PyReadonlyArray1<'py, f64>) -> PyResult<Bound<'py, PyArray1<f64>>> {
    Ok(arrays::vector(py, openoutcry_score::holm(&p_values.as_array().to_vec()).map_err(to_py)?))
}

/// Return p-values adjusted for the false discovery rate.
#[pyfunction]
pub(crate) fn benjamini_hochberg<'py>(
    py: Python<'py>,
    p_values: PyReadonlyArray1<'py, f64>,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    Ok(arrays::vector(py, openoutcry_score::benjamini_hochberg(&p_values.as_array().to_vec()).map_err(to_py)?))
}

/// Return the probability of backtest overfitting, and the logit of each half.
#[pyfunction]
pub(crate) fn overfit<'py>(
    py: Python<'py>,
    returns: PyReadonlyArray2<'py, f64>,
    n_blocks: usize,
) -> PyResult<(f64, Bound<'py, PyArray1<f64>>)> {
    let windows = vec![returns.shape()[0]];
    let found = Returns::new(&returns, windows).test(py, |panel| openoutcry_score::overfit(panel, n_blocks))?;
    Ok((found.probability, arrays::vector(py, found.logits)))
}

/// The bands, the pairs as rows of five, and the block length.
type Bands = (Vec<Vec<usize>>, Vec<(usize, usize, f64, f64, f64)>, usize);

/// Return tie bands of agents by index, every pair, and the block length.
///
/// A pair is two indices, the difference of their Sharpe ratios, its p-value and the p-value adjusted for all pairs.
#[pyfunction]
#[pyo3(signature = (returns, windows, *, periods_per_year, level, n_draws, seed, rank_by=None, block_length=None))]
#[expect(clippy::too_many_arguments, reason = "Python gives them by name")]
pub(crate) fn tie_bands(
    py: Python<'_>,
    returns: PyReadonlyArray2<'_, f64>,
    windows: Vec<usize>,
    #[pyo3(from_py_with = arguments::periods_per_year)] periods_per_year: f64,
    level: f64,
    #[pyo3(from_py_with = arguments::n_draws)] n_draws: usize,
    #[pyo3(from_py_with = arguments::seed)] seed: u64,
    rank_by: Option<Vec<f64>>,
    block_length: Option<f64>,
) -> PyResult<Bands> {
    let draws = Draws { n: n_draws, seed, block_length };
    let rank_by = rank_by.as_deref();
    let found = Returns::new(&returns, windows)
        .test(py, |panel| openoutcry_score::tie_bands(panel, periods_per_year, level, rank_by, &draws))?;
    let pair = |pair: &openoutcry_score::Pair| (pair.first, pair.second, pair.difference, pair.p_value, pair.adjusted);
    Ok((found.bands, found.pairs.iter().map(pair).collect(), found.block_length))
}
