//! Returns that no mix of earlier returns explains, at constant risk.
//!
//! A least-squares mix of all returns knows the mean of the benchmark in the sample. Exposure that rises after losses is
//! high where that mean is low, so such a mix overstates alpha (Stambaugh, 1999). An exposure that
//! falls after gains also keeps a lucky result from being diluted, as stopping does. Slopes and risk that are known
//! before each return leave a martingale instead, with a variance that does not depend on past results.

use crate::error::Undefined;
use crate::skill::passive_mix::{RETURNS_PER_SLOPE, check_all, rest};

/// Fewest returns of the first fit.
///
/// The first returns are fitted to themselves, so that none is lost.
const FIRST: usize = 63;

/// Share of the risk that the last return replaces: a half-life of 10 bars.
const FORGET: f64 = 0.067;

/// Smallest estimate of risk, as a share of that of the track.
///
/// An agent that seldom trades has no risk before most of its trades.
const LEAST_RISK: f64 = 0.3;

/// Returns a track less the mix that fits its earlier returns, at constant risk.
///
/// The mix is fitted again whenever the past is a quarter longer. The risk of a return is the root of the mean square
/// of the earlier ones, with exponential weights. The scale of the track is kept.
///
/// # Errors
///
/// As of [`unexplained`](super::unexplained).
pub fn unexplained_by_past(returns: &[f64], benchmarks: &[&[f64]]) -> Result<Vec<f64>, Undefined> {
    check_all(returns, benchmarks)?;
    let first = FIRST.max(RETURNS_PER_SLOPE * benchmarks.len()).min(returns.len());
    let mut active = rest(&returns[..first], &cut(benchmarks, first), first)?;
    while active.len() < returns.len() {
        let seen = active.len();
        let next = (seen + seen / 4).min(returns.len());
        active.extend(rest(&returns[..next], &cut(benchmarks, next), seen)?.drain(seen..));
    }
    Ok(at_constant_risk(&active, first))
}

fn cut<'a>(benchmarks: &[&'a [f64]], n: usize) -> Vec<&'a [f64]> {
    benchmarks.iter().map(|benchmark| &benchmark[..n]).collect()
}

/// Returns each value over the risk that earlier values show.
///
/// The first values show the risk at the start.
fn at_constant_risk(values: &[f64], first: usize) -> Vec<f64> {
    let mean_square = |of: &[f64]| of.iter().map(|value| value * value).sum::<f64>() / of.len() as f64;
    let overall = mean_square(values);
    if overall <= 0.0 {
        return values.to_vec();
    }
    let mut square = mean_square(&values[..first]);
    let scaled = |value: &f64| {
        let risk = (square / overall).sqrt().max(LEAST_RISK);
        square += FORGET * (value * value - square);
        value / risk
    };
    values.iter().map(scaled).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wave(n: usize, step: f64) -> Vec<f64> {
        (0..n).map(|bar| 0.01 * libm::sin(step * bar as f64) + 2e-4).collect()
    }

    #[test]
    fn a_return_depends_on_no_later_one_but_for_the_scale() {
        let (a, b, own) = (wave(600, 0.7), wave(600, 1.3), wave(600, 2.1));
        let later: Vec<f64> =
            own.iter().enumerate().map(|(bar, r)| if bar < 400 { *r } else { 3.0 * a[bar] }).collect();
        let (found, other) =
            (unexplained_by_past(&own, &[&a, &b]).unwrap(), unexplained_by_past(&later, &[&a, &b]).unwrap());
        let ratio = found[0] / other[0];
        assert!(found.iter().zip(&other).take(400).all(|(one, two)| (one / two / ratio - 1.0).abs() < 1e-9));
        assert!((found[450] / other[450] / ratio - 1.0).abs() > 0.1);
    }

    #[test]
    fn a_mix_leaves_nothing_and_a_change_of_size_changes_little() {
        let (a, b) = (wave(600, 0.7), wave(600, 1.3));
        let mix: Vec<f64> = a.iter().zip(&b).map(|(a, b)| 0.4 * a + 0.6 * b).collect();
        assert!(unexplained_by_past(&mix, &[&a, &b]).unwrap().iter().all(|rest| rest.abs() < 1e-15));
        let own = wave(600, 2.1);
        let sized: Vec<f64> = own.iter().enumerate().map(|(bar, r)| if bar < 300 { *r } else { 2.0 * r }).collect();
        let rest = unexplained_by_past(&sized, &[&a, &b]).unwrap();
        let power = |of: &[f64]| of.iter().map(|value| value * value).sum::<f64>();
        let (before, after) = (power(&rest[150..250]), power(&rest[450..550]));
        assert!((0.8..1.25).contains(&(after / before)), "{before} {after}");
    }

    #[test]
    fn series_that_no_mix_can_explain_are_undefined_as_without_a_past() {
        let (a, b, own) = (wave(29, 0.7), wave(29, 1.3), wave(29, 2.1));
        assert!(unexplained_by_past(&own, &[&a, &b]).is_err());
        assert!(unexplained_by_past(&own, &[&a[1..]]).is_err());
        assert_eq!(unexplained_by_past(&own, &[&a]).unwrap().len(), 29);
    }
}
