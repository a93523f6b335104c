use crate::error::{Statistic, Undefined, check, year};
use crate::metrics::moments::Moments;
use crate::metrics::sharpe_error::standard_error;
use crate::sharpe;

/// Returns the Sharpe ratio a year of every window of `n_window` returns.
///
/// Oldest first: one value a window, that of returns `k` to `k + n_window - 1` first; each undefined on its own.
///
/// # Errors
///
/// Undefined for windows of fewer than two returns or more than there are, with a return that is none, or bars a year
/// that are none.
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

/// Returns the lowest of some statistics, and its place.
///
/// # Errors
///
/// Undefined where none is defined.
pub fn worst(statistics: &[Statistic]) -> Result<(f64, usize), Undefined> {
    let defined = statistics.iter().enumerate().filter_map(|(place, statistic)| Some((statistic.ok()?, place)));
    let lowest = defined.min_by(|a, b| a.0.total_cmp(&b.0));
    lowest.ok_or(Undefined::TooShort { required: 1, received: 0 })
}

/// What is left of a Sharpe ratio on returns that it was not chosen on, a year.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Decay {
    /// Ratio on the returns it was chosen on.
    pub in_sample: f64,
    /// Ratio on the others.
    pub out_of_sample: f64,
    /// Share of the ratio that is gone; below 0 where it grew.
    ///
    /// Undefined unless there was one above 0.
    pub decay: Statistic,
    /// Standard errors of the difference between the two.
    pub z: Statistic,
}

/// Returns what is left of a Sharpe ratio on returns that it was not chosen on.
///
/// # Errors
///
/// Undefined where one of the ratios is, or bars a year are none.
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
