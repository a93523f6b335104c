use crate::vector::lane_sums::{Block, LANES, n_blocks};

/// A time-major table of f64; each bar is a row of whole blocks.
///
/// The last block is padded with the neutral value of the column, so that the step needs no remainder loop.
#[derive(Clone, Debug)]
pub(crate) struct Grid {
    blocks: Vec<Block>,
    width: usize,
}

impl Grid {
    pub(crate) fn from_rows(values: &[f64], n_symbols: usize, padding: f64) -> Self {
        let width = n_blocks(n_symbols);
        let mut blocks = Vec::with_capacity(values.len() / n_symbols * width);
        for row in values.chunks_exact(n_symbols) {
            let (whole, rest) = row.as_chunks::<LANES>();
            blocks.extend_from_slice(whole);
            if !rest.is_empty() {
                let mut last = [padding; LANES];
                last[..rest.len()].copy_from_slice(rest);
                blocks.push(last);
            }
        }
        Self { blocks, width }
    }

    /// Returns all blocks, bar after bar.
    pub(crate) fn blocks(&self) -> &[Block] {
        &self.blocks
    }

    pub(crate) fn row(&self, bar: usize) -> &[Block] {
        &self.blocks[bar * self.width..(bar + 1) * self.width]
    }

    /// Returns the values of all bars without the padding.
    pub(crate) fn values(&self, n_symbols: usize) -> Vec<f64> {
        let rows = self.blocks.chunks_exact(self.width);
        let mut values = Vec::with_capacity(rows.len() * n_symbols);
        rows.for_each(|row| values.extend_from_slice(&row.as_flattened()[..n_symbols]));
        values
    }

    pub(crate) fn get(&self, bar: usize, symbol: usize) -> f64 {
        self.blocks[bar * self.width + symbol / LANES][symbol % LANES]
    }

    pub(crate) fn row_mut(&mut self, bar: usize) -> &mut [Block] {
        &mut self.blocks[bar * self.width..(bar + 1) * self.width]
    }

    /// Returns an empty table with room for `n_bars`.
    pub(crate) fn with_capacity(n_bars: usize, n_symbols: usize) -> Self {
        let width = n_blocks(n_symbols);
        Self { blocks: Vec::with_capacity(n_bars * width), width }
    }

    /// Adds bars with missing values.
    pub(crate) fn grow(&mut self, n_bars: usize, n_symbols: usize, padding: f64) {
        let mut row = vec![[f64::NAN; LANES]; self.width];
        row.as_flattened_mut()[n_symbols..].fill(padding);
        for _ in 0..n_bars {
            self.blocks.extend_from_slice(&row);
        }
    }

    /// Returns the cells of a symbol from bar `first` on.
    pub(crate) fn column_mut(&mut self, first: usize, symbol: usize) -> impl Iterator<Item = &mut f64> {
        let blocks = self.blocks[first * self.width + symbol / LANES..].iter_mut().step_by(self.width);
        blocks.map(move |block| &mut block[symbol % LANES])
    }
}
