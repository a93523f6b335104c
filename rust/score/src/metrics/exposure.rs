/// Returns gross exposure per bar: the sum of abs(weight) over each row.
///
/// # Panics
///
/// Panics if `weights` does not hold whole rows of `n_symbols`, which is at least 1.
#[must_use]
pub fn gross_exposure(weights: &[f64], n_symbols: usize) -> Vec<f64> {
    rows(weights, n_symbols).map(|row| sum(row.iter().map(|weight| weight.abs()))).collect()
}

/// Returns net exposure per bar: the sum of the signed weights of each row.
///
/// It is below 0 if shorts exceed longs.
///
/// # Panics
///
/// Panics if `weights` does not hold whole rows of `n_symbols`, which is at least 1.
#[must_use]
pub fn net_exposure(weights: &[f64], n_symbols: usize) -> Vec<f64> {
    rows(weights, n_symbols).map(|row| sum(row.iter().copied())).collect()
}

fn rows(weights: &[f64], n_symbols: usize) -> std::slice::ChunksExact<'_, f64> {
    let rows = weights.chunks_exact(n_symbols);
    assert!(rows.remainder().is_empty(), "weights must be rows of {n_symbols}; received {}", weights.len());
    rows
}

/// Returns the sum over symbols in the order of the contract: eight lanes, i mod 8.
fn sum(values: impl ExactSizeIterator<Item = f64>) -> f64 {
    if values.len() == 1 {
        return values.fold(0.0, |sum, value| sum + value);
    }
    let mut lane = [0.0; 8];
    for (i, value) in values.enumerate() {
        lane[i % 8] += value;
    }
    ((lane[0] + lane[4]) + (lane[2] + lane[6])) + ((lane[1] + lane[5]) + (lane[3] + lane[7]))
}
