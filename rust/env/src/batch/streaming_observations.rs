//! Flat observations written with streaming stores.

use openoutcry_engine::lane_sums::LANES;
use openoutcry_engine::{AccountView, ObservationRows, StreamingStore};

use crate::batch::batch_market::{Market, observe_account};
use crate::batch::sliding_windows::RowPositions;

/// Flat observations of lanes, written in order.
///
/// Observations of few symbols are buffered until a whole block is known. Observations of many symbols are written at
/// once. The buffer has [`StreamingObservations::scratch_len`] numbers.
#[derive(Debug)]
pub(super) struct StreamingObservations<'a> {
    bypass: StreamingStore<'a>,
    /// Positions of the lanes if they are not contiguous, and the next lane.
    positions: Option<(RowPositions<'a>, usize)>,
}

impl<'a> StreamingObservations<'a> {
    /// Returns the length of the buffer for lanes of a market.
    pub(super) fn scratch_len(market: &Market, lookback: usize) -> usize {
        StreamingStore::LINE + market.flat_len(lookback) * if market.data().n_symbols() > LANES { 1 } else { LANES }
    }

    /// Returns the writer of `flat`, at `positions` if they are given.
    #[expect(unsafe_code, reason = "the caller must drop the writer, which ends with a fence")]
    pub(super) fn new(flat: &'a mut [f32], positions: Option<RowPositions<'a>>) -> Self {
        // SAFETY: a share creates and drops the writer on one thread, before its step returns.
        let bypass = unsafe { StreamingStore::new(flat) };
        Self { bypass, positions: positions.map(|positions| (positions, 0)) }
    }

    /// Writes the buffered observations of the first `n` lanes of a block.
    pub(super) fn write_block(&mut self, n: usize, market: &Market, lookback: usize, scratch: &[f32]) {
        self.bypass.push(&scratch[..n * market.flat_len(lookback)]);
    }

    /// Writes the observation of the next lane, lane `i`.
    pub(super) fn write(
        &mut self,
        i: usize,
        held: AccountView<'_>,
        (market, lookback): (&Market, usize),
        scratch: &mut [f32],
    ) {
        let n_symbols = market.data().n_symbols();
        let (zeros, account) = scratch.split_at_mut(scratch.len() - n_symbols - 1);
        let (mut n_before, mut n_behind) = (lookback * market.bar_len(), 0);
        if let Some((positions, at)) = &mut self.positions {
            let lines = positions.lines(i, held.bar(), (n_symbols, market.bar_len()), lookback);
            self.bypass.skip(lines.from - std::mem::replace(at, lines.to));
            (n_before, n_behind) = (lines.n_before, lines.n_behind);
        }
        let (missing, known) = market.last(held.bar(), n_before);
        zeros[..missing.max(n_behind)].fill(0.0);
        observe_account(held, account);
        self.bypass.push(&zeros[..missing]);
        self.bypass.push(known);
        self.bypass.push(account);
        self.bypass.push(&zeros[..n_behind]);
    }
}

/// Returns the buffer rows of the first `n` lanes of a block.
pub(super) fn observed<'s>(
    scratch: &'s mut [f32],
    n: usize,
    market: &'s Market,
    lookback: usize,
) -> ObservationRows<'s> {
    let (len, width) = (market.flat_len(lookback), lookback * market.bar_len());
    let (rows, bar_len) = (&mut scratch[..n * len], market.bar_len());
    ObservationRows { rows, stride: len, slid: None, market: market.bars(), bar_len, width }
}

/// Buffers the observation of a lane of a block.
pub(super) fn wait(scratch: &mut [f32], place: usize, held: AccountView<'_>, market: &Market, lookback: usize) {
    let len = market.flat_len(lookback);
    market.observe_flat(held, lookback, &mut scratch[place * len..][..len]);
}
