//! Limits on the size of a market, checked before memory is allocated.
//!
//! A mistyped size would otherwise exhaust memory.

use crate::counted_nouns::counted;
use crate::error::DataError;

/// The most values of a market built from a few numbers or words: 2 GiB.
///
/// On 32 bits, as in WebAssembly, 256 MiB: the bytes of the market need a second copy in 4 GiB.
const MAX_VALUES: usize = if cfg!(target_pointer_width = "32") { 1 << 25 } else { 1 << 28 };

/// Cells that a market given as rows may always have: 32 MiB per column.
const SMALL: usize = 1 << 22;

/// Above [`SMALL`], the most cells per row of a market given as rows.
///
/// A symbol that trades on a sixty-fourth of the dates passes. Rows that each name a new date and a new symbol would
/// make a table of the square of their number.
const MAX_CELLS_PER_ROW: usize = 64;

fn too_large(message: String) -> DataError {
    DataError::new("dataset_too_large", message)
}

/// Checks the size of a market of `n_columns` tables.
pub(crate) fn check_size(n_symbols: usize, n_bars: usize, n_columns: usize) -> Result<(), DataError> {
    let cells = n_symbols.max(1).checked_mul(n_bars.max(1));
    if cells.and_then(|cells| cells.checked_mul(n_columns)).is_none_or(|values| values > MAX_VALUES) {
        return Err(too_large(format!(
            "a market must have at most {MAX_VALUES} values; received {} x {} x {}",
            counted(n_symbols, "symbol"),
            counted(n_bars, "bar"),
            counted(n_columns, "column")
        )));
    }
    Ok(())
}

/// Checks the size of a market of `n_columns` tables that is given as rows.
///
/// Each row has one date and one symbol.
///
/// # Errors
///
/// Returns an error for more than 2^28 values (2^25 on 32 bits), or for tables of more than 2^22 cells that are nearly
/// empty.
pub fn check_rows(n_rows: usize, n_symbols: usize, n_bars: usize, n_columns: usize) -> Result<(), DataError> {
    // One more column holds the position of each cell.
    check_size(n_symbols, n_bars, n_columns + 1)?;
    let cells = n_symbols * n_bars;
    if cells > SMALL && cells > n_rows.saturating_mul(MAX_CELLS_PER_ROW) {
        return Err(too_large(format!(
            "a market of more than {SMALL} cells must fill at least one in {MAX_CELLS_PER_ROW}; received {} for {} x {}",
            counted(n_rows, "row"),
            counted(n_symbols, "symbol"),
            counted(n_bars, "bar")
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_column_counts() {
        assert!(check_size(1 << 14, 1 << 14, 1).is_ok());
        assert_eq!(check_size(1 << 14, 1 << 14, 2).unwrap_err().slug(), "dataset_too_large");
        assert!(check_size(usize::MAX, 1, 2).is_err());
    }

    #[test]
    fn a_large_table_that_is_nearly_empty_is_refused() {
        assert!(check_rows(1, 1 << 11, 1 << 11, 1).is_ok());
        assert!(check_rows(1 << 17, 1 << 12, 1 << 11, 1).is_ok());
        assert_eq!(check_rows((1 << 17) - 1, 1 << 12, 1 << 11, 1).unwrap_err().slug(), "dataset_too_large");
    }
}
