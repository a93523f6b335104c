use numpy::{PyArray1, PyReadonlyArray1, PyReadonlyArray2};
use openoutcry::counted;
use openoutcry_score::power::Board;
use openoutcry_score::skill::{self, Selection, Stated};
use openoutcry_score::{Moments, Statistic, Undefined, normal_distribution};
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arrays::{self, values};
use crate::error::raise;

/// Number of returns, Sharpe ratio per bar, skew and raw kurtosis.
type Given = (usize, f64, f64, f64);

/// Adds the functions of this file to the module.
pub(crate) fn add_to(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(annual_share, module)?)?;
    module.add_function(wrap_pyfunction!(at_cost, module)?)?;
    module.add_function(wrap_pyfunction!(break_even_bps, module)?)?;
    module.add_function(wrap_pyfunction!(calibrate, module)?)?;
    module.add_function(wrap_pyfunction!(decay, module)?)?;
    module.add_function(wrap_pyfunction!(deflate, module)?)?;
    module.add_function(wrap_pyfunction!(expected_max, module)?)?;
    module.add_function(wrap_pyfunction!(long_run_products, module)?)?;
    module.add_function(wrap_pyfunction!(min_backtest_years, module)?)?;
    module.add_function(wrap_pyfunction!(min_track_record, module)?)?;
    module.add_function(wrap_pyfunction!(moments, module)?)?;
    module.add_function(wrap_pyfunction!(normal_cdf, module)?)?;
    module.add_function(wrap_pyfunction!(normal_quantile, module)?)?;
    module.add_function(wrap_pyfunction!(power, module)?)?;
    module.add_function(wrap_pyfunction!(probabilistic_sharpe, module)?)?;
    module.add_function(wrap_pyfunction!(regress, module)?)?;
    module.add_function(wrap_pyfunction!(rolling_beta, module)?)?;
    module.add_function(wrap_pyfunction!(rolling_sharpe, module)?)?;
    module.add_function(wrap_pyfunction!(rolling_sortino, module)?)?;
    module.add_function(wrap_pyfunction!(rolling_volatility, module)?)?;
    module.add_function(wrap_pyfunction!(sharpe_errors, module)?)?;
    module.add_function(wrap_pyfunction!(tracking, module)?)?;
    module.add_function(wrap_pyfunction!(trials, module)?)?;
    Ok(())
}

pub(crate) fn refused(undefined: Undefined) -> PyErr {
    raise("argument_invalid", &undefined.to_string())
}

fn moments_of((n_returns, sharpe, skew, kurtosis): Given) -> Moments {
    Moments { n_returns, sharpe, skew, kurtosis }
}

/// The fields of a result by name, and the reason of each undefined one.
pub(crate) struct Fields<'py> {
    named: Bound<'py, PyDict>,
    undefined: Bound<'py, PyDict>,
}

impl<'py> Fields<'py> {
    pub(crate) fn new(py: Python<'py>) -> Self {
        Self { named: PyDict::new(py), undefined: PyDict::new(py) }
    }

    pub(crate) fn set(self, name: &str, value: impl IntoPyObjectExt<'py>) -> PyResult<Self> {
        self.named.set_item(name, value)?;
        Ok(self)
    }

    pub(crate) fn maybe(self, name: &str, value: Result<impl IntoPyObjectExt<'py>, Undefined>) -> PyResult<Self> {
        match value {
            Ok(value) => self.set(name, value),
            Err(reason) => {
                self.undefined.set_item(name, reason.to_string())?;
                self.set(name, None::<f64>)
            }
        }
    }

    pub(crate) fn statistics<const N: usize>(self, all: [(&str, Statistic); N]) -> PyResult<Self> {
        all.into_iter().try_fold(self, |fields, (name, value)| fields.maybe(name, value))
    }

    pub(crate) fn numbers<const N: usize>(self, all: [(&str, f64); N]) -> PyResult<Self> {
        all.into_iter().try_fold(self, |fields, (name, value)| fields.set(name, value))
    }

    pub(crate) fn with_reasons(self) -> PyResult<Bound<'py, PyDict>> {
        self.named.set_item("undefined", self.undefined)?;
        Ok(self.named)
    }
}

/// Return the probability that a standard normal variable is at most `x`.
#[pyfunction]
fn normal_cdf(x: f64) -> f64 {
    normal_distribution::cdf(x)
}

/// Return the quantile of a probability of the standard normal distribution.
///
/// Infinite at 0 and 1, NaN outside.
#[pyfunction]
fn normal_quantile(p: f64) -> f64 {
    normal_distribution::quantile(p)
}

