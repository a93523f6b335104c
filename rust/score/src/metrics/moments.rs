use crate::error::{Statistic, Undefined, check, finite};

/// The smallest standard deviation per bar that counts as risk.
///
/// A smaller one is the rounding of constant returns.
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
/// Undefined for fewer than two values, or beyond the range of f64.
pub fn standard_deviation(values: &[f64]) -> Statistic {
    check(values, 2)?;
    let deviation = (central(values, 2)? * values.len() as f64 / (values.len() - 1) as f64).sqrt();
    finite(deviation)?;
    Ok(deviation)
}

/// Returns whether returns are constant except for rounding.
///
/// Such returns have no risk. Over a varying risk-free rate the track has a Sharpe ratio, but it measures the rate and
/// not the track.
#[must_use]
pub fn is_riskless(returns: &[f64]) -> bool {
    standard_deviation(returns).is_ok_and(|deviation| deviation < MIN_DEVIATION) || !varies(returns)
}

pub(crate) fn sharpe_per_bar(excess: &[f64]) -> Statistic {
    let deviation = standard_deviation(excess)?;
    if is_riskless(excess) { Err(Undefined::NoVariation) } else { Ok(mean(excess)? / deviation) }
}

/// Returns the population skewness.
///
/// # Errors
///
/// Undefined for fewer than two returns, or constant returns.
pub fn skew(values: &[f64]) -> Statistic {
    let variance = varying(values)?;
    over(central(values, 3)?, variance * variance.sqrt())
}

/// Returns the raw population kurtosis: 3 for a normal distribution.
///
/// # Errors
///
/// Undefined for fewer than two returns, or constant returns.
pub fn kurtosis(values: &[f64]) -> Statistic {
    let variance = varying(values)?;
    over(central(values, 4)?, variance * variance)
}

/// Returns a quotient, undefined if the divisor is not positive.
fn over(moment: f64, variation: f64) -> Statistic {
    if variation > 0.0 { Ok(moment / variation) } else { Err(Undefined::NoVariation) }
}

fn varying(values: &[f64]) -> Statistic {
    check(values, 2)?;
    if varies(values) { central(values, 2) } else { Err(Undefined::NoVariation) }
}

/// Returns whether the values differ.
///
/// The computed variance of equal values need not be exactly zero.
fn varies(values: &[f64]) -> bool {
    values.iter().any(|value| *value != values[0])
}

/// Returns the central moment of order 2, 3 or 4.
fn central(values: &[f64], order: u32) -> Statistic {
    let mean = mean(values)?;
    let power = |d: f64| (1..order).fold(d, |power, _| power * d);
    Ok(values.iter().map(|value| power(value - mean)).sum::<f64>() / values.len() as f64)
}

/// The moments of returns that determine the error of a Sharpe ratio, per bar.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Moments {
    /// Number of returns.
    pub n_returns: usize,
    /// Sharpe ratio per bar.
    pub sharpe: f64,
    /// Population skewness.
    pub skew: f64,
    /// Raw population kurtosis: 3 for a normal distribution.
    pub kurtosis: f64,
}

impl Moments {
    /// Returns the moments of excess returns.
    ///
    /// # Errors
    ///
    /// Undefined for fewer than two returns, or constant returns.
    pub fn of(excess: &[f64]) -> Result<Self, Undefined> {
        let sharpe = sharpe_per_bar(excess)?;
        Ok(Self { n_returns: excess.len(), sharpe, skew: skew(excess)?, kurtosis: kurtosis(excess)? })
    }

    /// Returns the moments of normal returns.
    #[must_use]
    pub fn normal(n_returns: usize, sharpe: f64) -> Self {
        Self { n_returns, sharpe, skew: 0.0, kurtosis: 3.0 }
    }

    /// Returns the variance of the Sharpe ratio times `n_returns - 1`.
    ///
    /// `1 - g3 SR + (g4 - 1) / 4 SR^2`.
    ///
    /// # Errors
    ///
    /// Undefined for fewer than two returns, or a variance that is not positive.
    ///
    /// Source: Mertens (2002).
    pub fn variance(&self) -> Statistic {
        if self.n_returns < 2 {
            return Err(Undefined::TooShort { required: 2, received: self.n_returns });
        }
        let variance = 1.0 - self.skew * self.sharpe + (self.kurtosis - 1.0) / 4.0 * self.sharpe * self.sharpe;
        if variance > 0.0 && variance.is_finite() { Ok(variance) } else { Err(Undefined::NoPrecision) }
    }

    /// Returns the square root of `n_returns - 1`.
    pub(crate) fn root(&self) -> f64 {
        (self.n_returns as f64 - 1.0).sqrt()
    }
}
