use crate::vector::lane_sums::{Block, LANES, n_blocks};

/// A time-major table of f64; each bar is a row of whole blocks.
///
/// The last block is padded with the neutral value of the column, so that the step needs no remainder loop.
#[derive(Clone, Debug)]
pub(crate) struct Grid {
    /// Whole blocks.
    ///
    /// A vector of numbers, so that a table that was read becomes a grid without a copy.
    values: Vec<f64>,
    /// Values of a bar, a multiple of `LANES`.
    width: usize,
}

impl Grid {
    /// Returns the grid of a table without padding.
    pub(crate) fn from_rows(mut values: Vec<f64>, n_symbols: usize, padding: f64) -> Self {
        let (n_bars, width) = (values.len() / n_symbols, n_blocks(n_symbols) * LANES);
        if width > n_symbols {
            values.resize(n_bars * width, padding);
            // The last row moves first, so that no row is overwritten before it moved.
            for bar in (0..n_bars).rev() {
                values.copy_within(bar * n_symbols..(bar + 1) * n_symbols, bar * width);
                values[bar * width + n_symbols..(bar + 1) * width].fill(padding);
            }
        }
        Self { values, width }
    }

    /// Returns all blocks, bar after bar.
    pub(crate) fn blocks(&self) -> &[Block] {
        self.values.as_chunks().0
    }

    pub(crate) fn row(&self, bar: usize) -> &[Block] {
        self.values[bar * self.width..(bar + 1) * self.width].as_chunks().0
    }

    /// Returns the values of all bars without the padding.
    pub(crate) fn values(&self, n_symbols: usize) -> Vec<f64> {
        let mut values = Vec::with_capacity(self.values.len() / self.width * n_symbols);
        self.values.chunks_exact(self.width).for_each(|row| values.extend_from_slice(&row[..n_symbols]));
        values
    }

    pub(crate) fn get(&self, bar: usize, symbol: usize) -> f64 {
        self.values[bar * self.width + symbol]
    }

    pub(crate) fn row_mut(&mut self, bar: usize) -> &mut [Block] {
        self.values[bar * self.width..(bar + 1) * self.width].as_chunks_mut().0
    }

    /// Returns an empty table with room for `n_bars`.
    pub(crate) fn with_capacity(n_bars: usize, n_symbols: usize) -> Self {
        let width = n_blocks(n_symbols) * LANES;
        Self { values: Vec::with_capacity(n_bars * width), width }
    }

    /// Adds bars with missing values.
    pub(crate) fn grow(&mut self, n_bars: usize, n_symbols: usize, padding: f64) {
        let mut row = vec![f64::NAN; self.width];
        row[n_symbols..].fill(padding);
        for _ in 0..n_bars {
            self.values.extend_from_slice(&row);
        }
    }

    /// Returns the cells of a symbol from bar `first` on.
    pub(crate) fn column_mut(&mut self, first: usize, symbol: usize) -> impl Iterator<Item = &mut f64> {
        self.values[first * self.width + symbol..].iter_mut().step_by(self.width)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_keeps_its_rows_and_is_padded_to_whole_blocks() {
        for n_symbols in [1, 2, 7, 8, 9, 16, 17] {
            for n_bars in [1, 2, 5] {
                let table: Vec<f64> = (0..n_bars * n_symbols).map(|cell| cell as f64).collect();
                let grid = Grid::from_rows(table.clone(), n_symbols, -1.0);
                assert_eq!(grid.values(n_symbols), table);
                assert_eq!(grid.blocks().len(), n_bars * n_blocks(n_symbols));
                for bar in 0..n_bars {
                    let row = grid.row(bar).as_flattened();
                    assert_eq!(row[..n_symbols], table[bar * n_symbols..(bar + 1) * n_symbols]);
                    assert!(row[n_symbols..].iter().all(|cell| *cell == -1.0));
                }
            }
        }
    }
}
