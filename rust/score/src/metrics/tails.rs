use crate::error::{Statistic, Undefined, check};

/// The percentiles of [`Tails`].
const LOW: f64 = 0.05;
const HIGH: f64 = 0.95;

/// Fewest returns of a sample that tells about where the tails begin.
const SAMPLE: usize = 4096;

/// The share of all returns by which a tail is taken to begin earlier.
///
/// Five standard errors of its share in a sample.
const MARGIN: f64 = 0.017;

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
        if let Some(tails) = Self::of_ends(returns) {
            return Ok(tails);
        }
        let mut values = returns.to_vec();
        let (var, cvar) = (percentile_in(&mut values, LOW), cvar_in(&mut values, LOW));
        Ok(Self { var, cvar, high: percentile_in(&mut values, HIGH) })
    }

    /// Returns the tails of many returns, from their lowest and highest alone.
    ///
    /// A sample tells about where the ends begin. `None` if it tells wrong, or for few returns.
    fn of_ends(returns: &[f64]) -> Option<Self> {
        if returns.len() < 4 * SAMPLE {
            return None;
        }
        let mut sample: Vec<f64> = returns.iter().step_by(returns.len() / SAMPLE).copied().collect();
        sample.sort_unstable_by(f64::total_cmp);
        let at = |fraction: f64| sample[place_of(fraction, sample.len()).0];
        let (below, above) = (at(LOW + MARGIN), at(HIGH - MARGIN));
        let (mut lowest, mut highest) = (Vec::new(), Vec::new());
        for value in returns {
            if *value <= below {
                lowest.push(*value);
            }
            if *value >= above {
                highest.push(*value);
            }
        }
        let (n, (last, part)) = (returns.len(), place_of(LOW, returns.len()));
        let (first, _) = place_of(HIGH, n);
        let is_wrong = lowest.len() < last + 2 || highest.len() < n - first || lowest.len() + highest.len() > n / 2;
        if is_wrong {
            return None;
        }
        lowest.sort_unstable_by(f64::total_cmp);
        let var = lowest[last] + (lowest[last + 1] - lowest[last]) * part;
        let cvar = lowest[..=last].iter().sum::<f64>() / (last + 1) as f64;
        let missing = n - highest.len();
        Some(Self { var, cvar, high: percentile_at(&mut highest, first - missing, place_of(HIGH, n).1) })
    }

    pub(crate) fn ratio(&self) -> Statistic {
        if self.var == 0.0 { Err(Undefined::NoLoss) } else { Ok(self.high.abs() / self.var.abs()) }
    }
}

/// Returns a percentile and reorders the values.
///
/// A selection takes linear time; sorting a million returns takes as long as running them.
fn percentile_in(values: &mut [f64], fraction: f64) -> f64 {
    let (index, part) = place_of(fraction, values.len());
    percentile_at(values, index, part)
}

/// Returns the place of a percentile among `n` sorted values.
///
/// It is an index, and the part of the way to the next.
fn place_of(fraction: f64, n: usize) -> (usize, f64) {
    let place = fraction * (n - 1) as f64;
    let below = libm::floor(place);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a place between 0 and len - 1")]
    let index = below as usize;
    (index, place - below)
}

/// Returns the value at a place among the sorted values, and reorders them.
fn percentile_at(values: &mut [f64], index: usize, part: f64) -> f64 {
    let (_, low, higher) = values.select_nth_unstable_by(index, f64::total_cmp);
    let above = higher.iter().copied().min_by(f64::total_cmp).unwrap_or(*low);
    *low + (above - *low) * part
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns numbers between 0 and 1 that repeat for no small step.
    fn draws(n: usize) -> impl Iterator<Item = f64> {
        (1..=n).scan(0.5_f64, |state, _| {
            *state = (*state * 1021.0 + 0.123_456_789).fract();
            Some(*state)
        })
    }

    fn bits(tails: Tails) -> [u64; 3] {
        [tails.var.to_bits(), tails.cvar.to_bits(), tails.high.to_bits()]
    }

    #[test]
    fn the_tails_of_many_returns_are_those_of_all_of_them() {
        let n = 40_009;
        let few = |value: f64| (value * 8.0).floor() - 4.0;
        let kinds: [Vec<f64>; 6] = [
            draws(n).map(|value| value - 0.5).collect(),
            draws(n).map(|value| if value < 0.06 { -value } else { 0.0 }).collect(),
            draws(n).map(|value| if value < 0.5 { -0.0 } else { 0.0 }).collect(),
            draws(n).map(few).collect(),
            (0..n).map(|bar| bar as f64).collect(),
            // The sample meets the even bars alone.
            (0..n).map(|bar| if bar % 2 == 0 { 1.0 } else { -(bar as f64) }).collect(),
        ];
        let mut from_ends = 0;
        for returns in kinds {
            let tails = Tails::of(&returns).unwrap();
            let mut values = returns.clone();
            let (var, cvar) = (percentile_in(&mut values, LOW), cvar_in(&mut values, LOW));
            assert_eq!(bits(tails), bits(Tails { var, cvar, high: percentile_in(&mut values, HIGH) }));
            from_ends += usize::from(Tails::of_ends(&returns).is_some());
        }
        assert_eq!(from_ends, 3);
    }
}
