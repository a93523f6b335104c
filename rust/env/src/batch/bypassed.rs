//! Flat observations that go past the caches.

use openoutcry_engine::lanes::LANES;
use openoutcry_engine::{Book, Bypass, Observed};

use crate::batch::market::{Market, observe_account};
use crate::batch::sliding::Places;

/// Flat observations of lanes, written one after the other.
///
/// Those of few symbols wait until a whole pack is known; of many, what is seen of a lane is known at once.
#[derive(Debug)]
pub(super) struct Bypassed<'a> {
    bypass: Bypass<'a>,
    /// What waits, lane by lane of a pack.
    rows: &'a mut [f32],
    /// Where lanes lie, if not one right behind the other, and how far that has come.
    places: Option<(Places<'a>, usize)>,
}

impl<'a> Bypassed<'a> {
    /// Returns how much room it takes to wait, for lanes of a market.
    pub(super) fn room(market: &Market, lookback: usize) -> usize {
        2 * Bypass::LINE + market.flat_len(lookback) * if market.data().n_symbols() > LANES { 1 } else { LANES }
    }

    /// Returns observations that go to `flat`, to `places` in it if some are given.
    ///
    /// They wait in [`Bypassed::room`].
    ///
    /// # Panics
    ///
    /// Panics if there is not even room for a line.
    #[expect(unsafe_code, reason = "whoever makes a way past the caches has to drop it")]
    pub(super) fn new(flat: &'a mut [f32], places: Option<Places<'a>>, room: &'a mut [f32]) -> Self {
        let (line, rows) = room.split_first_chunk_mut().expect("room for a line");
        // SAFETY: a share holds this for as long as it is carried out, by one thread, and a step returns after all are.
        let bypass = unsafe { Bypass::new(flat, line) };
        Self { bypass, rows, places: places.map(|places| (places, 0)) }
    }

    /// Returns where what is seen of the first `n` lanes of a pack waits.
    pub(super) fn observed<'s>(&'s mut self, n: usize, market: &'s Market, lookback: usize) -> Observed<'s> {
        let (len, width) = (market.flat_len(lookback), lookback * market.data().n_symbols());
        Observed { rows: &mut self.rows[..n * len], stride: len, slid: None, returns: market.returns(), width }
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

    /// Writes what is seen of the next lane, the one of index `i`.
    pub(super) fn write(&mut self, i: usize, book: &Book, market: &Market, lookback: usize) {
        let n_symbols = market.data().n_symbols();
        let (zeros, account) = self.rows.split_at_mut(self.rows.len() - n_symbols - 1);
        let (mut n_returns, mut n_behind) = (lookback * n_symbols, 0);
        if let Some((places, at)) = &mut self.places {
            let lines = places.lines(i, book.bar(), n_symbols, lookback);
            self.bypass.skip(lines.from - std::mem::replace(at, lines.to));
            (n_returns, n_behind) = (lines.n_before, lines.n_behind);
        }
        let (missing, known) = market.last(book.bar(), n_returns);
        zeros[..missing.max(n_behind)].fill(0.0);
        observe_account(book, account);
        self.bypass.push(&zeros[..missing]);
        self.bypass.push(known);
        self.bypass.push(account);
        self.bypass.push(&zeros[..n_behind]);
    }
}
