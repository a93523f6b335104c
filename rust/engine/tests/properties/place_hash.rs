//! Random draws as functions of bar and symbol.
//!
//! A smaller market keeps the draws of its remaining cells.

const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;

/// Draws of one seed and purpose.
#[derive(Clone, Copy)]
pub struct CellDraws {
    key: u64,
}

impl CellDraws {
    pub fn new(seed: u64, purpose: &str) -> Self {
        let key = purpose.bytes().fold(mix(seed), |key, byte| mix(key ^ u64::from(byte)));
        Self { key }
    }

    /// Returns the draw in [0, 1) of this cell.
    pub fn uniform(self, bar: usize, symbol: usize) -> f64 {
        (self.word(bar, symbol) >> 11) as f64 / 9_007_199_254_740_992.0
    }

    pub fn between(self, low: f64, high: f64, bar: usize, symbol: usize) -> f64 {
        low + (high - low) * self.uniform(bar, symbol)
    }

    pub fn chance(self, probability: f64, bar: usize, symbol: usize) -> bool {
        self.uniform(bar, symbol) < probability
    }

    pub fn pick<T: Copy>(self, items: &[T], bar: usize, symbol: usize) -> T {
        items[self.below(items.len(), bar, symbol)]
    }

    pub fn below(self, n: usize, bar: usize, symbol: usize) -> usize {
        usize::try_from(self.word(bar, symbol) % n as u64).expect("below a usize")
    }

    fn word(self, bar: usize, symbol: usize) -> u64 {
        mix(mix(self.key ^ bar as u64) ^ symbol as u64)
    }
}

/// One step of `SplitMix64`.
fn mix(state: u64) -> u64 {
    let mut z = state.wrapping_add(GOLDEN);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}
