//! Sums of products of two series, one a few bars later.

use pulp::{Arch, Simd, WithSimd};

/// Lags that are summed at once.
const GROUP: usize = 8;

/// Rows that are added at once, and stay in the cache.
pub(crate) const ROWS: usize = 4096;

/// Sums of the products of values that are 0 to `lags` rows apart.
///
/// Each sum is in the order of the rows. Eight lags are added at once: their sums do not wait for each other.
#[derive(Clone, Debug)]
pub(crate) struct LaggedProducts {
    lags: usize,
    /// Whole groups; -0.0 is the zero of `Iterator::sum`.
    sums: Vec<[f64; GROUP]>,
}

impl LaggedProducts {
    pub(crate) fn new(lags: usize) -> Self {
        Self { lags, sums: vec![[-0.0; GROUP]; lags / GROUP + 1] }
    }

    /// Adds the products of the next rows.
    ///
    /// `later` has the same rows and up to `lags` rows that follow them.
    pub(crate) fn add(&mut self, arch: Arch, later: &[f64], earlier: &[f64]) {
        arch.dispatch(Add { sums: &mut self.sums, later, earlier });
    }

    /// Returns the sum of each lag.
    pub(crate) fn sums(&self) -> &[f64] {
        &self.sums.as_flattened()[..=self.lags]
    }

    /// Returns the sums over all rows of a series that is computed in parts.
    ///
    /// `write` replaces a buffer by the values of some rows.
    pub(crate) fn of(n_rows: usize, lags: usize, mut write: impl FnMut(std::ops::Range<usize>, &mut Vec<f64>)) -> Self {
        let (arch, mut found, mut values) = (Arch::new(), Self::new(lags), Vec::new());
        for first in (0..n_rows).step_by(ROWS) {
            let end = (first + ROWS).min(n_rows);
            write(first..(end + lags).min(n_rows), &mut values);
            found.add(arch, &values, &values[..end - first]);
        }
        found
    }
}

struct Add<'a> {
    sums: &'a mut [[f64; GROUP]],
    later: &'a [f64],
    earlier: &'a [f64],
}

impl WithSimd for Add<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Self { sums, later, earlier } = self;
        for (first, sums) in (0..).step_by(GROUP).zip(sums) {
            let n_whole = (later.len() + 1).saturating_sub(first + GROUP).min(earlier.len());
            let mut added = *sums;
            for (row, value) in earlier[..n_whole].iter().enumerate() {
                let later: &[f64; GROUP] = later[row + first..][..GROUP].try_into().expect("a group of lags");
                for (sum, later) in added.iter_mut().zip(later) {
                    *sum += later * value;
                }
            }
            for (row, value) in earlier.iter().enumerate().skip(n_whole) {
                for (sum, later) in added.iter_mut().zip(later.iter().skip(row + first)) {
                    *sum += later * value;
                }
            }
            *sums = added;
        }
    }
}

/// Returns the long-run sum of products of the scores of a regression.
///
/// Scores are residuals, and residuals times each column. Sums of products `lag` rows apart, and their transpose, have
/// the Bartlett weight `1 - lag / (lags + 1)`. Returns a square of `columns.len() + 1` rows.
///
/// # Panics
///
/// Panics if a column has fewer rows than the residuals.
///
/// Source: Newey and West (1987).
#[must_use]
pub fn long_run_products(residuals: &[f64], columns: &[&[f64]], lags: usize) -> Vec<f64> {
    let (n_rows, width) = (residuals.len(), columns.len() + 1);
    let (n_weights, lags) = (lags as f64 + 1.0, lags.min(n_rows.saturating_sub(1)));
    let (arch, mut products) = (Arch::new(), vec![LaggedProducts::new(lags); width * width]);
    let mut scores = vec![Vec::new(); width];
    for first in (0..n_rows).step_by(ROWS) {
        let (end, last) = ((first + ROWS).min(n_rows), (first + ROWS + lags).min(n_rows));
        let rows = &residuals[first..last];
        for (place, scores) in scores.iter_mut().enumerate() {
            scores.clear();
            match place.checked_sub(1).map(|column| &columns[column][first..last]) {
                Some(column) => scores.extend(column.iter().zip(rows).map(|(value, residual)| value * residual)),
                None => scores.extend_from_slice(rows),
            }
        }
        for (place, products) in products.iter_mut().enumerate() {
            products.add(arch, &scores[place / width], &scores[place % width][..end - first]);
        }
    }
    let of = |row: usize, column: usize, lag: usize| products[row * width + column].sums()[lag];
    let sum = |row: usize, column: usize| {
        let weight = |lag: usize| 1.0 - lag as f64 / n_weights;
        (1..=lags)
            .fold(of(row, column, 0), |sum, lag| sum + weight(lag) * (of(row, column, lag) + of(column, row, lag)))
    };
    (0..width * width).map(|place| sum(place / width, place % width)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wave(n_rows: usize, speed: f64) -> Vec<f64> {
        (0..n_rows).map(|row| libm::sin(speed * row as f64) + 0.1 * libm::cos(row as f64 * row as f64)).collect()
    }

    #[test]
    fn sums_of_lags_have_the_bits_of_a_sum_for_each_lag() {
        for (n_rows, lags) in [(1, 0), (2, 1), (9, 8), (30, 7), (30, 20), (ROWS, 5), (2 * ROWS + 3, 17)] {
            let values = wave(n_rows, 0.3);
            let found = LaggedProducts::of(n_rows, lags, |rows, part| {
                part.clear();
                part.extend_from_slice(&values[rows]);
            });
            for (lag, sum) in found.sums().iter().enumerate() {
                let alone: f64 = values[lag..].iter().zip(&values).map(|(later, earlier)| later * earlier).sum();
                assert_eq!(sum.to_bits(), alone.to_bits(), "{n_rows} rows, lag {lag}");
            }
            assert_eq!(found.sums().len(), lags + 1);
        }
    }

    #[test]
    fn long_run_products_are_those_of_pairs_of_rows() {
        let (residuals, column) = (wave(60, 0.7), wave(60, 0.2));
        let scores = [residuals.clone(), residuals.iter().zip(&column).map(|(a, b)| a * b).collect::<Vec<_>>()];
        let found = long_run_products(&residuals, &[&column], 4);
        for (place, sum) in found.iter().enumerate() {
            let (a, b) = (&scores[place / 2], &scores[place % 2]);
            let mut wanted = 0.0;
            for (i, left) in a.iter().enumerate() {
                for (j, right) in b.iter().enumerate() {
                    wanted += (1.0 - i.abs_diff(j) as f64 / 5.0).max(0.0) * left * right;
                }
            }
            assert!((sum - wanted).abs() < 1e-12 * (1.0 + wanted.abs()), "{place}: {sum}, {wanted}");
        }
    }
}
