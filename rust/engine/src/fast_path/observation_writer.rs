//! What a learner sees of accounts: the last returns, weights and cash.

use pulp::Simd;

use crate::fast_path::short_copy::copy;
use crate::vector::lane_sums::{Block, LANES};

/// Where what is seen of accounts goes: returns, weights held and cash.
///
/// Weights and cash are fractions of NAV.
#[derive(Debug)]
pub struct Observed<'a> {
    /// One an account, one after the other; there may be fewer than eight.
    pub rows: &'a mut [f32],
    /// From where a row begins to where the next one does.
    ///
    /// That is the length of one, unless they have slid.
    pub stride: usize,
    /// What the rows hold already; nothing if that is not known.
    pub slid: Option<Slid<'a>>,
    /// The returns of the market, one per symbol, bar after bar.
    pub returns: &'a [f32],
    /// How many of them a row begins with, up to the account's bar; 0 before the first.
    pub width: usize,
}

/// What rows hold of earlier turns.
///
/// Each turn begins [`Slid::BARS`] further on in memory than the one before.
/// Where an account was carried on by as many bars since the turn before, only those are missing.
#[derive(Debug)]
pub struct Slid<'a> {
    /// What was written last, one an account: [`Slid::NOTHING`], or turn and bar.
    pub written: &'a mut [u64],
    /// This turn.
    pub turn: u32,
}

impl Slid<'_> {
    /// Bars from turn to turn.
    pub const BARS: usize = 2;

    /// Where nothing was written: no turn and bar, and a turn more still fits.
    pub const NOTHING: u64 = u64::MAX / 2;

    const TURN: u64 = 1 << 32;

    /// Returns how many of the last bars a row lacks, of at most `lookback`.
    ///
    /// It is the row of an account that is at `bar`, and counts as written from then on.
    #[inline(always)]
    pub fn lack(&mut self, account: usize, bar: usize, lookback: usize) -> usize {
        let now = self.now(bar);
        let before = std::mem::replace(&mut self.written[account], now);
        if Self::follows(before, now) { lookback.min(Self::BARS) } else { lookback }
    }

    /// Returns whether eight rows lack no more than [`Slid::BARS`].
    ///
    /// They are those of accounts at `bars`, and count as written then.
    #[inline(always)]
    fn all_follow(&mut self, bars: &[usize; LANES]) -> bool {
        let Some(written) = self.written.first_chunk::<LANES>() else { return false };
        let now = bars.map(|bar| self.now(bar));
        // Without a way out of the loop it runs over vectors.
        let follow = written.iter().zip(&now).fold(true, |all, (before, now)| all & Self::follows(*before, *now));
        if follow {
            self.written[..LANES].copy_from_slice(&now);
        }
        follow
    }

    #[inline(always)]
    fn now(&self, bar: usize) -> u64 {
        u64::from(self.turn) * Self::TURN + bar as u64
    }

    #[inline(always)]
    fn follows(before: u64, now: u64) -> bool {
        before + (Self::TURN + Self::BARS as u64) == now
    }
}

/// Weights and cash of eight accounts after a step, as fractions of NAV.
pub(crate) struct Shown<const N: usize> {
    /// Account by account.
    pub(crate) weights: [[f64; N]; LANES],
    pub(crate) cash: Block,
}

impl<const N: usize> Shown<N> {
    #[inline(always)]
    pub(crate) fn new() -> Self {
        Self { weights: [[0.0; N]; LANES], cash: [0.0; LANES] }
    }

    /// Writes the weights of an account, and its cash behind them.
    #[inline(always)]
    #[expect(clippy::cast_possible_truncation, reason = "observed in f32")]
    fn show(&self, account: usize, to: &mut [f32]) {
        let (cash, seen) = to.split_last_mut().expect("a place for cash");
        let weights = &self.weights[account];
        if let Some(whole) = seen.first_chunk_mut::<N>() {
            *whole = weights.map(|weight| weight as f32);
        } else {
            for (seen, weight) in seen.iter_mut().zip(weights) {
                *seen = *weight as f32;
            }
        }
        *cash = self.cash[account] as f32;
    }
}

