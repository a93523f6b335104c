use std::iter::FusedIterator;

use crate::metrics::moments::Central;

/// Count, mean, and sums of powers of the distances from the mean.
///
/// Values are added, and two series are merged, without a difference of large sums: no digits are lost.
///
/// Source: Pébay (2008), formulas 2.1 and 3.1.
#[derive(Clone, Copy, Debug, Default)]
struct Running {
    n: f64,
    mean: f64,
    second: f64,
    third: f64,
    fourth: f64,
}

impl Running {
    fn of(value: f64) -> Self {
        Self { n: 1.0, mean: value, ..Self::default() }
    }

    fn merge(&self, other: &Self) -> Self {
        let (a, b, n) = (self.n, other.n, self.n + other.n);
        let d = other.mean - self.mean;
        let (share, ab) = (d / n, a * b);
        let (a_less_b, pair) = (a - b, share * share);
        Self {
            n,
            mean: self.mean + b * share,
            second: self.second + other.second + ab * d * share,
            third: self.third
                + other.third
                + ab * a_less_b * d * pair
                + 3.0 * share * (a * other.second - b * self.second),
            fourth: self.fourth
                + other.fourth
                + ab * (a * a - ab + b * b) * d * share * pair
                + 6.0 * pair * (a * a * other.second + b * b * self.second)
                + 4.0 * share * (a * other.third - b * self.third),
        }
    }
}

/// The moments of every window of `n_window` values, oldest first.
///
/// The time of a window does not depend on its length.
/// Blocks of `n_window` values divide the series, so a window is the end of one block and the start of the next.
/// The moments of all ends of a block are computed when its first window is due; the start grows with each window.
#[derive(Debug)]
pub(crate) struct WindowMoments<'a> {
    values: &'a [f64],
    n_window: usize,
    first: usize,
    /// Moments of the ends of the block, by their first value.
    ends: Vec<Running>,
    /// Moments of the start of the next block.
    start: Running,
}

impl<'a> WindowMoments<'a> {
    /// Returns the moments of the windows of finite values.
    ///
    /// There are none if the window is longer than the values.
    ///
    /// # Panics
    ///
    /// Panics if a window has no value.
    pub(crate) fn of(values: &'a [f64], n_window: usize) -> Self {
        assert!(n_window > 0, "a window must have a value");
        Self { values, n_window, first: 0, ends: vec![Running::default(); n_window], start: Running::default() }
    }
}

impl Iterator for WindowMoments<'_> {
    type Item = Central;

    fn next(&mut self) -> Option<Central> {
        let last = *self.values.get(self.first + self.n_window - 1)?;
        let place = self.first % self.n_window;
        if place == 0 {
            let block = &self.values[self.first..][..self.n_window];
            let mut end = Running::default();
            for (kept, value) in self.ends.iter_mut().zip(block).rev() {
                end = if end.n == 0.0 { Running::of(*value) } else { Running::of(*value).merge(&end) };
                *kept = end;
            }
            self.start = Running::default();
        } else {
            self.start = if place == 1 { Running::of(last) } else { self.start.merge(&Running::of(last)) };
        }
        let window = if place == 0 { self.ends[0] } else { self.ends[place].merge(&self.start) };
        self.first += 1;
        Some(Central::of_sums(self.n_window, window.mean, [window.second, window.third, window.fourth]))
    }
}

impl FusedIterator for WindowMoments<'_> {}
