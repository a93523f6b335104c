use crate::vector::lane_sums::{Block, LANES, n_blocks};

/// A sparse time-major table of f64: dividends, splits, halts or delistings.
///
/// Bars without an action share one neutral row. Only the other bars have rows of their own.
#[derive(Clone, Debug)]
pub(crate) struct ActionTable {
    /// The row of each bar; row 0 is neutral.
    rows: Vec<u32>,
    blocks: Vec<Block>,
    width: usize,
}

impl ActionTable {
    pub(crate) fn new(n_bars: usize, n_symbols: usize, neutral: f64) -> Self {
        let width = n_blocks(n_symbols);
        Self { rows: vec![0; n_bars], blocks: vec![[neutral; LANES]; width], width }
    }

    /// Returns the table of cells; a NaN cell is neutral.
    pub(crate) fn from_cells(cells: impl ExactSizeIterator<Item = f64>, n_symbols: usize, neutral: f64) -> Self {
        let mut table = Self::new(cells.len() / n_symbols, n_symbols, neutral);
        for (cell, value) in cells.enumerate() {
            // Bits are compared, so that a zero keeps its sign.
            if !value.is_nan() && value.to_bits() != neutral.to_bits() {
                table.set(cell / n_symbols, cell % n_symbols, value);
            }
        }
        table
    }

    pub(crate) fn set(&mut self, bar: usize, symbol: usize, value: f64) {
        if self.rows[bar] == 0 {
            self.rows[bar] = (self.blocks.len() / self.width) as u32;
            self.blocks.extend_from_within(..self.width);
        }
        let first = self.rows[bar] as usize * self.width;
        self.blocks[first + symbol / LANES][symbol % LANES] = value;
    }

    pub(crate) fn row(&self, bar: usize) -> &[Block] {
        let first = self.rows[bar] as usize * self.width;
        &self.blocks[first..first + self.width]
    }

    pub(crate) fn get(&self, bar: usize, symbol: usize) -> f64 {
        self.blocks[self.rows[bar] as usize * self.width + symbol / LANES][symbol % LANES]
    }

    /// Returns whether a bar may have an action.
    pub(crate) fn has(&self, bar: usize) -> bool {
        self.rows[bar] > 0
    }

    /// Returns the bars that may have an action.
    pub(crate) fn bars(&self) -> impl Iterator<Item = usize> {
        (0..self.rows.len()).filter(|bar| self.has(*bar))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rare_table_says_what_its_cells_said() {
        let (n_bars, n_symbols) = (7, 11);
        let mut cells = vec![1.0; n_bars * n_symbols];
        for (cell, value) in [(3, 2.0), (13, -0.0), (40, f64::NAN), (75, 0.5), (76, 4.0)] {
            cells[cell] = value;
        }
        let table = ActionTable::from_cells(cells.iter().copied(), n_symbols, 1.0);
        for (cell, value) in cells.iter().enumerate() {
            let expected = if value.is_nan() { 1.0 } else { *value };
            assert_eq!(table.get(cell / n_symbols, cell % n_symbols).to_bits(), f64::to_bits(expected), "{cell}");
        }
        assert_eq!(table.bars().collect::<Vec<_>>(), [0, 1, 6]);
        // Padding is neutral.
        assert_eq!(table.row(6)[1], [1.0, 0.5, 4.0, 1.0, 1.0, 1.0, 1.0, 1.0]);
    }
}