/// Return the expected maximum of `n_trials` standard normal draws.
#[pyfunction]
fn expected_max(n_trials: u64) -> f64 {
    skill::expected_max(n_trials)
}

/// Return number, Sharpe ratio per bar, skew and kurtosis of excess returns.
#[pyfunction]
fn moments(excess: PyReadonlyArray1<'_, f64>) -> PyResult<Given> {
    let Moments { n_returns, sharpe, skew, kurtosis } = Moments::of(&values(&excess)).map_err(refused)?;
    Ok((n_returns, sharpe, skew, kurtosis))
}

/// Return the annual Sharpe ratio and its standard errors.
#[pyfunction]
#[pyo3(signature = (excess, periods_per_year, lags=None))]
fn sharpe_errors<'py>(
    py: Python<'py>,
    excess: PyReadonlyArray1<'py, f64>,
    periods_per_year: f64,
    lags: Option<usize>,
) -> PyResult<Bound<'py, PyDict>> {
    let excess = values(&excess);
    let moments = Moments::of(&excess).map_err(refused)?;
    let error = openoutcry_score::standard_error(&moments, periods_per_year).map_err(refused)?;
    let lags = lags.unwrap_or_else(|| openoutcry_score::default_lags(excess.len()));
    let hac = openoutcry_score::hac(&excess, periods_per_year, lags).map_err(refused)?;
    let fields = Fields::new(py).numbers([
        ("sharpe", moments.sharpe * periods_per_year.sqrt()),
        ("standard_error", error),
        ("hac_standard_error", hac.standard_error),
        ("autocorrelation", hac.autocorrelation),
    ])?;
    Ok(fields.set("lags", hac.lags)?.named)
}

/// Return the probability that a Sharpe ratio per bar is above another, and z.
#[pyfunction]
fn probabilistic_sharpe(moments: Given, benchmark: f64) -> PyResult<(f64, f64)> {
    let z = skill::z_score(&moments_of(moments), benchmark).map_err(refused)?;
    Ok((normal_distribution::cdf(z), z))
}

/// Return the minimum track record length of a Sharpe ratio above a benchmark.
#[pyfunction]
fn min_track_record(moments: Given, benchmark: f64, confidence: f64) -> PyResult<f64> {
    skill::min_track_record(&moments_of(moments), benchmark, confidence).map_err(refused)
}

/// Return the minimum backtest length in years for the best of many trials.
#[pyfunction]
fn min_backtest_years(n_trials: u64, sharpe: f64) -> PyResult<f64> {
    skill::min_backtest_years(n_trials, sharpe).map_err(refused)
}

/// Return statistics of the return series of trials, shape `(n_trials, n_returns)`.
#[pyfunction]
fn trials<'py>(py: Python<'py>, ledger: PyReadonlyArray2<'py, f64>) -> PyResult<Bound<'py, PyDict>> {
    let rows: Vec<Vec<f64>> = ledger.as_array().rows().into_iter().map(|row| row.to_vec()).collect();
    let tracks: Vec<&[f64]> = rows.iter().map(Vec::as_slice).collect();
    let found = py.detach(|| skill::trials(&tracks)).map_err(refused)?;
    let fields = Fields::new(py).set("n_trials", found.n_trials)?.set("n_returns", found.n_returns)?;
    fields.set("n_spread", found.n_spread)?.maybe("spread", found.spread)?.maybe("n_eff", found.n_eff)?.with_reasons()
}

/// Return a deflated Sharpe ratio with all of its inputs.
///
/// `n_returns` is the number of returns of each trial.
#[pyfunction]
fn deflate(
    py: Python<'_>,
    moments: Given,
    n_trials: u64,
    n_returns: usize,
    spread: Option<f64>,
    n_eff: Option<usize>,
) -> PyResult<Bound<'_, PyDict>> {
    let selection = Selection { n_trials, n_returns, spread, n_eff };
    let found = skill::deflate(&moments_of(moments), &selection).map_err(refused)?;
    let fields = Fields::new(py).set("n_trials", found.n_trials)?.set("n_eff", found.n_eff)?;
    let numbers = [("sigma", found.sigma), ("sr0", found.sr0), ("psr", found.psr), ("dsr", found.dsr), ("z", found.z)];
    Ok(fields.numbers(numbers)?.named)
}

