use crate::error::{Statistic, Undefined, check, year};
use crate::metrics::moments::{Central, Moments};
use crate::metrics::ratios::annual_sharpe;
use crate::metrics::running_moments::WindowMoments;
use crate::metrics::sharpe_error::standard_error;

/// Returns the annual Sharpe ratio and its error in every window.
///
/// Oldest first, one pair per window, starting with returns `k` to `k + n_window - 1`. Each number may be undefined
/// separately. The time is linear in the returns for any window; numbers agree with those of each window alone to 1e-9.
///
/// # Errors
///
/// Undefined for windows of fewer than two returns or more than there are, an invalid return, or an invalid number of
/// bars per year.
pub fn rolling_sharpe(
    excess: &[f64],
    n_window: usize,
    periods_per_year: f64,
) -> Result<impl Iterator<Item = (Statistic, Statistic)>, Undefined> {
    year(periods_per_year)?;
    check(excess, n_window)?;
    if n_window < 2 {
        return Err(Undefined::TooShort { required: 2, received: n_window });
    }
    let pair = move |window: Central| {
        let error = window.moments().and_then(|moments| standard_error(&moments, periods_per_year));
        (annual_sharpe(&window, periods_per_year), error)
    };
    Ok(WindowMoments::of(excess, n_window).map(pair))
}

/// Returns the lowest of several statistics, and its index.
///
/// # Errors
///
/// Undefined if none is defined.
pub fn worst(statistics: impl IntoIterator<Item = Statistic>) -> Result<(f64, usize), Undefined> {
    let defined = statistics.into_iter().enumerate().filter_map(|(place, statistic)| Some((statistic.ok()?, place)));
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
