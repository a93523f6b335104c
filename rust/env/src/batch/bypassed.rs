//! Flat observations that go past the caches.

use openoutcry_engine::lanes::LANES;
use openoutcry_engine::{Book, Bypass, Observed};

use crate::batch::market::{Market, observe_account};

/// Flat observations of lanes, written one after the other.
///
/// Those of few symbols wait until a whole pack is known; of many, what is seen of a lane is known at once.
#[derive(Debug)]
pub(super) struct Bypassed<'a> {
    bypass: Bypass<'a>,
    /// What waits, lane by lane of a pack.
    rows: &'a mut [f32],
}

impl<'a> Bypassed<'a> {
    /// Returns how much room it takes to wait, for lanes of a market.
    pub(super) fn room(market: &Market, lookback: usize) -> usize {
        Bypass::LINE + market.flat_len(lookback) * if market.data().n_symbols() > LANES { 1 } else { LANES }
    }

    /// Returns observations that go to `flat`, with [`Bypassed::room`] to wait in.
    ///
    /// # Panics
    ///
    /// Panics if there is not even room for a line.
    #[expect(unsafe_code, reason = "whoever makes a way past the caches has to drop it")]
    pub(super) fn new(flat: &'a mut [f32], room: &'a mut [f32]) -> Self {
        let (line, rows) = room.split_first_chunk_mut().expect("room for a line");
        // SAFETY: a share holds this for as long as it is carried out, by one thread, and a step returns after all are.
        Self { bypass: unsafe { Bypass::new(flat, line) }, rows }
    }

    /// Returns where what is seen of the first `n` lanes of a pack waits.
    pub(super) fn observed<'s>(&'s mut self, n: usize, market: &'s Market, lookback: usize) -> Observed<'s> {
        let (len, width) = (market.flat_len(lookback), lookback * market.data().n_symbols());
        Observed { rows: &mut self.rows[..n * len], returns: market.returns(), width }
    }

    /// Lets what is seen of a lane of a pack wait.
    pub(super) fn wait(&mut self, place: usize, book: &Book, market: &Market, lookback: usize) {
        let len = market.flat_len(lookback);
        market.observe_flat(book, lookback, &mut self.rows[place * len..][..len]);
    }

    /// Writes what waits of the first `n` lanes of a pack.
    pub(super) fn write_pack(&mut self, n: usize, market: &Market, lookback: usize) {
        self.bypass.push(&self.rows[..n * market.flat_len(lookback)]);
    }

    /// Writes what is seen of the next lane.
    pub(super) fn write(&mut self, book: &Book, market: &Market, lookback: usize) {
        let (missing, known) = market.window(book.bar(), lookback);
        let account = market.data().n_symbols() + 1;
        let (zeros, account) = self.rows.split_at_mut(self.rows.len() - account);
        zeros[..missing].fill(0.0);
        observe_account(book, account);
        self.bypass.push(&zeros[..missing]);
        self.bypass.push(known);
        self.bypass.push(account);
    }
}
