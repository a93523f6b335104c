//! Two arrays of sliding windows, written in turn.

use openoutcry::batch::{Batch, ObservationArrays, SlidingArray};

/// Unwritten numbers are NaN.
pub struct SlidingPair {
    pair: [SlidingArray; 2],
    arrays: [Vec<f32>; 2],
    step: usize,
}

impl SlidingPair {
    pub fn new(batch: &Batch) -> Self {
        let sliding_array = SlidingArray::new(batch);
        let array = vec![f32::NAN; batch.n_lanes() * sliding_array.row_len()];
        Self { pair: [sliding_array.clone(), sliding_array], arrays: [array.clone(), array], step: 0 }
    }

    /// Returns the output of the next observations, `jump` turns later than expected.
    pub fn next(&mut self, jump: usize) -> ObservationArrays<'_> {
        self.step += 1 + 2 * jump;
        let (sliding_array, array) = (&mut self.pair[self.step % 2], &mut self.arrays[self.step % 2]);
        let turn = self.step / 2 % sliding_array.n_turns();
        ObservationArrays::Sliding(sliding_array.seen(array, turn))
    }

    /// Returns the last observations, lane after lane.
    pub fn shown(&self, len: usize) -> Vec<f32> {
        let (sliding_array, array) = (&self.pair[self.step % 2], &self.arrays[self.step % 2]);
        let begin = sliding_array.begin(self.step / 2 % sliding_array.n_turns());
        array.chunks(sliding_array.row_len()).flat_map(|row| row[begin..begin + len].to_vec()).collect()
    }
}
