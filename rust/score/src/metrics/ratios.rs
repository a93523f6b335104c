use crate::error::{Statistic, Undefined, check, year};
use crate::metrics::moments::{Central, mean};

/// Returns the annual standard deviation.
///
/// # Errors
///
/// Undefined for fewer than two returns, or without a known number of bars per year.
pub fn volatility(returns: &[f64], periods_per_year: f64) -> Statistic {
    annual_deviation(&Central::of(returns)?, periods_per_year)
}

pub(crate) fn annual_deviation(returns: &Central, periods_per_year: f64) -> Statistic {
    let deviation = returns.standard_deviation()?;
    year(periods_per_year)?;
    Ok(deviation * periods_per_year.sqrt())
}

/// Returns the annual Sharpe ratio.
///
/// It is mean over sample standard deviation of excess returns, times the square root of bars per year.
///
/// # Errors
///
/// Undefined for fewer than two returns, constant returns, or without a known number of bars per year.
///
/// Source: Sharpe (1994).
pub fn sharpe(excess: &[f64], periods_per_year: f64) -> Statistic {
    annual_sharpe(&Central::of(excess)?, periods_per_year)
}

pub(crate) fn annual_sharpe(excess: &Central, periods_per_year: f64) -> Statistic {
    let per_bar = excess.sharpe_per_bar()?;
    year(periods_per_year)?;
    Ok(per_bar * periods_per_year.sqrt())
}

/// Returns the annual Sortino ratio.
///
/// `target` is the required return per bar. The downside deviation divides by the number of all bars, not of losing
/// bars.
///
/// # Errors
///
/// Undefined without returns, without a return below the target, or without a known number of bars per year.
///
/// Source: Sortino and van der Meer (1991).
pub fn sortino(returns: &[f64], target: f64, periods_per_year: f64) -> Statistic {
    check(returns, 2)?;
    let below = returns.iter().map(|r| (r - target).min(0.0));
    let downside = (below.map(|d| d * d).sum::<f64>() / returns.len() as f64).sqrt();
    if downside == 0.0 {
        return Err(Undefined::NoLoss);
    }
    year(periods_per_year)?;
    Ok((mean(returns)? - target) * periods_per_year / (downside * periods_per_year.sqrt()))
}
