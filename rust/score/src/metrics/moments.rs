use crate::skill::{Moments, standard_error};
use crate::{Statistic, Undefined, check};

/// The smallest standard deviation per bar that is risk.
///
/// Below it is the rounding of a constant return.
const MIN_DEVIATION: f64 = 1e-8;

/// Returns the arithmetic mean.
///
/// # Errors
///
/// Undefined without values.
pub fn mean(values: &[f64]) -> Statistic {
    check(values, 1)?;
    Ok(values.iter().sum::<f64>() / values.len() as f64)
}

/// Returns the sample standard deviation (ddof = 1).
///
/// # Errors
///
/// Undefined for fewer than two values.
pub fn standard_deviation(values: &[f64]) -> Statistic {
    check(values, 2)?;
    Ok((central(values, 2)? * values.len() as f64 / (values.len() - 1) as f64).sqrt())
}

/// Returns the standard deviation a year.
///
/// # Errors
///
/// Undefined for fewer than two returns.
pub fn volatility(returns: &[f64], periods_per_year: f64) -> Statistic {
    Ok(standard_deviation(returns)? * periods_per_year.sqrt())
}

/// Returns the Sharpe ratio a year.
///
/// It is mean over sample standard deviation of excess returns, times the root of bars a year.
///
/// # Errors
///
/// Undefined for fewer than two returns, or returns that do not vary.
///
/// Source: Sharpe (1994).
pub fn sharpe(excess: &[f64], periods_per_year: f64) -> Statistic {
    Ok(sharpe_per_bar(excess)? * periods_per_year.sqrt())
}

pub(crate) fn sharpe_per_bar(excess: &[f64]) -> Statistic {
    let deviation = standard_deviation(excess)?;
    if is_riskless(excess) { Err(Undefined::NoVariation) } else { Ok(mean(excess)? / deviation) }
}

/// Returns whether returns are constant but for rounding.
///
/// What such returns earn was earned without risk.
///
/// Over a risk-free rate that varies such a track has a Sharpe ratio, but it is one of the rate and not of the track.
#[must_use]
pub fn is_riskless(returns: &[f64]) -> bool {
    standard_deviation(returns).is_ok_and(|deviation| deviation < MIN_DEVIATION) || !varies(returns)
}

/// Returns the standard error of the Sharpe ratio a year.
///
/// It counts the skew and kurtosis of the returns.
///
/// `sqrt(ppy (1 - g3 SR + (g4 - 1) / 4 SR^2) / (T - 1))`, SR per bar.
///
/// # Errors
///
/// Undefined where the Sharpe ratio is, or where the variance comes out negative.
///
/// Source: Mertens (2002); Bailey and Lopez de Prado (2012).
pub fn sharpe_standard_error(excess: &[f64], periods_per_year: f64) -> Statistic {
    standard_error(&Moments::of(excess)?, periods_per_year)
}

/// Returns the Sortino ratio a year.
///
/// `target` is the return per bar that is asked for.
///
/// The downside deviation divides by the count of all bars, not of losing bars.
///
/// # Errors
///
/// Undefined without returns, or where none is below the target.
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

/// Returns the population skewness.
///
/// # Errors
///
/// Undefined for fewer than two returns, or returns that do not vary.
pub fn skew(values: &[f64]) -> Statistic {
    let variance = varying(values)?;
    over(central(values, 3)?, variance * variance.sqrt())
}

/// Returns the raw population kurtosis: 3 for a normal distribution.
///
/// # Errors
///
/// Undefined for fewer than two returns, or returns that do not vary.
pub fn kurtosis(values: &[f64]) -> Statistic {
    let variance = varying(values)?;
    over(central(values, 4)?, variance * variance)
}

/// Returns a quotient, undefined where what it divides by is too small.
fn over(moment: f64, variation: f64) -> Statistic {
    if variation > 0.0 { Ok(moment / variation) } else { Err(Undefined::NoVariation) }
}

fn varying(values: &[f64]) -> Statistic {
    check(values, 2)?;
    if varies(values) { central(values, 2) } else { Err(Undefined::NoVariation) }
}

/// Returns whether the values differ.
///
/// A computed variance of equal values need not be exactly zero.
fn varies(values: &[f64]) -> bool {
    values.iter().any(|value| *value != values[0])
}

/// Returns the central moment of an order of 2, 3 or 4.
fn central(values: &[f64], order: u32) -> Statistic {
    let mean = mean(values)?;
    let power = |d: f64| (1..order).fold(d, |power, _| power * d);
    Ok(values.iter().map(|value| power(value - mean)).sum::<f64>() / values.len() as f64)
}
