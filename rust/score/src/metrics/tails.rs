use crate::error::{Statistic, Undefined, check};

/// Returns the percentile of `values` at `fraction` in [0, 1].
///
/// It interpolates linearly between order statistics.
///
/// # Errors
///
/// Undefined without values.
pub fn percentile(values: &[f64], fraction: f64) -> Statistic {
    check(values, 1)?;
    let sorted = sorted(values);
    let place = fraction * (sorted.len() - 1) as f64;
    let below = libm::floor(place);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a place between 0 and len - 1")]
    let index = below as usize;
    let above = sorted[(index + 1).min(sorted.len() - 1)];
    Ok(sorted[index] + (above - sorted[index]) * (place - below))
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
    let sorted = sorted(returns);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a place between 0 and len - 1")]
    let count = ((sorted.len() - 1) as f64 * tail) as usize + 1;
    Ok(sorted[..count].iter().sum::<f64>() / count as f64)
}

/// Returns |95th percentile| over |5th percentile|.
///
/// # Errors
///
/// Undefined without returns, or for a 5th percentile of 0.
pub fn tail_ratio(returns: &[f64]) -> Statistic {
    let low = percentile(returns, 0.05)?;
    if low == 0.0 {
        return Err(Undefined::NoLoss);
    }
    Ok(percentile(returns, 0.95)?.abs() / low.abs())
}

fn sorted(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted
}
