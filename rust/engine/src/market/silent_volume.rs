//! Volumes that are 0 on every bar of a symbol.

use crate::market::dataset::Dataset;

impl Dataset {
    /// Returns whether the market has a column of volumes.
    #[must_use]
    pub fn has_volume(&self) -> bool {
        self.tables.volume.is_some()
    }

    /// Returns whether some symbol has volumes and all are 0.
    #[must_use]
    pub fn has_silent_volume(&self) -> bool {
        let Some(volume) = &self.tables.volume else { return false };
        let mut silent: Vec<usize> = (0..self.n_symbols()).collect();
        // Most symbols trade in the first bars, so that few bars are read.
        for bar in 0..self.n_bars() {
            silent.retain(|symbol| volume.get(bar, *symbol) == 0.0 || volume.get(bar, *symbol).is_nan());
            if silent.is_empty() {
                return false;
            }
        }
        silent.into_iter().any(|symbol| (0..self.n_bars()).any(|bar| volume.get(bar, symbol) == 0.0))
    }
}
