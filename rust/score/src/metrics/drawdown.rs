use crate::error::{Statistic, Undefined};
use crate::{cagr, total_return};

/// Returns the drawdown of equity from its running maximum, per bar, at most 0.
///
/// The start counts as a peak.
#[must_use]
pub fn drawdowns(returns: &[f64]) -> Vec<f64> {
    let mut equity = 1.0;
    let path = returns.iter().map(|r| {
        equity *= 1.0 + r;
        equity
    });
    falls(1.0, path)
}

/// Returns the drawdown of NAV from its running maximum, per value, at most 0.
///
/// The first value must be above 0 and is a peak.
#[must_use]
pub fn drawdowns_of_nav(nav: &[f64]) -> Vec<f64> {
    falls(nav.first().copied().unwrap_or(1.0), nav.iter().copied())
}

fn falls(start: f64, path: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut peak = start;
    let fall = |value: f64| {
        peak = peak.max(value);
        value / peak - 1.0
    };
    path.map(fall).collect()
}

/// Returns the deepest drawdown, at most 0.
///
/// # Errors
///
/// Undefined without returns, or with one below -1.
pub fn max_drawdown(returns: &[f64]) -> Statistic {
    total_return(returns)?;
    Ok(drawdowns(returns).into_iter().fold(0.0, f64::min))
}

/// Returns the annual growth rate over the absolute value of the deepest drawdown.
///
/// # Errors
///
/// Undefined without returns or without a drawdown.
///
/// Source: Young (1991).
pub fn calmar(returns: &[f64], periods_per_year: f64) -> Statistic {
    let deepest = max_drawdown(returns)?;
    if deepest == 0.0 {
        return Err(Undefined::NoDrawdown);
    }
    Ok(cagr(returns, periods_per_year)? / deepest.abs())
}
