//! Sums over symbols in the eight lanes of the contract, and blocks of numbers.

/// Eight adjacent symbols of one bar.
pub type Block = [f64; LANES];

/// The number of lanes of every sum over symbols.
pub const LANES: usize = 8;

/// Returns the number of blocks that hold `n_symbols`.
#[must_use]
pub const fn n_blocks(n_symbols: usize) -> usize {
    n_symbols.div_ceil(LANES)
}

/// Returns a block with element k set to `value(k)`.
///
/// Use one expression per block instead of one loop over several: the compiler then keeps the blocks in vector
/// registers.
#[must_use]
#[inline]
pub fn each(value: impl FnMut(usize) -> f64) -> Block {
    std::array::from_fn(value)
}

/// Returns the total of eight lane sums, added in the order of the contract.
#[must_use]
pub fn total(lane: &Block) -> f64 {
    ((lane[0] + lane[4]) + (lane[2] + lane[6])) + ((lane[1] + lane[5]) + (lane[3] + lane[7]))
}

/// Returns the sum of `values`, with value i in lane i mod 8.
#[must_use]
pub fn sum(values: impl IntoIterator<Item = f64>) -> f64 {
    let mut lane = [0.0; LANES];
    for (i, value) in values.into_iter().enumerate() {
        lane[i % LANES] += value;
    }
    total(&lane)
}

/// Returns the element of symbol `i` in a row of blocks.
#[must_use]
pub fn get(row: &[Block], i: usize) -> f64 {
    row[i / LANES][i % LANES]
}

/// Sets the element of symbol `i` in a row of blocks.
pub fn set(row: &mut [Block], i: usize, value: f64) {
    row[i / LANES][i % LANES] = value;
}
