//! Volumes that a file states as 0 because they are unknown.

use crate::market::columns::Columns;
use crate::market::dataset::Dataset;

/// Sets volumes that are 0 on every bar of a symbol to NaN; returns a notice.
///
/// Indices and currencies have such volumes. A market without any other volume has no column of volumes.
pub(crate) fn drop_silent_volume(columns: &mut Columns) -> Option<String> {
    let silent = silent_symbols(columns);
    let volume = columns.volume.as_mut().filter(|_| !silent.is_empty())?;
    for row in volume.chunks_exact_mut(columns.symbols.len()) {
        for symbol in &silent {
            row[*symbol] = f64::NAN;
        }
    }
    if volume.iter().all(|volume| volume.is_nan()) {
        columns.volume = None;
    }
    let names: Vec<&str> = silent.iter().map(|symbol| columns.symbols[*symbol].as_str()).collect();
    Some(format!("volume 0 on every bar of {} is taken for unknown volume", names.join(", ")))
}

/// Returns the symbols with a volume of 0 wherever it is known.
fn silent_symbols(columns: &Columns) -> Vec<usize> {
    let Some(volume) = &columns.volume else { return Vec::new() };
    let mut is_silent = vec![false; columns.symbols.len()];
    let mut is_traded = is_silent.clone();
    // A text without rows has no symbols.
    for row in volume.chunks_exact(columns.symbols.len().max(1)) {
        for (symbol, volume) in row.iter().enumerate() {
            is_silent[symbol] |= *volume == 0.0;
            // Invalid volumes stay, to be refused.
            is_traded[symbol] |= !volume.is_nan() && *volume != 0.0;
        }
    }
    (0..is_silent.len()).filter(|symbol| is_silent[*symbol] && !is_traded[*symbol]).collect()
}

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

#[cfg(test)]
mod tests {
    use super::*;

    fn columns(volume: &[f64]) -> Columns {
        let symbols = vec!["A".to_owned(), "B".to_owned()];
        Columns { symbols, volume: Some(volume.to_vec()), ..Columns::default() }
    }

    #[test]
    fn a_volume_of_0_on_every_known_bar_is_unknown() {
        let mut one = columns(&[0.0, 5.0, f64::NAN, 0.0, -0.0, f64::NAN]);
        let notice = drop_silent_volume(&mut one);
        assert_eq!(notice.as_deref(), Some("volume 0 on every bar of A is taken for unknown volume"));
        assert_eq!(format!("{:?}", one.volume), "Some([NaN, 5.0, NaN, 0.0, NaN, NaN])");
        let mut both = columns(&[0.0, 0.0, 0.0, f64::NAN]);
        assert!(drop_silent_volume(&mut both).is_some_and(|notice| notice.contains("of A, B is")));
        assert_eq!(both.volume, None);
    }

    #[test]
    fn an_empty_column_and_traded_symbols_stay() {
        for volume in [[f64::NAN; 4], [0.0, 0.0, 1.0, 1.0], [0.0, 0.0, -1.0, f64::INFINITY]] {
            let mut found = columns(&volume);
            assert_eq!(drop_silent_volume(&mut found), None);
            assert_eq!(format!("{:?}", found.volume), format!("{:?}", Some(volume)));
        }
    }
}
