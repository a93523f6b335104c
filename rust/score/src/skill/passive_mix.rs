//! Returns that no mix of several benchmarks explains.

use crate::error::{Undefined, check};
use crate::{is_riskless, mean};

/// Share of its deviation below which a benchmark is a mix of those before it.
const COLLINEAR: f64 = 1e-6;

/// Fewest returns per slope.
pub(super) const RETURNS_PER_SLOPE: usize = 15;

/// Returns a track less its best mix of benchmarks of the same bars.
///
/// The mix is that of least squares. The intercept is kept: the mean is alpha. Constant benchmarks, and those that are a
/// mix of the ones before them, add nothing; for constant benchmarks only, the result is the difference from the first.
///
/// # Errors
///
/// Undefined for series of unequal lengths, fewer than two returns, or several benchmarks with fewer than 15 returns
/// each.
pub fn unexplained(returns: &[f64], benchmarks: &[&[f64]]) -> Result<Vec<f64>, Undefined> {
    check_all(returns, benchmarks)?;
    rest(returns, benchmarks, returns.len())
}

/// Refuses series of unequal lengths, and too few returns for the slopes.
pub(super) fn check_all(returns: &[f64], benchmarks: &[&[f64]]) -> Result<(), Undefined> {
    check(returns, 2)?;
    for benchmark in benchmarks {
        if benchmark.len() != returns.len() {
            return Err(Undefined::UnequalLengths { required: returns.len(), received: benchmark.len() });
        }
        check(benchmark, 2)?;
    }
    let n_slopes = benchmarks.iter().filter(|benchmark| !is_riskless(benchmark)).count();
    if n_slopes > 1 && returns.len() < n_slopes * RETURNS_PER_SLOPE {
        // Fewer slopes would leave a style that uses no information unexplained.
        return Err(Undefined::TooShort { required: n_slopes * RETURNS_PER_SLOPE, received: returns.len() });
    }
    Ok(())
}

/// Returns a track less the mix that fits its first `seen` returns best.
pub(super) fn rest(returns: &[f64], benchmarks: &[&[f64]], seen: usize) -> Result<Vec<f64>, Undefined> {
    let mut bases: Vec<Basis> = Vec::new();
    for benchmark in benchmarks.iter().filter(|benchmark| !is_riskless(&benchmark[..seen])) {
        let mut basis = Basis::of(benchmark, seen)?;
        let spread = basis.square.sqrt();
        // Twice, because one pass of subtractions leaves rounding errors in nearly collinear benchmarks.
        for _ in 0..2 {
            bases.iter().try_for_each(|other| basis.less(other))?;
        }
        if basis.square.sqrt() > COLLINEAR * spread {
            bases.push(basis);
        }
    }
    if let ([], Some(first)) = (&bases[..], benchmarks.first()) {
        return Ok(returns.iter().zip(*first).map(|(r, b)| r - b).collect());
    }
    let mut rest = Basis::of(returns, seen)?;
    bases.iter().try_for_each(|basis| rest.less(basis))?;
    Ok(rest.values)
}

/// A series with its deviations from the mean of its first returns.
struct Basis {
    values: Vec<f64>,
    deviations: Vec<f64>,
    /// Number of first returns that mean and slopes are estimated from.
    seen: usize,
    /// Sum of their squared deviations.
    square: f64,
}

impl Basis {
    fn of(values: &[f64], seen: usize) -> Result<Self, Undefined> {
        let mut basis = Self { values: values.to_vec(), deviations: Vec::new(), seen, square: 0.0 };
        basis.center()?;
        Ok(basis)
    }

    fn center(&mut self) -> Result<(), Undefined> {
        let known = &self.values[..self.seen];
        let middle = mean(known)?;
        self.deviations = known.iter().map(|value| value - middle).collect();
        self.square = self.deviations.iter().map(|value| value * value).sum();
        Ok(())
    }

    /// Subtracts the part that another series explains.
    fn less(&mut self, other: &Self) -> Result<(), Undefined> {
        let shared: f64 = self.deviations.iter().zip(&other.deviations).map(|(a, b)| a * b).sum();
        let slope = shared / other.square;
        self.values.iter_mut().zip(&other.values).for_each(|(value, other)| *value -= slope * other);
        self.center()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wave(n: usize, step: f64) -> Vec<f64> {
        (0..n).map(|bar| 0.01 * libm::sin(step * bar as f64) + 2e-4).collect()
    }

    #[test]
    fn the_rest_of_a_mix_is_its_alpha() {
        let (a, b, c) = (wave(500, 0.7), wave(500, 1.3), wave(500, 2.9));
        let mix: Vec<f64> = (0..500).map(|bar| 1e-3 + 0.3 * a[bar] + 0.5 * b[bar] - 0.2 * c[bar]).collect();
        let rest = unexplained(&mix, &[&a, &b, &c]).unwrap();
        assert!(rest.iter().all(|value| (value - 1e-3).abs() < 1e-15), "{rest:?}");
    }

    #[test]
    fn a_benchmark_twice_a_constant_one_and_a_mix_of_others_change_nothing() {
        let (a, b, own) = (wave(500, 0.7), wave(500, 1.3), wave(500, 2.1));
        let mix: Vec<f64> = a.iter().zip(&b).map(|(a, b)| 2.0 * a - b).collect();
        let flat = vec![1e-4; 500];
        let plain = unexplained(&own, &[&a, &b]).unwrap();
        assert_eq!(unexplained(&own, &[&a, &a, &flat, &b, &mix]).unwrap(), plain);
        let difference: Vec<f64> = own.iter().map(|r| r - 1e-4).collect();
        assert_eq!(unexplained(&own, &[&flat]).unwrap(), difference);
    }

    #[test]
    fn one_benchmark_leaves_the_active_returns_of_its_regression() {
        let (a, own) = (wave(300, 0.7), wave(300, 2.1));
        let line = crate::skill::regress(&own, &a).unwrap();
        let rest = unexplained(&own, &[&a]).unwrap();
        assert!(rest.iter().zip(&line.active).all(|(rest, active)| (rest - active).abs() < 1e-15));
    }

    #[test]
    fn a_track_with_fewer_than_fifteen_returns_per_benchmark_is_undefined() {
        let (a, b, own) = (wave(29, 0.7), wave(29, 1.3), wave(29, 2.1));
        let short = Undefined::TooShort { required: 30, received: 29 };
        assert_eq!(unexplained(&own, &[&a, &b]), Err(short));
        assert!(unexplained(&own, &[&a]).is_ok());
        assert!(unexplained(&own, &[&a[1..]]).is_err());
    }
}
