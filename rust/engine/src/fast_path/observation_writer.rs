//! Observations of accounts: the last returns, weights and cash.

use pulp::Simd;

use crate::fast_path::short_copy::copy;
use crate::vector::lane_sums::{Block, LANES};

/// The output rows of observations: returns and features, weights and cash.
///
/// Weights and cash are fractions of NAV.
#[derive(Debug)]
pub struct ObservationRows<'a> {
    /// One row per account, in order; there may be fewer than eight.
    pub rows: &'a mut [f32],
    /// Distance of adjacent rows.
    ///
    /// It is the length of a row, except for sliding rows.
    pub stride: usize,
    /// The state of sliding rows; absent for rows that do not slide.
    pub slid: Option<SlidingRows<'a>>,
    /// The returns and features of the market, bar after bar.
    pub market: &'a [f32],
    /// Numbers per bar of the market: one return per symbol, and the features.
    pub bar_len: usize,
    /// Numbers of the market per row, up to the bar of the account.
    ///
    /// 0 before the first bar.
    pub width: usize,
}

/// The contents of sliding rows from earlier turns.
///
/// The rows of each turn begin [`SlidingRows::BARS`] bars later in memory than those of the turn before. If an account
/// has moved by as many bars, only those are written.
#[derive(Debug)]
pub struct SlidingRows<'a> {
    /// The last write of each account: [`SlidingRows::NOTHING`], or turn and bar.
    pub written: &'a mut [u64],
    /// The current turn.
    pub turn: u32,
}

impl SlidingRows<'_> {
    /// Bars from turn to turn.
    pub const BARS: usize = 2;

    /// The state of an unwritten row: no valid turn and bar, without overflow at + 1.
    pub const NOTHING: u64 = u64::MAX / 2;

    const TURN: u64 = 1 << 32;

    /// Returns the number of last bars that a row lacks, at most `lookback`.
    ///
    /// The row of an account at `bar` then counts as written.
    #[inline(always)]
    pub fn lack(&mut self, account: usize, bar: usize, lookback: usize) -> usize {
        let now = self.now(bar);
        let before = std::mem::replace(&mut self.written[account], now);
        if Self::follows(before, now) { lookback.min(Self::BARS) } else { lookback }
    }

    /// Returns whether each of eight rows lacks at most [`SlidingRows::BARS`].
    ///
    /// The rows of accounts at `bars` then count as written.
    #[inline(always)]
    fn all_follow(&mut self, bars: &[usize; LANES]) -> bool {
        let Some(written) = self.written.first_chunk::<LANES>() else { return false };
        let now = bars.map(|bar| self.now(bar));
        // Without an early exit the loop is vectorized.
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
pub(crate) struct LaneObservations<const N: usize> {
    /// Account by account.
    pub(crate) weights: [[f64; N]; LANES],
    pub(crate) cash: Block,
}

impl<const N: usize> LaneObservations<N> {
    #[inline(always)]
    pub(crate) fn new() -> Self {
        Self { weights: [[0.0; N]; LANES], cash: [0.0; LANES] }
    }

    /// Writes the weights of an account, followed by its cash.
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

impl ObservationRows<'_> {
    /// Writes the observations of accounts that moved to the bars after `bars`.
    ///
    /// Only of the accounts in `which`, one bit each.
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
        reported: &LaneObservations<N>,
    ) {
        let (market, bar_len, width) = (self.market, self.bar_len, self.width);
        let row_len = width + n_symbols + 1;
        // Two loops: one loop with a branch takes longer for either case.
        if let Some(slid) = &mut self.slid {
            let (lookback, now) = (width / bar_len, bars.map(|bar| bar + 1));
            let is_narrow = n_symbols == N && bar_len == N;
            // A window with fewer bars than are new is written whole.
            if is_narrow && which == u8::MAX && lookback >= SlidingRows::BARS && slid.all_follow(&now) {
                self.slide(bars, reported);
                return;
            }
            for (account, bar) in bars.iter().enumerate().filter(|(account, _)| which >> account & 1 == 1) {
                let (window, shown) = self.rows[account * self.stride..][..row_len].split_at_mut(width);
                let lack = slid.lack(account, bar + 1, lookback);
                let new = &mut window[width - lack * bar_len..];
                if is_narrow && lack == SlidingRows::BARS {
                    show_new::<N>(market, bar + 1, new);
                } else {
                    show_bars(simd, market, (bar + 2) * bar_len, new);
                }
                reported.show(account, shown);
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
                show_bars(simd, market, (bar + 2) * bar_len, window);
            }
            reported.show(account, shown);
        }
    }

    /// Writes the last [`SlidingRows::BARS`], weights and cash of eight accounts.
    ///
    /// `N` symbols without features make all lengths constant. Most windows are written here.
    #[inline(always)]
    fn slide<const N: usize>(&mut self, bars: &[usize; LANES], reported: &LaneObservations<N>) {
        let end = self.width - SlidingRows::BARS * N;
        for (account, bar) in bars.iter().enumerate() {
            // One bounds check per row, and none per part.
            let row = &mut self.rows[account * self.stride + end..][..=(SlidingRows::BARS + 1) * N];
            let (new, shown) = row.split_at_mut(SlidingRows::BARS * N);
            show_new::<N>(self.market, bar + 1, new);
            reported.show(account, shown);
        }
    }

    /// Writes the observation of one account at `bar`.
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
            n_there = self.width - slid.lack(account, bar, self.width / self.bar_len) * self.bar_len;
        }
        show_bars(simd, self.market, (bar + 1) * self.bar_len, &mut window[n_there..]);
        let (last, seen) = shown.split_last_mut().expect("a place for cash");
        for (seen, weight) in seen.iter_mut().zip(weights.as_flattened()) {
            *seen = *weight as f32;
        }
        *last = cash as f32;
    }
}

/// Writes the returns of the last [`SlidingRows::BARS`] bars, of `N` symbols each.
#[inline(always)]
fn show_new<const N: usize>(returns: &[f32], bar: usize, new: &mut [f32]) {
    let bars = &returns.as_chunks::<N>().0[bar + 1 - SlidingRows::BARS..][..SlidingRows::BARS];
    new.copy_from_slice(bars.as_flattened());
}

/// Writes the last known bars, oldest first.
#[inline(always)]
fn show_bars<S: Simd>(simd: S, market: &[f32], n_known: usize, window: &mut [f32]) {
    if let Some(first) = n_known.checked_sub(window.len()) {
        copy(simd, &market[first..n_known], window);
    } else {
        let (before, shown) = window.split_at_mut(window.len() - n_known);
        before.fill(0.0);
        shown.copy_from_slice(&market[..n_known]);
    }
}
