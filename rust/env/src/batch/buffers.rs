use openoutcry_engine::lane_sums::{Block, LANES};
use openoutcry_engine::{AccountView, Dataset, ObservationRows};

use crate::batch::batch_market::{Market, observe_account};
use crate::batch::lane_episodes::Told;
use crate::batch::sliding_windows::Sliding;

/// Where the observations of a batch go, lane after lane.
#[derive(Debug)]
pub enum Seen<'a> {
    /// See [`Market::observe_flat`].
    Flat(&'a mut [f32]),
    /// The same, in rows that hold most of it already.
    Sliding(Sliding<'a>),
    /// The arrays of the scalar environment.
    Dict(Arrays<'a>),
    /// The bar, for learners that gather windows themselves, and the account in f32.
    Cursor {
        /// One a lane.
        bars: &'a mut [i64],
        /// Weights and cash over NAV: symbols and one more a lane.
        account: &'a mut [f32],
    },
}

/// An observation in f64, array by array.
#[derive(Debug, Default)]
pub struct Arrays<'a> {
    /// Closes by lane and symbol, 0 where one is not listed.
    pub closes: &'a mut [f64],
    /// 1 where a symbol is listed.
    pub listed: &'a mut [i8],
    /// Shares by lane and symbol.
    pub positions: &'a mut [f64],
    /// Cash by lane.
    pub cash: &'a mut [f64],
    /// Closes by lane, bar and symbol, oldest first, 0 before a listing; or empty.
    pub history: &'a mut [f64],
}

/// Where the outcome of a step goes, one element a lane.
#[derive(Debug)]
pub struct Outcome<'a> {
    /// What the step is worth.
    pub rewards: &'a mut [f64],
    /// Whether the account was liquidated or ruined.
    pub terminated: &'a mut [bool],
    /// Whether the episode was cut off.
    pub truncated: &'a mut [bool],
    /// Whether the step began an episode instead of trading.
    pub reset: &'a mut [bool],
}

/// Takes the first `n` elements off a slice.
#[expect(clippy::mut_mut, reason = "what is left is put back in place of the whole")]
fn take<'a, T>(slice: &mut &'a mut [T], n: usize) -> &'a mut [T] {
    let (head, tail) = std::mem::take(slice).split_at_mut(n);
    *slice = tail;
    head
}

/// Writes the first `n` of eight.
#[inline]
fn copy_first<T: Copy>(to: &mut [T], n: usize, from: &[T; LANES]) {
    match to.first_chunk_mut() {
        // Eight of them are one move, and one is: no call.
        Some(to) if n == LANES => *to = *from,
        _ if n == 1 => to[0] = from[0],
        _ => copy_fewer(&mut to[..n], from),
    }
}

/// Apart, or both ways would be one call of `memcpy`.
#[cold]
#[inline(never)]
fn copy_fewer<T: Copy>(to: &mut [T], from: &[T; LANES]) {
    to.copy_from_slice(&from[..to.len()]);
}

/// Returns the first of some arrays whose length is not the one expected.
fn odd<const N: usize>(lengths: [(&'static str, usize, usize); N]) -> Option<(&'static str, usize, usize)> {
    lengths.into_iter().find(|(_, received, expected)| received != expected)
}

impl<'a> Seen<'a> {
    /// Takes off the part of the first `n` of `n_lanes` lanes.
    pub(crate) fn take(&mut self, n: usize, n_lanes: usize) -> Seen<'a> {
        match self {
            Self::Flat(flat) => {
                let len = flat.len() / n_lanes.max(1) * n;
                Seen::Flat(take(flat, len))
            }
            Self::Sliding(sliding) => Seen::Sliding(sliding.take(n)),
            Self::Dict(arrays) => Seen::Dict(arrays.take(n, n_lanes)),
            Self::Cursor { bars, account } => {
                let len = account.len() / n_lanes.max(1) * n;
                Seen::Cursor { bars: take(bars, n), account: take(account, len) }
            }
        }
    }

    /// Writes what lane `i` may see.
    #[inline]
    #[expect(clippy::cast_possible_wrap, reason = "every bar is far below 2^52")]
    pub(crate) fn write(&mut self, i: usize, held: AccountView<'_>, market: &Market, lookback: usize) {
        let n_symbols = market.data().n_symbols();
        match self {
            Self::Flat(flat) => {
                let len = market.flat_len(lookback);
                market.observe_flat(held, lookback, &mut flat[i * len..(i + 1) * len]);
            }
            Self::Sliding(sliding) => sliding.write(i, held, market, lookback),
            Self::Dict(arrays) => arrays.write(i, held, market.data(), lookback),
            Self::Cursor { bars, account } => {
                bars[i] = held.bar() as i64;
                observe_account(held, &mut account[i * (n_symbols + 1)..(i + 1) * (n_symbols + 1)]);
            }
        }
    }

    /// Returns where `n` lanes of a market are seen, but for their bars.
    ///
    /// None where they are not seen as weights and cash.
    #[inline]
    pub(crate) fn observed<'s>(
        &'s mut self,
        first: usize,
        n: usize,
        market: &'s Market,
        lookback: usize,
    ) -> Option<ObservationRows<'s>> {
        let n_symbols = market.data().n_symbols();
        let (rows, width) = match self {
            Self::Flat(flat) => (&mut **flat, lookback * n_symbols),
            Self::Sliding(sliding) => return Some(sliding.observed(first, n, market, lookback)),
            Self::Cursor { account, .. } => (&mut **account, 0),
            Self::Dict(_) => return None,
        };
        let stride = width + n_symbols + 1;
        let rows = &mut rows[first * stride..][..n * stride];
        Some(ObservationRows { rows, stride, slid: None, returns: market.returns(), width })
    }

    /// Writes the bars of lanes that [`Seen::observed`] is for.
    ///
    /// Returns whether those lanes have seen all then.
    #[inline]
    #[expect(clippy::cast_possible_wrap, reason = "every bar is far below 2^52")]
    pub(crate) fn write_bars(&mut self, first: usize, at: &[usize; LANES]) -> bool {
        if let Self::Cursor { bars, .. } = self {
            for (bar, at) in bars[first..].iter_mut().zip(at) {
                *bar = *at as i64;
            }
        }
        !matches!(self, Self::Dict(_))
    }

    /// Returns the first array that has not the length of `n_lanes` lanes.
    ///
    /// By its name, with its length and the right one.
    pub(crate) fn misfit(
        &self,
        n_lanes: usize,
        market: &Market,
        lookback: usize,
    ) -> Option<(&'static str, usize, usize)> {
        let n_symbols = market.data().n_symbols();
        let cells = n_lanes * n_symbols;
        match self {
            Self::Flat(flat) => odd([("observations", flat.len(), n_lanes * market.flat_len(lookback))]),
            // As long as they must be, since they are of a batch that has been asked.
            Self::Sliding(_) => None,
            Self::Cursor { bars, account } => {
                odd([("cursor", bars.len(), n_lanes), ("account", account.len(), cells + n_lanes)])
            }
            Self::Dict(arrays) => odd([
                ("closes", arrays.closes.len(), cells),
                ("listed", arrays.listed.len(), cells),
                ("positions", arrays.positions.len(), cells),
                ("cash", arrays.cash.len(), n_lanes),
                ("history", arrays.history.len(), if arrays.history.is_empty() { 0 } else { cells * lookback }),
            ]),
        }
    }
}