/// Return the annual Sharpe ratio of every window with its error, and the worst.
#[pyfunction]
fn rolling_sharpe<'py>(
    py: Python<'py>,
    excess: PyReadonlyArray1<'py, f64>,
    n_window: usize,
    periods_per_year: f64,
) -> PyResult<Bound<'py, PyDict>> {
    let excess = values(&excess);
    let (mut ratios, mut errors) = (Vec::with_capacity(excess.len()), Vec::with_capacity(excess.len()));
    for (ratio, error) in skill::rolling_sharpe(&excess, n_window, periods_per_year).map_err(refused)? {
        ratios.push(ratio.unwrap_or(f64::NAN));
        errors.push(error.unwrap_or(f64::NAN));
    }
    let known = |ratio: &f64| if ratio.is_nan() { Err(Undefined::NoVariation) } else { Ok(*ratio) };
    let worst = skill::worst(ratios.iter().map(known));
    let fields =
        Fields::new(py).set("ratios", arrays::vector(py, ratios))?.set("errors", arrays::vector(py, errors))?;
    fields.maybe("worst", worst.map(|found| found.0))?.maybe("worst_at", worst.map(|found| found.1))?.with_reasons()
}

/// Return the beta of every window to its benchmark, NaN before the first.
///
/// `means` are those of the series; it is also NaN where the benchmark has a variance of at most `least`.
#[pyfunction]
fn rolling_beta<'py>(
    py: Python<'py>,
    excess: PyReadonlyArray1<'py, f64>,
    benchmark: PyReadonlyArray1<'py, f64>,
    means: (f64, f64),
    n_window: usize,
    least: f64,
) -> Bound<'py, PyArray1<f64>> {
    arrays::vector(py, skill::rolling_beta(&values(&excess), &values(&benchmark), means, n_window, least))
}

/// Return the annual volatility of every window, NaN before the first.
///
/// `mean` is that of all returns.
#[pyfunction]
fn rolling_volatility<'py>(
    py: Python<'py>,
    returns: PyReadonlyArray1<'py, f64>,
    mean: f64,
    n_window: usize,
    periods_per_year: f64,
) -> Bound<'py, PyArray1<f64>> {
    arrays::vector(py, skill::rolling_volatility(&values(&returns), mean, n_window, periods_per_year))
}

/// Return the annual Sortino ratio of every window, NaN where undefined.
#[pyfunction]
fn rolling_sortino<'py>(
    py: Python<'py>,
    excess: PyReadonlyArray1<'py, f64>,
    n_window: usize,
    periods_per_year: f64,
) -> Bound<'py, PyArray1<f64>> {
    arrays::vector(py, skill::rolling_sortino(&values(&excess), n_window, periods_per_year))
}

/// Return the long-run sum of products of the scores of a regression.
///
/// Row after row of a square with a row for the intercept and each column, with Bartlett weights over `lags`.
#[pyfunction]
fn long_run_products(
    residuals: PyReadonlyArray1<'_, f64>,
    columns: Vec<PyReadonlyArray1<'_, f64>>,
    lags: usize,
) -> Vec<f64> {
    let columns: Vec<_> = columns.iter().map(values).collect();
    let columns: Vec<&[f64]> = columns.iter().map(|column| &**column).collect();
    openoutcry_score::long_run_products(&values(&residuals), &columns, lags)
}

/// Return the regression of a return series on a benchmark.
#[pyfunction]
fn regress<'py>(
    py: Python<'py>,
    returns: PyReadonlyArray1<'py, f64>,
    benchmark: PyReadonlyArray1<'py, f64>,
) -> PyResult<Bound<'py, PyDict>> {
    let found = skill::regress(&values(&returns), &values(&benchmark)).map_err(refused)?;
    let fields = Fields::new(py).numbers([("alpha", found.alpha), ("beta", found.beta)])?;
    let fields = fields.statistics([("alpha_error", found.alpha_error), ("r_squared", found.r_squared)])?;
    fields.set("active", arrays::vector(py, found.active))?.with_reasons()
}

/// Return the annual tracking statistics of a return series and a benchmark.
#[pyfunction]
fn tracking<'py>(
    py: Python<'py>,
    returns: PyReadonlyArray1<'py, f64>,
    benchmark: PyReadonlyArray1<'py, f64>,
    periods_per_year: f64,
) -> PyResult<Bound<'py, PyDict>> {
    let found = skill::tracking(&values(&returns), &values(&benchmark), periods_per_year).map_err(refused)?;
    let fields = Fields::new(py).numbers([
        ("excess", found.excess),
        ("tracking_error", found.tracking_error),
        ("information_ratio", found.information_ratio),
    ])?;
    Ok(fields.named)
}

