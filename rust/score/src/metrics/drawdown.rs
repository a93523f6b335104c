use crate::error::Statistic;
use crate::metrics::growth::Growth;

/// Returns the drawdown of equity from its running maximum, per bar, at most 0.
///
/// The start counts as a peak.
#[must_use]
pub fn drawdowns(returns: &[f64]) -> Vec<f64> {
    falls(1.0, equity(returns)).collect()
}

/// Returns the drawdown of NAV from its running maximum, per value, at most 0.
///
/// The first value must be above 0 and is a peak.
#[must_use]
pub fn drawdowns_of_nav(nav: &[f64]) -> Vec<f64> {
    falls(nav.first().copied().unwrap_or(1.0), nav.iter().copied()).collect()
}

/// Returns equity after each return, from 1.
fn equity(returns: &[f64]) -> impl Iterator<Item = f64> {
    returns.iter().scan(1.0, |equity, r| {
        *equity *= 1.0 + r;
        Some(*equity)
    })
}

fn falls(start: f64, path: impl Iterator<Item = f64>) -> impl Iterator<Item = f64> {
    let mut peak = start;
    path.map(move |value| {
        peak = peak.max(value);
        value / peak - 1.0
    })
}

/// Returns the deepest drawdown, at most 0.
///
/// # Errors
///
/// Undefined without returns, or with one below -1.
pub fn max_drawdown(returns: &[f64]) -> Statistic {
    Ok(Growth::of(returns)?.max_drawdown())
}

/// Returns the annual growth rate over the absolute value of the deepest drawdown.
///
/// # Errors
///
/// Undefined without returns or without a drawdown.
///
/// Source: Young (1991).
pub fn calmar(returns: &[f64], periods_per_year: f64) -> Statistic {
    Growth::of(returns)?.calmar(periods_per_year)
}