impl<'a> Arrays<'a> {
    fn take(&mut self, n: usize, n_lanes: usize) -> Arrays<'a> {
        let part = |len: usize| len / n_lanes.max(1) * n;
        let (cells, history) = (part(self.closes.len()), part(self.history.len()));
        Arrays {
            closes: take(&mut self.closes, cells),
            listed: take(&mut self.listed, cells),
            positions: take(&mut self.positions, cells),
            cash: take(&mut self.cash, n),
            history: take(&mut self.history, history),
        }
    }

    /// Writes what may be seen of an account, as that of lane `i`.
    ///
    /// # Panics
    ///
    /// Panics if an array is too short.
    #[inline(never)]
    pub fn write(&mut self, i: usize, held: AccountView<'_>, data: &Dataset, lookback: usize) {
        let (n_symbols, as_of) = (data.n_symbols(), data.as_of(held.bar()));
        for symbol in 0..n_symbols {
            let (cell, is_listed) = (i * n_symbols + symbol, as_of.is_listed(symbol));
            self.closes[cell] = if is_listed { held.mark(symbol) } else { 0.0 };
            self.listed[cell] = i8::from(is_listed);
            self.positions[cell] = held.shares(symbol);
        }
        self.cash[i] = held.cash();
        if !self.history.is_empty() {
            let len = lookback * n_symbols;
            as_of.history_rows(lookback, &mut self.history[i * len..(i + 1) * len]);
        }
    }
}

impl<'a> Outcome<'a> {
    pub(crate) fn take(&mut self, n: usize) -> Outcome<'a> {
        Outcome {
            rewards: take(&mut self.rewards, n),
            terminated: take(&mut self.terminated, n),
            truncated: take(&mut self.truncated, n),
            reset: take(&mut self.reset, n),
        }
    }

    #[inline]
    pub(crate) fn write(&mut self, i: usize, told: Told) {
        self.rewards[i] = told.reward;
        self.terminated[i] = told.terminated;
        self.truncated[i] = told.truncated;
        self.reset[i] = told.reset;
    }

    /// Writes the rewards of `n` lanes and which of them were cut off.
    ///
    /// None of them was terminated or reset.
    #[inline]
    pub(crate) fn write_all(&mut self, first: usize, n: usize, rewards: &Block, truncated: u8) {
        copy_first(&mut self.rewards[first..], n, rewards);
        copy_first(&mut self.terminated[first..], n, &[false; LANES]);
        copy_first(&mut self.reset[first..], n, &[false; LANES]);
        let truncated =
            if truncated == 0 { [false; LANES] } else { std::array::from_fn(|place| truncated >> place & 1 == 1) };
        copy_first(&mut self.truncated[first..], n, &truncated);
    }

    pub(crate) fn misfit(&self, n_lanes: usize) -> Option<(&'static str, usize, usize)> {
        odd([
            ("rewards", self.rewards.len(), n_lanes),
            ("terminations", self.terminated.len(), n_lanes),
            ("truncations", self.truncated.len(), n_lanes),
            ("reset", self.reset.len(), n_lanes),
        ])
    }
}
