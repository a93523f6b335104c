//! Means and deviations of all windows of a column.
//!
//! The closes of a window are added one after the other, oldest first, so that a sum does not depend on other windows.
//! The sums of windows with the same first close share their additions.

use std::ops::Range;

use openoutcry_engine::with_vector_instructions;

/// Windows that are added at once; their sums stay in the first cache.
const TOGETHER: usize = 512;

/// Rows that are added in one pass over the sums.
const ROWS: usize = 8;

/// A deviation below this part of the mean is a rounding error.
const NEGLIGIBLE: f64 = 1e-12;

/// Mean closes of the windows of one length that end at each bar of a tile.
pub(super) struct WindowMeans {
    pub(super) length: usize,
    pub(super) values: Vec<f64>,
}

/// Writes the means of the windows that end at `bars` of a tile.
///
/// `closes` end at the last of these bars. Lengths ascend. The first bar of the tile is `origin`.
pub(super) fn write_means(closes: &[f64], bars: &Range<usize>, origin: usize, means: &mut [WindowMeans]) {
    with_vector_instructions(
        #[inline(always)]
        || {
            let mut sums = [0.0; TOGETHER];
            for start in (0..closes.len()).step_by(TOGETHER) {
                add_windows(&closes[start..], (bars, origin), means, &mut sums);
            }
        },
    );
}

/// Writes the means of the windows that begin at the first closes.
#[inline(always)]
fn add_windows(
    closes: &[f64],
    (bars, origin): (&Range<usize>, usize),
    means: &mut [WindowMeans],
    sums: &mut [f64; TOGETHER],
) {
    let (n_left, mut n_added) = (closes.len(), 1);
    let most = TOGETHER.min(n_left);
    sums[..most].copy_from_slice(&closes[..most]);
    for WindowMeans { length, values } in means {
        if *length > n_left {
            return;
        }
        while n_added < *length {
            let n_rows = if *length - n_added >= ROWS { ROWS } else { 1 };
            let width = TOGETHER.min(n_left + 1 - n_added - n_rows);
            let sums = &mut sums[..width];
            if n_rows == ROWS {
                add::<ROWS>(sums, &closes[n_added..]);
            } else {
                add::<1>(sums, &closes[n_added..]);
            }
            n_added += n_rows;
        }
        // The window that begins at the first close ends this many bars before the end.
        let width = TOGETHER.min(n_left + 1 - *length);
        let first = bars.end + *length - n_left - 1;
        let skipped = bars.start.saturating_sub(first);
        if skipped >= width {
            continue;
        }
        let divisor = *length as f64;
        let at = first + skipped - origin;
        for (mean, sum) in values[at..at + width - skipped].iter_mut().zip(&sums[skipped..width]) {
            *mean = sum / divisor;
        }
    }
}

/// Adds `N` rows, each one close later, to sums.
#[inline(always)]
fn add<const N: usize>(sums: &mut [f64], closes: &[f64]) {
    let width = sums.len();
    let rows: [&[f64]; N] = std::array::from_fn(|row| &closes[row..row + width]);
    for (i, sum) in sums.iter_mut().enumerate() {
        let mut added = *sum;
        for row in rows {
            added += row[i];
        }
        *sum = added;
    }
}

/// Replaces means by the distance of the last close below them.
///
/// The distance is in standard deviations.
///
/// 0 where the closes of a window are constant. `closes` begin with the window of the first mean.
pub(super) fn means_to_distances(closes: &[f64], length: usize, means: &mut [f64]) {
    with_vector_instructions(
        #[inline(always)]
        || {
            for (chunk, means) in means.chunks_mut(TOGETHER).enumerate() {
                distances(&closes[chunk * TOGETHER..], length, means);
            }
        },
    );
}

#[inline(always)]
fn distances(closes: &[f64], length: usize, means: &mut [f64]) {
    let mut squares = [0.0; TOGETHER];
    let squares = &mut squares[..means.len()];
    let mut n_added = 0;
    while n_added < length {
        let n_rows = if length - n_added >= ROWS { ROWS } else { 1 };
        let closes = &closes[n_added..];
        if n_rows == ROWS {
            add_squares::<ROWS>(squares, means, closes);
        } else {
            add_squares::<1>(squares, means, closes);
        }
        n_added += n_rows;
    }
    let (last, divisor) = (&closes[length - 1..][..means.len()], (length - 1) as f64);
    for ((mean, square), last) in means.iter_mut().zip(squares).zip(last) {
        let deviation = (*square / divisor).sqrt();
        let distance = (*mean - last) / deviation;
        *mean = if deviation > NEGLIGIBLE * *mean { distance } else { 0.0 };
    }
}

/// Adds the squared distances of `N` rows, each one close later, from means.
#[inline(always)]
fn add_squares<const N: usize>(squares: &mut [f64], means: &[f64], closes: &[f64]) {
    let width = squares.len();
    let (means, rows): (_, [&[f64]; N]) = (&means[..width], std::array::from_fn(|row| &closes[row..row + width]));
    for (i, square) in squares.iter_mut().enumerate() {
        let (mut added, mean) = (*square, means[i]);
        for row in rows {
            let residual = row[i] - mean;
            added += residual * residual;
        }
        *square = added;
    }
}
