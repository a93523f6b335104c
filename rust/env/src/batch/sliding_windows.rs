//! Flat observations in sliding rows.
//!
//! Two consecutive windows share all bars except one. In an array with rows longer than an observation, each turn
//! writes its observation further to the right, so that the shared bars are in place: only the new bars and the account
//! are written. At the end of a row the window is written whole at its beginning.

use openoutcry_engine::{AccountView, ObservationRows, SlidingRows, StreamingStore, prefetch};

use crate::batch::batch_market::Market;

/// The windows of a batch in an array.
///
/// Two arrays are written in turn. Each turn of one array begins [`SlidingRows::BARS`] bars after its previous turn.
#[derive(Clone, Debug)]
pub struct SlidingArray {
    /// The batch of the array: no other has the same markets in the same lanes.
    batch: u64,
    lookback: usize,
    n_symbols: usize,
    /// Numbers per bar.
    bar_len: usize,
    /// See [`SlidingRows`].
    written: Vec<u64>,
}

/// The windows of one turn.
#[derive(Debug)]
pub struct SlidingTurn<'a> {
    rows: &'a mut [f32],
    batch: u64,
    positions: RowPositions<'a>,
}

/// Positions of the windows of one turn.
#[derive(Debug)]
pub(super) struct RowPositions<'a> {
    /// Distance of the rows of adjacent lanes.
    stride: usize,
    /// Position of a window in its row.
    begin: usize,
    slid: SlidingRows<'a>,
}

/// The cache lines written for one lane, whole lines only.
///
/// The numbers before and after the window are unused.
pub(super) struct CacheLines {
    /// Position of the first number, and of the end.
    pub(super) from: usize,
    pub(super) to: usize,
    /// Numbers before the account, and from the account on.
    pub(super) n_before: usize,
    pub(super) n_behind: usize,
}

impl SlidingArray {
    /// Returns the state of an array of `n_lanes` rows that was never written.
    pub(super) fn unwritten(batch: u64, lookback: usize, market: &Market, n_lanes: usize) -> Self {
        let (n_symbols, bar_len) = (market.data().n_symbols(), market.bar_len());
        Self { batch, lookback, n_symbols, bar_len, written: vec![SlidingRows::NOTHING; n_lanes] }
    }

    /// Returns the length of the row of a lane, in whole cache lines.
    #[must_use]
    pub fn row_len(&self) -> usize {
        (self.begin(self.n_turns() - 1) + self.lookback * self.bar_len + self.n_symbols + 1)
            .next_multiple_of(StreamingStore::LINE)
    }

    /// Returns the number of turns per row.
    #[must_use]
    pub fn n_turns(&self) -> usize {
        self.lookback / SlidingRows::BARS + 1
    }

    /// Returns the position of the observation of a turn in a row.
    #[must_use]
    pub fn begin(&self, turn: usize) -> usize {
        turn * SlidingRows::BARS * self.bar_len
    }

    /// Returns the writer of the observations of a turn.
    ///
    /// `array` is the array of this state.
    ///
    /// Turns may come in any order. A window is written whole if the previous turn was not the last one written.
    ///
    /// # Panics
    ///
    /// Panics if the array does not have one row per lane, or there is no such turn.
    #[must_use]
    #[expect(clippy::cast_possible_truncation, reason = "a window is far shorter than 2^32 bars")]
    pub fn seen<'a>(&'a mut self, array: &'a mut [f32], turn: usize) -> SlidingTurn<'a> {
        let (stride, begin) = (self.row_len(), self.begin(turn));
        assert!(
            array.len() == stride * self.written.len() && turn < self.n_turns(),
            "a row a lane, and a turn of these"
        );
        let slid = SlidingRows { written: &mut self.written, turn: turn as u32 };
        SlidingTurn { rows: array, batch: self.batch, positions: RowPositions { stride, begin, slid } }
    }
}

impl<'a> SlidingTurn<'a> {
    /// Length of rows that may have left the private cache before the next write.
    const FAR: usize = 1 << 16;

    /// Returns whether the rows belong to `batch`.
    pub(super) fn is_of(&self, batch: u64) -> bool {
        self.batch == batch
    }

    /// Returns the length of all rows.
    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    /// Splits off the part of the first `n` lanes.
    pub(super) fn take(&mut self, n: usize) -> SlidingTurn<'a> {
        let RowPositions { stride, begin, slid } = &mut self.positions;
        let (rows, rest) = std::mem::take(&mut self.rows).split_at_mut(n * *stride);
        let (written, rest_written) = std::mem::take(&mut slid.written).split_at_mut(n);
        (self.rows, slid.written) = (rest, rest_written);
        let positions = RowPositions { stride: *stride, begin: *begin, slid: SlidingRows { written, ..*slid } };
        SlidingTurn { rows, batch: self.batch, positions }
    }

    /// Returns the rows, and the positions of the windows in them.
    pub(super) fn into_parts(self) -> (&'a mut [f32], RowPositions<'a>) {
        (self.rows, self.positions)
    }

    /// Writes the observation of lane `i`.
    pub(super) fn write(&mut self, i: usize, held: AccountView<'_>, market: &Market, lookback: usize) {
        let RowPositions { stride, begin, slid } = &mut self.positions;
        let row = &mut self.rows[i * *stride + *begin..][..market.flat_len(lookback)];
        let n_there = lookback - slid.lack(i, held.bar(), lookback);
        market.observe_rest(held, lookback, n_there, row);
    }

    /// Prefetches the next memory to write for at most `n` lanes.
    #[inline]
    pub(super) fn prefetch(&self, first: usize, n: usize, market: &Market, lookback: usize) {
        let RowPositions { stride, begin, slid } = &self.positions;
        if self.rows.len() < Self::FAR || slid.turn == 0 {
            return;
        }
        let end = market.flat_len(lookback);
        let from = end - SlidingRows::BARS.min(lookback) * market.bar_len() - market.data().n_symbols() - 1;
        for row in self.rows.chunks_exact(*stride).skip(first).take(n) {
            prefetch(&row[begin + from..begin + end]);
        }
    }

    /// Returns the output rows of `n` lanes of a market.
    #[inline]
    pub(super) fn observed<'s>(
        &'s mut self,
        first: usize,
        n: usize,
        market: &'s Market,
        lookback: usize,
    ) -> ObservationRows<'s> {
        let RowPositions { stride, begin, slid } = &mut self.positions;
        let written = &mut slid.written[first..][..n];
        ObservationRows {
            rows: &mut self.rows[first * *stride + *begin..],
            stride: *stride,
            slid: Some(SlidingRows { written, ..*slid }),
            market: market.bars(),
            bar_len: market.bar_len(),
            width: lookback * market.bar_len(),
        }
    }
}

impl RowPositions<'_> {
    /// Returns the cache lines to write for lane `i` at `bar`.
    ///
    /// `sizes` are the number of symbols and the numbers per bar.
    pub(super) fn lines(&mut self, i: usize, bar: usize, sizes: (usize, usize), lookback: usize) -> CacheLines {
        let (n_symbols, bar_len) = sizes;
        let lack = self.slid.lack(i, bar, lookback);
        let (new, account) = (self.begin + (lookback - lack) * bar_len, self.begin + lookback * bar_len);
        let (from, end) = (new - new % StreamingStore::LINE, account + n_symbols + 1);
        let (row, to) = (i * self.stride, end.next_multiple_of(StreamingStore::LINE));
        CacheLines { from: row + from, to: row + to, n_before: account - from, n_behind: to - end }
    }
}
