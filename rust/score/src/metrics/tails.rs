use crate::error::{Statistic, Undefined, check};

/// The percentiles of [`Tails`].
const LOW: f64 = 0.05;
const HIGH: f64 = 0.95;

/// Returns the percentile of `values` at `fraction` in [0, 1].
///
/// It interpolates linearly between order statistics.
///
/// # Errors
///
/// Undefined without values.
pub fn percentile(values: &[f64], fraction: f64) -> Statistic {
    check(values, 1)?;
    Ok(percentile_in(&mut values.to_vec(), fraction))
}

/// Returns the value at risk: the return that a fraction `tail` of bars is below.
///
/// # Errors
///
/// Undefined without returns.
pub fn var(returns: &[f64], tail: f64) -> Statistic {
    percentile(returns, tail)
}

/// Returns the mean of the `int((n - 1) tail) + 1` lowest returns.
///
/// # Errors
///
/// Undefined without returns.
pub fn cvar(returns: &[f64], tail: f64) -> Statistic {
    check(returns, 1)?;
    Ok(cvar_in(&mut returns.to_vec(), tail))
}

/// Returns |95th percentile| over |5th percentile|.
///
/// # Errors
///
/// Undefined without returns, or for a 5th percentile of 0.
pub fn tail_ratio(returns: &[f64]) -> Statistic {
    Tails::of(returns)?.ratio()
}

/// The tails of a series of at least one return.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tails {
    pub(crate) var: f64,
    pub(crate) cvar: f64,
    high: f64,
}

impl Tails {
    /// Returns the tails of returns, from one copy of them.
    ///
    /// # Errors
    ///
    /// Undefined without returns.
    pub(crate) fn of(returns: &[f64]) -> Result<Self, Undefined> {
        check(returns, 1)?;
        let mut values = returns.to_vec();
        let (var, cvar) = (percentile_in(&mut values, LOW), cvar_in(&mut values, LOW));
        Ok(Self { var, cvar, high: percentile_in(&mut values, HIGH) })
    }

    pub(crate) fn ratio(&self) -> Statistic {
        if self.var == 0.0 { Err(Undefined::NoLoss) } else { Ok(self.high.abs() / self.var.abs()) }
    }
}

/// Returns a percentile and reorders the values.
///
/// A selection takes linear time; sorting a million returns takes as long as running them.
fn percentile_in(values: &mut [f64], fraction: f64) -> f64 {
    let place = fraction * (values.len() - 1) as f64;
    let below = libm::floor(place);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a place between 0 and len - 1")]
    let index = below as usize;
    let (_, low, higher) = values.select_nth_unstable_by(index, f64::total_cmp);
    let above = higher.iter().copied().min_by(f64::total_cmp).unwrap_or(*low);
    *low + (above - *low) * (place - below)
}

/// Returns the mean of the lowest values, and reorders the values.
///
/// It adds in ascending order.
fn cvar_in(values: &mut [f64], tail: f64) -> f64 {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a place between 0 and len - 1")]
    let last = ((values.len() - 1) as f64 * tail) as usize;
    values.select_nth_unstable_by(last, f64::total_cmp);
    let lowest = &mut values[..=last];
    lowest.sort_unstable_by(f64::total_cmp);
    lowest.iter().sum::<f64>() / lowest.len() as f64
}
