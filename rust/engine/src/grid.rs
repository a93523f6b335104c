use crate::lanes::{Block, LANES, n_blocks};

/// A time-major table of f64, each bar a row of whole blocks.
///
/// The last block is padded with a value that is neutral for its column, so that the step needs no remainder loop.
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

    pub(crate) fn get(&self, bar: usize, symbol: usize) -> f64 {
        self.blocks[bar * self.width + symbol / LANES][symbol % LANES]
    }

    pub(crate) fn set(&mut self, bar: usize, symbol: usize, value: f64) {
        self.blocks[bar * self.width + symbol / LANES][symbol % LANES] = value;
    }
}
