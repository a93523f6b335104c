use crate::error::{Statistic, Undefined, check, finite};
use crate::mean;

/// Returns the returns of a track at a common cost per turnover.
///
/// Paid costs are added back, and `cost_bps` of the turnover is subtracted, so that agents with different costs are
/// comparable. `cost` and `turnover` are shares of the NAV before the bar. To first order: paid costs are not
/// reinvested.
///
/// # Errors
///
/// Undefined if the lengths differ, or a number is not finite.
pub fn at_cost(returns: &[f64], cost: &[f64], turnover: &[f64], cost_bps: f64) -> Result<Vec<f64>, Undefined> {
    same_length(returns, cost)?;
    same_length(returns, turnover)?;
    finite(cost_bps)?;
    for series in [returns, cost, turnover] {
        check(series, 0)?;
    }
    let rows = returns.iter().zip(cost).zip(turnover);
    Ok(rows.map(|((r, paid), traded)| r + paid - traded * cost_bps / 1e4).collect())
}

/// Returns the cost of trading, in bps of turnover, at which the mean return is 0.
///
/// Below 0 for a track that loses before costs.
///
/// # Errors
///
/// Undefined without turnover, without returns, if lengths differ, or a number is not finite.
pub fn break_even_bps(returns: &[f64], cost: &[f64], turnover: &[f64]) -> Statistic {
    let gross = at_cost(returns, cost, turnover, 0.0)?;
    let traded = mean(turnover)?;
    if traded <= 0.0 {
        return Err(Undefined::NoTrade);
    }
    Ok(1e4 * mean(&gross)? / traded)
}

fn same_length(returns: &[f64], others: &[f64]) -> Result<(), Undefined> {
    let (required, received) = (returns.len(), others.len());
    if required == received { Ok(()) } else { Err(Undefined::UnequalLengths { required, received }) }
}
