use crate::error::{Statistic, Undefined, check, year};
use crate::{is_riskless, mean, sharpe, standard_deviation};

/// Regression of a track on a benchmark: least squares with an intercept.
#[derive(Clone, Debug, PartialEq)]
pub struct Regression {
    /// Intercept: mean return per bar that the benchmark does not explain.
    pub alpha: f64,
    /// Slope: units of the benchmark held.
    pub beta: f64,
    /// Standard error of the intercept per bar.
    ///
    /// Undefined for fewer than three returns.
    pub alpha_error: Statistic,
    /// Share of the variance that the benchmark explains.
    ///
    /// Undefined for a constant track.
    pub r_squared: Statistic,
    /// Return less beta times that of the benchmark, per bar; its mean is alpha.
    pub active: Vec<f64>,
}

/// Returns the regression of a track on a benchmark of the same bars.
///
/// # Errors
///
/// Undefined for tracks of unequal lengths, fewer than two returns, or a constant benchmark, such as cash at a constant
/// rate: active returns are then the excess over it.
pub fn regress(returns: &[f64], benchmark: &[f64]) -> Result<Regression, Undefined> {
    paired(returns, benchmark)?;
    if is_riskless(benchmark) {
        return Err(Undefined::NoVariation);
    }
    let (n, own, others) = (returns.len() as f64, mean(returns)?, mean(benchmark)?);
    let pairs = || returns.iter().zip(benchmark).map(|(r, b)| (r - own, b - others));
    let spread: f64 = pairs().map(|(_, b)| b * b).sum();
    let beta = pairs().map(|(r, b)| r * b).sum::<f64>() / spread;
    let alpha = own - beta * others;
    let rest: f64 = pairs().map(|(r, b)| (r - beta * b) * (r - beta * b)).sum();
    let alpha_error = if returns.len() < 3 {
        Err(Undefined::TooShort { required: 3, received: returns.len() })
    } else {
        Ok((rest / (n - 2.0) * (1.0 / n + others * others / spread)).sqrt())
    };
    let varied: f64 = pairs().map(|(r, _)| r * r).sum();
    let r_squared = if is_riskless(returns) { Err(Undefined::NoVariation) } else { Ok(1.0 - rest / varied) };
    let active = returns.iter().zip(benchmark).map(|(r, b)| r - beta * b).collect();
    Ok(Regression { alpha, beta, alpha_error, r_squared, active })
}

/// Annual differences of a track from a benchmark.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tracking {
    /// Mean difference of returns.
    pub excess: f64,
    /// Standard deviation of the difference.
    pub tracking_error: f64,
    /// Excess over tracking error.
    pub information_ratio: f64,
}

/// Returns the annual differences of a track from a benchmark of the same bars.
///
/// # Errors
///
/// Undefined for tracks of unequal lengths, fewer than two returns, an invalid number of bars per year, or a difference
/// with a standard deviation below 1e-8 per bar: a copy of the benchmark has no information ratio.
///
/// Source: Goodwin (1998).
pub fn tracking(returns: &[f64], benchmark: &[f64], periods_per_year: f64) -> Result<Tracking, Undefined> {
    year(periods_per_year)?;
    paired(returns, benchmark)?;
    let difference: Vec<f64> = returns.iter().zip(benchmark).map(|(r, b)| r - b).collect();
    let information_ratio = sharpe(&difference, periods_per_year)?;
    Ok(Tracking {
        excess: mean(&difference)? * periods_per_year,
        tracking_error: standard_deviation(&difference)? * periods_per_year.sqrt(),
        information_ratio,
    })
}

fn paired(returns: &[f64], benchmark: &[f64]) -> Result<(), Undefined> {
    if returns.len() != benchmark.len() {
        return Err(Undefined::UnequalLengths { required: returns.len(), received: benchmark.len() });
    }
    check(returns, 2)?;
    check(benchmark, 2)
}
