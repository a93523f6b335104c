use crate::error::{Statistic, Undefined, check};
use crate::metrics::moments::{mean, sharpe_per_bar, standard_deviation};

/// Returns the annual standard deviation.
///
/// # Errors
///
/// Undefined for fewer than two returns.
pub fn volatility(returns: &[f64], periods_per_year: f64) -> Statistic {
    Ok(standard_deviation(returns)? * periods_per_year.sqrt())
}

/// Returns the annual Sharpe ratio.
///
/// It is mean over sample standard deviation of excess returns, times the square root of bars per year.
///
/// # Errors
///
/// Undefined for fewer than two returns, or constant returns.
///
/// Source: Sharpe (1994).
pub fn sharpe(excess: &[f64], periods_per_year: f64) -> Statistic {
    Ok(sharpe_per_bar(excess)? * periods_per_year.sqrt())
}

/// Returns the annual Sortino ratio.
///
/// `target` is the required return per bar. The downside deviation divides by the number of all bars, not of losing
/// bars.
///
/// # Errors
///
/// Undefined without returns, or without a return below the target.
///
/// Source: Sortino and van der Meer (1991).
pub fn sortino(returns: &[f64], target: f64, periods_per_year: f64) -> Statistic {
    check(returns, 2)?;
    let below = returns.iter().map(|r| (r - target).min(0.0));
    let downside = (below.map(|d| d * d).sum::<f64>() / returns.len() as f64).sqrt();
    if downside == 0.0 {
        return Err(Undefined::NoLoss);
    }
    Ok((mean(returns)? - target) * periods_per_year / (downside * periods_per_year.sqrt()))
}
