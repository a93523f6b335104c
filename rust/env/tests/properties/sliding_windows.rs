//! Two arrays of sliding windows, written in turn.

use openoutcry::batch::{Batch, ObservationArrays, SlidingArray};

/// Unwritten numbers are NaN.
pub struct Strips {
    pair: [SlidingArray; 2],
    arrays: [Vec<f32>; 2],
    step: usize,
}

impl Strips {
    pub fn new(batch: &Batch) -> Self {
        let strip = SlidingArray::new(batch);
        let array = vec![f32::NAN; batch.n_lanes() * strip.row_len()];
        Self { pair: [strip.clone(), strip], arrays: [array.clone(), array], step: 0 }
    }

    /// Returns the output of the next observations, `jump` turns later than expected.
    pub fn next(&mut self, jump: usize) -> ObservationArrays<'_> {
        self.step += 1 + 2 * jump;
        let (strip, array) = (&mut self.pair[self.step % 2], &mut self.arrays[self.step % 2]);
        let turn = self.step / 2 % strip.n_turns();
        ObservationArrays::Sliding(strip.seen(array, turn))
    }

    /// Returns the last observations, lane after lane.
    pub fn shown(&self, len: usize) -> Vec<f32> {
        let (strip, array) = (&self.pair[self.step % 2], &self.arrays[self.step % 2]);
        let begin = strip.begin(self.step / 2 % strip.n_turns());
        array.chunks(strip.row_len()).flat_map(|row| row[begin..begin + len].to_vec()).collect()
    }
}