impl Observed<'_> {
    /// Writes what is seen of accounts that were carried to the bars after `bars`.
    ///
    /// Of `which` alone, a bit each.
    ///
    /// # Panics
    ///
    /// Panics if one of them has no row.
    #[inline(always)]
    pub(crate) fn write<S: Simd, const N: usize>(
        &mut self,
        simd: S,
        n_symbols: usize,
        (which, bars): (u8, &[usize; LANES]),
        told: &Shown<N>,
    ) {
        let (returns, width, row_len) = (self.returns, self.width, self.width + n_symbols + 1);
        // Two loops, for one that asks each time takes longer either way.
        if let Some(slid) = &mut self.slid {
            let (lookback, now) = (width / n_symbols, bars.map(|bar| bar + 1));
            // A window of fewer bars than are new is written whole.
            if n_symbols == N && which == u8::MAX && lookback >= Slid::BARS && slid.all_follow(&now) {
                self.slide(bars, told);
                return;
            }
            for (account, bar) in bars.iter().enumerate().filter(|(account, _)| which >> account & 1 == 1) {
                let (window, shown) = self.rows[account * self.stride..][..row_len].split_at_mut(width);
                let lack = slid.lack(account, bar + 1, lookback);
                let new = &mut window[width - lack * n_symbols..];
                if n_symbols == N && lack == Slid::BARS {
                    show_new::<N>(returns, bar + 1, new);
                } else {
                    show_returns(simd, returns, (bar + 2) * n_symbols, new);
                }
                told.show(account, shown);
            }
            return;
        }
        let mut rows = &mut *self.rows;
        for (account, bar) in bars.iter().enumerate() {
            if which >> account == 0 {
                return;
            }
            let (row, others) = rows.split_at_mut(row_len);
            rows = others;
            if which >> account & 1 == 0 {
                continue;
            }
            let (window, shown) = row.split_at_mut(width);
            if width > 0 {
                show_returns(simd, returns, (bar + 2) * n_symbols, window);
            }
            told.show(account, shown);
        }
    }

    /// Writes the last [`Slid::BARS`], weights and cash of eight accounts.
    ///
    /// They have `N` symbols, so that all is of a length that is known here: most windows are written so.
    #[inline(always)]
    fn slide<const N: usize>(&mut self, bars: &[usize; LANES], told: &Shown<N>) {
        let end = self.width - Slid::BARS * N;
        for (account, bar) in bars.iter().enumerate() {
            // One check of a row's length, and none of the parts'.
            let row = &mut self.rows[account * self.stride + end..][..=(Slid::BARS + 1) * N];
            let (new, shown) = row.split_at_mut(Slid::BARS * N);
            show_new::<N>(self.returns, bar + 1, new);
            told.show(account, shown);
        }
    }

    /// Writes what is seen of one account, that is at `bar` now.
    ///
    /// # Panics
    ///
    /// Panics if it has no row.
    #[inline(always)]
    #[expect(clippy::cast_possible_truncation, reason = "observed in f32")]
    pub(crate) fn write_one<S: Simd>(
        &mut self,
        simd: S,
        (account, bar): (usize, usize),
        n_symbols: usize,
        (weights, cash): (&[Block], f64),
    ) {
        let row_len = self.width + n_symbols + 1;
        let (window, shown) = self.rows[account * self.stride..][..row_len].split_at_mut(self.width);
        let mut n_there = 0;
        if let Some(slid) = &mut self.slid {
            n_there = self.width - slid.lack(account, bar, self.width / n_symbols) * n_symbols;
        }
        show_returns(simd, self.returns, (bar + 1) * n_symbols, &mut window[n_there..]);
        let (last, seen) = shown.split_last_mut().expect("a place for cash");
        for (seen, weight) in seen.iter_mut().zip(weights.as_flattened()) {
            *seen = *weight as f32;
        }
        *last = cash as f32;
    }
}

/// Writes the returns of the [`Slid::BARS`] up to `bar`, of `N` symbols each.
#[inline(always)]
fn show_new<const N: usize>(returns: &[f32], bar: usize, new: &mut [f32]) {
    let bars = &returns.as_chunks::<N>().0[bar + 1 - Slid::BARS..][..Slid::BARS];
    new.copy_from_slice(bars.as_flattened());
}

/// Writes the last returns of those that are known, oldest first.
#[inline(always)]
fn show_returns<S: Simd>(simd: S, returns: &[f32], n_known: usize, window: &mut [f32]) {
    if let Some(first) = n_known.checked_sub(window.len()) {
        copy(simd, &returns[first..n_known], window);
    } else {
        let (before, shown) = window.split_at_mut(window.len() - n_known);
        before.fill(0.0);
        shown.copy_from_slice(&returns[..n_known]);
    }
}
