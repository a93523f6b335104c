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
    Central::of(values)?.standard_deviation()
}

/// Returns whether returns are constant except for rounding.
///
/// Such returns have no risk. Over a varying risk-free rate the track has a Sharpe ratio, but it measures the rate and
/// not the track.
#[must_use]
pub fn is_riskless(returns: &[f64]) -> bool {
    if shows_risk(&returns[..returns.len().min(SHOWN)], returns.len()) {
        return false;
    }
    match Central::of(returns) {
        Ok(central) => central.is_riskless(),
        Err(_) => !varies(returns),
    }
}

/// Returns that are read first: those of most series show that it has risk.
const SHOWN: usize = 4096;

/// Returns whether the first returns vary so much that all have risk.
///
/// The squares of all distances from the mean of all are at least those of a part from its own mean. The factor covers
/// rounding.
fn shows_risk(part: &[f64], n_returns: usize) -> bool {
    let squares = Central::of(part).map_or(0.0, |part| part.variance * part.n as f64);
    squares > 4.0 * MIN_DEVIATION * MIN_DEVIATION * n_returns as f64
}

/// Returns the population skewness.
///
/// # Errors
///
/// Undefined for fewer than two returns, or constant returns.
pub fn skew(values: &[f64]) -> Statistic {
    Central::of(values)?.skew()
}

/// Returns the raw population kurtosis: 3 for a normal distribution.
///
/// # Errors
///
/// Undefined for fewer than two returns, or constant returns.
pub fn kurtosis(values: &[f64]) -> Statistic {
    Central::of(values)?.kurtosis()
}

/// Returns a quotient, undefined if the divisor is not positive.
fn over(moment: f64, variation: f64) -> Statistic {
    if variation > 0.0 { Ok(moment / variation) } else { Err(Undefined::NoVariation) }
}

/// Returns whether the values differ.
fn varies(values: &[f64]) -> bool {
    values.iter().any(|value| *value != values[0])
}

/// The mean and the central moments of at least two finite values.
///
/// Each is a sum in the order of the values. One pass adds all three powers: its time is that of one sum.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Central {
    n: usize,
    mean: f64,
    variance: f64,
    third: f64,
    fourth: f64,
    /// Whether the values differ.
    ///
    /// The computed variance of equal values need not be exactly zero.
    varies: bool,
}

impl Central {
    /// Returns the moments of values.
    ///
    /// # Errors
    ///
    /// Undefined for fewer than two values.
    pub(crate) fn of(values: &[f64]) -> Result<Self, Undefined> {
        check(values, 2)?;
        let mean = mean(values)?;
        // -0.0 is the zero of `Iterator::sum`.
        let (mut second, mut third, mut fourth) = (-0.0, -0.0, -0.0);
        for value in values {
            let d = value - mean;
            second += d * d;
            third += d * d * d;
            fourth += d * d * d * d;
        }
        Ok(Self { varies: varies(values), ..Self::of_sums(values.len(), mean, [second, third, fourth]) })
    }

    /// Returns the moments of at least two values.
    ///
    /// The sums are of powers of the distances from the mean.
    pub(crate) fn of_sums(n: usize, mean: f64, [second, third, fourth]: [f64; 3]) -> Self {
        let count = n as f64;
        let (variance, third, fourth) = (second / count, third / count, fourth / count);
        Self { n, mean, variance, third, fourth, varies: variance > 0.0 }
    }

    pub(crate) fn standard_deviation(&self) -> Statistic {
        let deviation = (self.variance * self.n as f64 / (self.n - 1) as f64).sqrt();
        finite(deviation)?;
        Ok(deviation)
    }

    pub(crate) fn is_riskless(&self) -> bool {
        self.standard_deviation().is_ok_and(|deviation| deviation < MIN_DEVIATION) || !self.varies
    }

    /// Returns the mean over the standard deviation.
    pub(crate) fn sharpe_per_bar(&self) -> Statistic {
        let deviation = self.standard_deviation()?;
        if self.is_riskless() { Err(Undefined::NoVariation) } else { Ok(self.mean / deviation) }
    }

    pub(crate) fn skew(&self) -> Statistic {
        over(self.third, self.varying()? * self.variance.sqrt())
    }

    pub(crate) fn kurtosis(&self) -> Statistic {
        over(self.fourth, self.varying()? * self.variance)
    }

    fn varying(&self) -> Statistic {
        if self.varies { Ok(self.variance) } else { Err(Undefined::NoVariation) }
    }

    /// Returns the moments that determine the error of a Sharpe ratio.
    pub(crate) fn moments(&self) -> Result<Moments, Undefined> {
        let sharpe = self.sharpe_per_bar()?;
        Ok(Moments { n_returns: self.n, sharpe, skew: self.skew()?, kurtosis: self.kurtosis()? })
    }
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
        Central::of(excess)?.moments()
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