/// Return the decay of a Sharpe ratio out of sample.
#[pyfunction]
fn decay<'py>(
    py: Python<'py>,
    in_sample: PyReadonlyArray1<'py, f64>,
    out_of_sample: PyReadonlyArray1<'py, f64>,
    periods_per_year: f64,
) -> PyResult<Bound<'py, PyDict>> {
    let found = skill::decay(&values(&in_sample), &values(&out_of_sample), periods_per_year).map_err(refused)?;
    let fields = Fields::new(py).numbers([("in_sample", found.in_sample), ("out_of_sample", found.out_of_sample)])?;
    fields.statistics([("decay", found.decay), ("z", found.z)])?.with_reasons()
}

/// Return the returns of a series at a common cost per turnover.
#[pyfunction]
fn at_cost<'py>(
    py: Python<'py>,
    returns: PyReadonlyArray1<'py, f64>,
    cost: PyReadonlyArray1<'py, f64>,
    turnover: PyReadonlyArray1<'py, f64>,
    cost_bps: f64,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let found = skill::at_cost(&values(&returns), &values(&cost), &values(&turnover), cost_bps);
    Ok(arrays::vector(py, found.map_err(refused)?))
}

/// Return the cost of trading, in bps of turnover, at which the mean return is 0.
#[pyfunction]
fn break_even_bps(
    returns: PyReadonlyArray1<'_, f64>,
    cost: PyReadonlyArray1<'_, f64>,
    turnover: PyReadonlyArray1<'_, f64>,
) -> PyResult<f64> {
    skill::break_even_bps(&values(&returns), &values(&cost), &values(&turnover)).map_err(refused)
}

/// Return annual amounts as a share of the NAV before them.
#[pyfunction]
fn annual_share(
    amounts: PyReadonlyArray1<'_, f64>,
    nav: PyReadonlyArray1<'_, f64>,
    periods_per_year: f64,
) -> PyResult<f64> {
    let (amounts, nav) = (values(&amounts), values(&nav));
    if amounts.len() + 1 != nav.len() {
        let message = format!("`nav` must have {}; received {}", counted(amounts.len() + 1, "value"), nav.len());
        return Err(raise("shape_mismatch", &message));
    }
    let shares = openoutcry_score::share_of_nav(&amounts, &nav);
    openoutcry_score::annual_mean(&shares, periods_per_year).map_err(refused)
}

/// Return the calibration of stated confidence.
///
/// Each order is its confidence or None, its weight, the price of its fill and the close of that bar.
#[pyfunction]
fn calibrate(py: Python<'_>, orders: Vec<(Option<f64>, f64, f64, f64)>, n_bins: usize) -> PyResult<Bound<'_, PyDict>> {
    let stated = |(confidence, weight, fill, close)| Stated { confidence, weight, fill, close };
    let orders: Vec<Stated> = orders.into_iter().map(stated).collect();
    let found = skill::calibrate(&orders, n_bins).map_err(refused)?;
    let bin =
        |bin: &skill::Bin| (bin.low, bin.high, bin.n_orders, bin.confidence.ok(), bin.hit_rate.ok(), bin.interval.ok());
    let fields = Fields::new(py).set("n_stated", found.n_stated)?.set("n_absent", found.n_absent)?;
    let fields = fields.set("n_flat", found.n_flat)?.numbers([
        ("confidence", found.confidence),
        ("hit_rate", found.hit_rate),
        ("brier", found.brier),
        ("expected_error", found.expected_error),
    ])?;
    let bins: Vec<_> = found.bins.iter().map(bin).collect();
    fields.maybe("brier_skill", found.brier_skill)?.set("bins", bins)?.with_reasons()
}

/// Return the statistical power of a comparison of agents, and a sentence about it.
#[pyfunction]
fn power(
    py: Python<'_>,
    field: (usize, u64),
    periods_per_year: f64,
    sharpe: f64,
    size: f64,
    power: f64,
) -> PyResult<Bound<'_, PyDict>> {
    let (n_returns, n_agents) = field;
    let board = Board { n_returns, n_agents, periods_per_year, sharpe, size, power };
    let found = openoutcry_score::power::power(&board).map_err(refused)?;
    let fields = Fields::new(py).set("n_returns", n_returns)?.set("n_agents", n_agents)?.numbers([
        ("periods_per_year", periods_per_year),
        ("sharpe", sharpe),
        ("size", size),
        ("power", power),
        ("standard_error", found.standard_error),
        ("best_expected", found.best_expected),
        ("best_quantile", found.best_quantile),
        ("min_gap", found.min_gap),
        ("n_needed", found.n_needed),
        ("years_needed", found.years_needed),
        ("tracks_needed", found.tracks_needed),
    ])?;
    fields.maybe("min_sharpe", found.min_sharpe)?.set("sentence", found.sentence())?.with_reasons()
}
