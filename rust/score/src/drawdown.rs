use crate::{Statistic, Undefined, cagr, total_return};

/// Returns the fall of equity from its highest so far, per bar, at most 0.
///
/// The start counts as a peak.
#[must_use]
pub fn drawdowns(returns: &[f64]) -> Vec<f64> {
    let (mut equity, mut peak) = (1.0_f64, 1.0_f64);
    let fall = |r: &f64| {
        equity *= 1.0 + r;
        peak = peak.max(equity);
        equity / peak - 1.0
    };
    returns.iter().map(fall).collect()
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

/// Returns the growth rate a year over the size of the deepest drawdown.
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
