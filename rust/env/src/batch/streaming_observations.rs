//! Flat observations that go past the caches.

use openoutcry_engine::lane_sums::LANES;
use openoutcry_engine::{AccountView, ObservationRows, StreamingStore};

use crate::batch::batch_market::{Market, observe_account};
use crate::batch::sliding_windows::Places;

/// Flat observations of lanes, written one after the other.
///
/// Those of few symbols wait until a whole pack is known; of many, what is seen of a lane is known at once. Where they
/// wait is [`Bypassed::room`].
#[derive(Debug)]
pub(super) struct Bypassed<'a> {
    bypass: StreamingStore<'a>,
    /// Where lanes lie, if not one right behind the other, and how far that has come.
    places: Option<(Places<'a>, usize)>,
}

impl<'a> Bypassed<'a> {
    /// Returns how much room it takes to wait, for lanes of a market.
    pub(super) fn room(market: &Market, lookback: usize) -> usize {
        StreamingStore::LINE + market.flat_len(lookback) * if market.data().n_symbols() > LANES { 1 } else { LANES }
    }

    /// Returns observations that go to `flat`, to `places` in it if some are given.
    #[expect(unsafe_code, reason = "whoever makes a way past the caches has to drop it")]
    pub(super) fn new(flat: &'a mut [f32], places: Option<Places<'a>>) -> Self {
        // SAFETY: a share makes this and drops it, on one thread, before the step returns that it is a part of.
        let bypass = unsafe { StreamingStore::new(flat) };
        Self { bypass, places: places.map(|places| (places, 0)) }
    }

    /// Writes what waits of the first `n` lanes of a pack.
    pub(super) fn write_pack(&mut self, n: usize, market: &Market, lookback: usize, room: &[f32]) {
        self.bypass.push(&room[..n * market.flat_len(lookback)]);
    }

    /// Writes what is seen of the next lane, the one of index `i`.
    pub(super) fn write(
        &mut self,
        i: usize,
        held: AccountView<'_>,
        (market, lookback): (&Market, usize),
        room: &mut [f32],
    ) {
        let n_symbols = market.data().n_symbols();
        let (zeros, account) = room.split_at_mut(room.len() - n_symbols - 1);
        let (mut n_returns, mut n_behind) = (lookback * n_symbols, 0);
        if let Some((places, at)) = &mut self.places {
            let lines = places.lines(i, held.bar(), n_symbols, lookback);
            self.bypass.skip(lines.from - std::mem::replace(at, lines.to));
            (n_returns, n_behind) = (lines.n_before, lines.n_behind);
        }
        let (missing, known) = market.last(held.bar(), n_returns);
        zeros[..missing.max(n_behind)].fill(0.0);
        observe_account(held, account);
        self.bypass.push(&zeros[..missing]);
        self.bypass.push(known);
        self.bypass.push(account);
        self.bypass.push(&zeros[..n_behind]);
    }
}

/// Returns where what is seen of the first `n` lanes of a pack waits.
pub(super) fn observed<'s>(room: &'s mut [f32], n: usize, market: &'s Market, lookback: usize) -> ObservationRows<'s> {
    let (len, width) = (market.flat_len(lookback), lookback * market.data().n_symbols());
    ObservationRows { rows: &mut room[..n * len], stride: len, slid: None, returns: market.returns(), width }
}

/// Lets what is seen of a lane of a pack wait.
pub(super) fn wait(room: &mut [f32], place: usize, held: AccountView<'_>, market: &Market, lookback: usize) {
    let len = market.flat_len(lookback);
    market.observe_flat(held, lookback, &mut room[place * len..][..len]);
}
