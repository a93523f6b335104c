//! Statistics of every window of returns, by running sums.
//!
//! A sum of a window is the difference of two running sums, which are added in the order of the returns. No sum is
//! stored: the later and the earlier one are added side by side.

/// Returns a statistic of each window, at its last value.
///
/// It is NaN before the first window.
fn rolled<const K: usize>(
    (n_values, n_window): (usize, usize),
    parts: impl Fn(usize) -> [f64; K],
    statistic: impl Fn([f64; K]) -> f64,
) -> Vec<f64> {
    let (mut found, count) = (Vec::with_capacity(n_values), n_window as f64);
    let (mut later, mut earlier) = ([0.0; K], [0.0; K]);
    for value in 0..n_values {
        add(&mut later, parts(value));
        if value + 1 < n_window {
            found.push(f64::NAN);
            continue;
        }
        found.push(statistic(std::array::from_fn(|k| (later[k] - earlier[k]) / count)));
        add(&mut earlier, parts(value + 1 - n_window));
    }
    found
}

#[inline(always)]
fn add<const K: usize>(sums: &mut [f64; K], parts: [f64; K]) {
    sums.iter_mut().zip(parts).for_each(|(sum, part)| *sum += part);
}

/// Returns the annual volatility of every window, at its last return.
///
/// `mean` is that of all returns; less of it, the sums lose fewer digits.
///
/// # Panics
///
/// Panics if a window has no value.
#[must_use]
pub fn rolling_volatility(returns: &[f64], mean: f64, n_window: usize, periods_per_year: f64) -> Vec<f64> {
    let unbiased = n_window as f64 / (n_window as f64 - 1.0);
    let parts = |place: usize| {
        let centred = returns[place] - mean;
        [centred, centred * centred]
    };
    rolled((returns.len(), n_window), parts, |[mean, square]| {
        let variance = square - mean * mean;
        (if variance < 0.0 { 0.0 } else { variance } * unbiased * periods_per_year).sqrt()
    })
}

/// Returns the annual Sortino ratio of every window, at its last return.
///
/// NaN where no return of the window is negative.
///
/// # Panics
///
/// Panics if a window has no value.
#[must_use]
pub fn rolling_sortino(excess: &[f64], n_window: usize, periods_per_year: f64) -> Vec<f64> {
    let loss = |value: f64| if value < 0.0 { value } else { 0.0 };
    let total: f64 = excess.iter().map(|value| loss(*value) * loss(*value)).sum();
    // Differences of sums leave a remainder where there is no loss.
    let (least, year) = (4.0 * f64::EPSILON * total / n_window as f64, periods_per_year.sqrt());
    let parts = |place: usize| [excess[place], loss(excess[place]) * loss(excess[place])];
    rolled(
        (excess.len(), n_window),
        parts,
        |[mean, square]| {
            if square > least { mean / square.sqrt() * year } else { f64::NAN }
        },
    )
}

/// Returns the beta of every window, at its last return.
///
/// `means` are those of all returns of the two series. NaN where the benchmark has a variance of at most `least`.
///
/// # Panics
///
/// Panics if a window has no value, or the benchmark fewer returns.
#[must_use]
pub fn rolling_beta(excess: &[f64], benchmark: &[f64], means: (f64, f64), n_window: usize, least: f64) -> Vec<f64> {
    let parts = |place: usize| {
        let (own, other) = (excess[place] - means.0, benchmark[place] - means.1);
        [own, other, own * other, other * other]
    };
    rolled((excess.len(), n_window), parts, |[own, other, product, square]| {
        let variance = square - other * other;
        if variance > least { (product - own * other) / variance } else { f64::NAN }
    })
}
