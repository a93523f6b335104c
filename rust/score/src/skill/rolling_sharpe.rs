use crate::error::{Statistic, Undefined, check, year};
use crate::metrics::moments::Moments;
use crate::metrics::sharpe_error::standard_error;
use crate::sharpe;

/// Returns the annual Sharpe ratio of every window of `n_window` returns.
///
/// Oldest first, one value per window, starting with returns `k` to `k + n_window - 1`. Each may be undefined
/// separately.
///
/// # Errors
///
/// Undefined for windows of fewer than two returns or more than there are, an invalid return, or an invalid number of
/// bars per year.
pub fn rolling_sharpe(excess: &[f64], n_window: usize, periods_per_year: f64) -> Result<Vec<Statistic>, Undefined> {
    year(periods_per_year)?;
    roll(excess, n_window, |window| sharpe(window, periods_per_year))
}

/// Returns the standard errors of the ratios of [`rolling_sharpe`], in its order.
///
/// # Errors
///
/// As of [`rolling_sharpe`].
pub fn rolling_error(excess: &[f64], n_window: usize, periods_per_year: f64) -> Result<Vec<Statistic>, Undefined> {
    year(periods_per_year)?;
    roll(excess, n_window, |window| standard_error(&Moments::of(window)?, periods_per_year))
}

fn roll(excess: &[f64], n_window: usize, of: impl Fn(&[f64]) -> Statistic) -> Result<Vec<Statistic>, Undefined> {
    check(excess, n_window)?;
    if n_window < 2 {
        return Err(Undefined::TooShort { required: 2, received: n_window });
    }
    Ok(excess.windows(n_window).map(of).collect())
}

/// Returns the lowest of several statistics, and its index.
///
/// # Errors
///
/// Undefined if none is defined.
pub fn worst(statistics: &[Statistic]) -> Result<(f64, usize), Undefined> {
    let defined = statistics.iter().enumerate().filter_map(|(place, statistic)| Some((statistic.ok()?, place)));
    let lowest = defined.min_by(|a, b| a.0.total_cmp(&b.0));
    lowest.ok_or(Undefined::TooShort { required: 1, received: 0 })
}

/// Decay of an annual Sharpe ratio out of sample.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Decay {
    /// Ratio in sample.
    pub in_sample: f64,
    /// Ratio out of sample.
    pub out_of_sample: f64,
    /// Share of the ratio that is lost; below 0 if it grew.
    ///
    /// Undefined unless the ratio in sample is above 0.
    pub decay: Statistic,
    /// Difference of the ratios in standard errors.
    pub z: Statistic,
}

/// Returns the decay of a Sharpe ratio out of sample.
///
/// # Errors
///
/// Undefined if one of the ratios is, or for an invalid number of bars per year.
pub fn decay(in_sample: &[f64], out_of_sample: &[f64], periods_per_year: f64) -> Result<Decay, Undefined> {
    year(periods_per_year)?;
    let (inside, outside) = (Moments::of(in_sample)?, Moments::of(out_of_sample)?);
    let year = periods_per_year.sqrt();
    let share = if inside.sharpe > 0.0 { Ok(1.0 - outside.sharpe / inside.sharpe) } else { Err(Undefined::NotAbove) };
    let error = |moments| standard_error(moments, periods_per_year);
    let z = match (error(&inside), error(&outside)) {
        (Ok(a), Ok(b)) => Ok((inside.sharpe - outside.sharpe) * year / (a * a + b * b).sqrt()),
        (Err(undefined), _) | (_, Err(undefined)) => Err(undefined),
    };
    Ok(Decay { in_sample: inside.sharpe * year, out_of_sample: outside.sharpe * year, decay: share, z })
}
