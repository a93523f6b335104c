//! Flat observations that slide through memory.
//!
//! Two windows in a row have all bars but one in common. An array whose rows are longer than an observation holds that of
//! each turn further on than the one before, its oldest bar where that bar is already: only the bars that are new are
//! written, with the account behind them. At the end of a row a whole window is written at its beginning.

use openoutcry_engine::{AccountView, ObservationRows, SlidingRows, StreamingStore, prefetch};

use crate::batch::Batch;
use crate::batch::batch_market::Market;

/// What an array holds of the windows of a batch.
///
/// Two arrays are written by turns, so that each turn of one begins [`SlidingRows::BARS`] after that before.
#[derive(Clone, Debug)]
pub struct Strip {
    /// The batch that it was made for: no other has the same markets in the same lanes.
    batch: u64,
    lookback: usize,
    n_symbols: usize,
    /// See [`SlidingRows`].
    written: Vec<u64>,
}

/// The windows of one turn.
#[derive(Debug)]
pub struct Sliding<'a> {
    rows: &'a mut [f32],
    batch: u64,
    places: Places<'a>,
}

/// Where the windows of one turn lie.
#[derive(Debug)]
pub(super) struct Places<'a> {
    /// From where a row begins to where that of the next lane does.
    stride: usize,
    /// Where a window begins in its row.
    begin: usize,
    slid: SlidingRows<'a>,
}

/// The lines of the caches that are written of one lane: whole ones.
///
/// What there is of them before a window and behind it is nobody's.
pub(super) struct Lines {
    /// The first number and the one behind the last.
    pub(super) from: usize,
    pub(super) to: usize,
    /// How many numbers there are before the account, and behind it.
    pub(super) n_before: usize,
    pub(super) n_behind: usize,
}

impl Strip {
    /// Returns what an array holds that was never written.
    #[must_use]
    pub fn new(batch: &Batch) -> Self {
        let (lookback, n_symbols) = (batch.settings().lookback, batch.n_symbols());
        Self { batch: batch.id, lookback, n_symbols, written: vec![SlidingRows::NOTHING; batch.n_lanes()] }
    }

    /// Returns the length of a lane's row: whole lines of the caches.
    #[must_use]
    pub fn row_len(&self) -> usize {
        (self.begin(self.n_turns() - 1) + (self.lookback + 1) * self.n_symbols + 1)
            .next_multiple_of(StreamingStore::LINE)
    }

    /// Returns how many turns it takes to come to the end of a row.
    #[must_use]
    pub fn n_turns(&self) -> usize {
        self.lookback / SlidingRows::BARS + 1
    }

    /// Returns where the observation of a turn begins in a row.
    #[must_use]
    pub fn begin(&self, turn: usize) -> usize {
        turn * SlidingRows::BARS * self.n_symbols
    }

    /// Returns where the observations of a turn are to be written.
    ///
    /// `array` is that of this strip.
    ///
    /// Turns may come in any order; what is shown is written whole where the turn before was not the last one written.
    ///
    /// # Panics
    ///
    /// Panics if the array has not a row a lane, or there is no such turn.
    #[must_use]
    #[expect(clippy::cast_possible_truncation, reason = "a window is far shorter than 2^32 bars")]
    pub fn seen<'a>(&'a mut self, array: &'a mut [f32], turn: usize) -> Sliding<'a> {
        let (stride, begin) = (self.row_len(), self.begin(turn));
        assert!(
            array.len() == stride * self.written.len() && turn < self.n_turns(),
            "a row a lane, and a turn of these"
        );
        let slid = SlidingRows { written: &mut self.written, turn: turn as u32 };
        Sliding { rows: array, batch: self.batch, places: Places { stride, begin, slid } }
    }
}

impl<'a> Sliding<'a> {
    /// Numbers that may be out of a core's own cache before they are written again.
    const FAR: usize = 1 << 16;

    /// Returns whether it is of that batch.
    pub(super) fn is_of(&self, batch: u64) -> bool {
        self.batch == batch
    }

    /// Returns the length of all rows.
    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    /// Takes off the part of the first `n` lanes.
    pub(super) fn take(&mut self, n: usize) -> Sliding<'a> {
        let Places { stride, begin, slid } = &mut self.places;
        let (rows, rest) = std::mem::take(&mut self.rows).split_at_mut(n * *stride);
        let (written, rest_written) = std::mem::take(&mut slid.written).split_at_mut(n);
        (self.rows, slid.written) = (rest, rest_written);
        let places = Places { stride: *stride, begin: *begin, slid: SlidingRows { written, ..*slid } };
        Sliding { rows, batch: self.batch, places }
    }

    /// Returns the rows, and where in them windows lie.
    pub(super) fn apart(self) -> (&'a mut [f32], Places<'a>) {
        (self.rows, self.places)
    }

    /// Writes what lane `i` may see.
    pub(super) fn write(&mut self, i: usize, held: AccountView<'_>, market: &Market, lookback: usize) {
        let Places { stride, begin, slid } = &mut self.places;
        let row = &mut self.rows[i * *stride + *begin..][..market.flat_len(lookback)];
        let n_there = lookback - slid.lack(i, held.bar(), lookback);
        market.observe_rest(held, lookback, n_there, row);
    }

    /// Fetches what is to be written next of at most `n` lanes.
    #[inline]
    pub(super) fn prefetch(&self, first: usize, n: usize, market: &Market, lookback: usize) {
        let Places { stride, begin, slid } = &self.places;
        if self.rows.len() < Self::FAR || slid.turn == 0 {
            return;
        }
        let end = market.flat_len(lookback);
        let from = end - (SlidingRows::BARS.min(lookback) + 1) * market.data().n_symbols() - 1;
        for row in self.rows.chunks_exact(*stride).skip(first).take(n) {
            prefetch(&row[begin + from..begin + end]);
        }
    }

    /// Returns where `n` lanes of a market are seen.
    #[inline]
    pub(super) fn observed<'s>(
        &'s mut self,
        first: usize,
        n: usize,
        market: &'s Market,
        lookback: usize,
    ) -> ObservationRows<'s> {
        let Places { stride, begin, slid } = &mut self.places;
        let written = &mut slid.written[first..][..n];
        ObservationRows {
            rows: &mut self.rows[first * *stride + *begin..],
            stride: *stride,
            slid: Some(SlidingRows { written, ..*slid }),
            returns: market.returns(),
            width: lookback * market.data().n_symbols(),
        }
    }
}

impl Places<'_> {
    /// Returns the lines to be written of lane `i`, which is at `bar`.
    pub(super) fn lines(&mut self, i: usize, bar: usize, n_symbols: usize, lookback: usize) -> Lines {
        let lack = self.slid.lack(i, bar, lookback);
        let (new, account) = (self.begin + (lookback - lack) * n_symbols, self.begin + lookback * n_symbols);
        let (from, end) = (new - new % StreamingStore::LINE, account + n_symbols + 1);
        let (row, to) = (i * self.stride, end.next_multiple_of(StreamingStore::LINE));
        Lines { from: row + from, to: row + to, n_before: account - from, n_behind: to - end }
    }
}
