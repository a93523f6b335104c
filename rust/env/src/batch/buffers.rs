use openoutcry_engine::lane_sums::{Block, LANES};
use openoutcry_engine::{AccountView, FeatureScope, ObservationRows};

use crate::batch::batch_market::{Market, observe_account};
use crate::batch::lane_episodes::LaneOutcome;
use crate::batch::sliding_windows::SlidingTurn;

/// Output arrays of the observations of a batch, lane after lane.
#[derive(Debug)]
pub enum ObservationArrays<'a> {
    /// See [`Market::observe_flat`].
    Flat(&'a mut [f32]),
    /// Flat observations in sliding rows.
    Sliding(SlidingTurn<'a>),
    /// The arrays of the dictionary observation.
    Dict(DictArrays<'a>),
    /// Bar index, for learners that gather windows themselves, and the account in f32.
    Cursor {
        /// One per lane.
        bars: &'a mut [i64],
        /// Weights and cash over NAV: one per symbol and one more, per lane.
        account: &'a mut [f32],
    },
}

/// The arrays of a dictionary observation in f64.
#[derive(Debug, Default)]
pub struct DictArrays<'a> {
    /// Closes by lane and symbol, 0 for a symbol that is not listed.
    pub closes: &'a mut [f64],
    /// 1 for a listed symbol.
    pub listed: &'a mut [i8],
    /// Shares by lane and symbol.
    pub positions: &'a mut [f64],
    /// Cash by lane.
    pub cash: &'a mut [f64],
    /// Closes or other columns by lane, bar, symbol and column; or empty.
    ///
    /// Oldest first, and 0 before a listing.
    pub history: &'a mut [f64],
    /// Features by lane, symbol and feature; or empty.
    ///
    /// 0 for a symbol that is not listed.
    pub features: &'a mut [f64],
    /// Features of the market by lane and feature; or empty.
    pub market_features: &'a mut [f64],
}

/// Output arrays of the outcome of a step, one element per lane.
#[derive(Debug)]
pub struct Outcome<'a> {
    /// Reward of the step.
    pub rewards: &'a mut [f64],
    /// Whether the account was liquidated or ruined.
    pub terminated: &'a mut [bool],
    /// Whether the episode was truncated.
    pub truncated: &'a mut [bool],
    /// Whether the step was a reset without a trade.
    pub reset: &'a mut [bool],
}

/// Splits off the first `n` elements of a slice.
#[expect(clippy::mut_mut, reason = "what is left is put back in place of the whole")]
fn take<'a, T>(slice: &mut &'a mut [T], n: usize) -> &'a mut [T] {
    let (head, tail) = std::mem::take(slice).split_at_mut(n);
    *slice = tail;
    head
}

/// Writes the first `n` of eight elements.
#[inline]
fn copy_first<T: Copy>(to: &mut [T], n: usize, from: &[T; LANES]) {
    match to.first_chunk_mut() {
        // Eight elements are one vector move, and one element is a scalar move: no call.
        Some(to) if n == LANES => *to = *from,
        _ if n == 1 => to[0] = from[0],
        _ => copy_fewer(&mut to[..n], from),
    }
}

/// A separate function: merged, both cases would compile to one call of `memcpy`.
#[cold]
#[inline(never)]
fn copy_fewer<T: Copy>(to: &mut [T], from: &[T; LANES]) {
    to.copy_from_slice(&from[..to.len()]);
}

/// Returns the first array with an unexpected length.
fn first_wrong_length<const N: usize>(
    lengths: [(&'static str, usize, usize); N],
) -> Option<(&'static str, usize, usize)> {
    lengths.into_iter().find(|(_, received, expected)| received != expected)
}

impl<'a> ObservationArrays<'a> {
    /// Splits off the part of the first `n` of `n_lanes` lanes.
    pub(crate) fn take(&mut self, n: usize, n_lanes: usize) -> ObservationArrays<'a> {
        match self {
            Self::Flat(flat) => {
                let len = flat.len() / n_lanes.max(1) * n;
                ObservationArrays::Flat(take(flat, len))
            }
            Self::Sliding(sliding) => ObservationArrays::Sliding(sliding.take(n)),
            Self::Dict(arrays) => ObservationArrays::Dict(arrays.take(n, n_lanes)),
            Self::Cursor { bars, account } => {
                let len = account.len() / n_lanes.max(1) * n;
                ObservationArrays::Cursor { bars: take(bars, n), account: take(account, len) }
            }
        }
    }

    /// Writes the observation of lane `i`.
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
            Self::Dict(arrays) => arrays.write(i, held, market, lookback),
            Self::Cursor { bars, account } => {
                bars[i] = held.bar() as i64;
                observe_account(held, &mut account[i * (n_symbols + 1)..(i + 1) * (n_symbols + 1)]);
            }
        }
    }

    /// Returns the output rows of `n` lanes of a market, without their bars.
    ///
    /// None for observations that have no weights and cash.
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
            Self::Flat(flat) => (&mut **flat, lookback * market.bar_len()),
            Self::Sliding(sliding) => return Some(sliding.observed(first, n, market, lookback)),
            Self::Cursor { account, .. } => (&mut **account, 0),
            Self::Dict(_) => return None,
        };
        let stride = width + n_symbols + 1;
        let rows = &mut rows[first * stride..][..n * stride];
        Some(ObservationRows { rows, stride, slid: None, market: market.bars(), bar_len: market.bar_len(), width })
    }

    /// Writes the bars of the lanes of [`ObservationArrays::observed`].
    ///
    /// Returns whether their observations are then complete.
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

    /// Returns the first array with a wrong length for `n_lanes` lanes.
    ///
    /// Its name, its length and the expected length.
    pub(crate) fn wrong_length(
        &self,
        n_lanes: usize,
        market: &Market,
        lookback: usize,
    ) -> Option<(&'static str, usize, usize)> {
        let n_symbols = market.data().n_symbols();
        let cells = n_lanes * n_symbols;
        match self {
            Self::Flat(flat) => first_wrong_length([("observations", flat.len(), n_lanes * market.flat_len(lookback))]),
            // The length was checked when the rows were taken from the batch.
            Self::Sliding(_) => None,
            Self::Cursor { bars, account } => {
                first_wrong_length([("cursor", bars.len(), n_lanes), ("account", account.len(), cells + n_lanes)])
            }
            Self::Dict(arrays) => {
                let history = if arrays.history.is_empty() { 0 } else { n_lanes * market.window_len(lookback) };
                first_wrong_length([
                    ("closes", arrays.closes.len(), cells),
                    ("listed", arrays.listed.len(), cells),
                    ("positions", arrays.positions.len(), cells),
                    ("cash", arrays.cash.len(), n_lanes),
                    ("history", arrays.history.len(), history),
                    ("features", arrays.features.len(), cells * market.n_columns(FeatureScope::Symbol)),
                    ("market_features", arrays.market_features.len(), n_lanes * market.n_columns(FeatureScope::Market)),
                ])
            }
        }
    }
}

impl<'a> DictArrays<'a> {
    fn take(&mut self, n: usize, n_lanes: usize) -> DictArrays<'a> {
        let part = |len: usize| len / n_lanes.max(1) * n;
        let (cells, history) = (part(self.closes.len()), part(self.history.len()));
        let (features, market_features) = (part(self.features.len()), part(self.market_features.len()));
        DictArrays {
            closes: take(&mut self.closes, cells),
            listed: take(&mut self.listed, cells),
            positions: take(&mut self.positions, cells),
            cash: take(&mut self.cash, n),
            history: take(&mut self.history, history),
            features: take(&mut self.features, features),
            market_features: take(&mut self.market_features, market_features),
        }
    }

    /// Writes the observation of an account as that of lane `i`.
    ///
    /// # Panics
    ///
    /// Panics if an array is too short.
    #[inline(never)]
    pub fn write(&mut self, i: usize, held: AccountView<'_>, market: &Market, lookback: usize) {
        let data = market.data();
        let (n_symbols, as_of) = (data.n_symbols(), data.as_of(held.bar()));
        for symbol in 0..n_symbols {
            let (cell, is_listed) = (i * n_symbols + symbol, as_of.is_listed(symbol));
            self.closes[cell] = if is_listed { held.mark(symbol) } else { 0.0 };
            self.listed[cell] = i8::from(is_listed);
            self.positions[cell] = held.shares(symbol);
        }
        self.cash[i] = held.cash();
        if !self.history.is_empty() {
            let len = market.window_len(lookback);
            market.write_history(held.bar(), lookback, &mut self.history[i * len..(i + 1) * len]);
        }
        let n_features = market.n_columns(FeatureScope::Symbol);
        let features = &mut self.features[i * n_symbols * n_features..][..n_symbols * n_features];
        for (place, column) in market.columns(FeatureScope::Symbol).enumerate() {
            let values = &column.values[held.bar() * n_symbols..][..n_symbols];
            for (shown, value) in features[place..].iter_mut().step_by(n_features).zip(values) {
                *shown = *value;
            }
        }
        let n_features = market.n_columns(FeatureScope::Market);
        let features = &mut self.market_features[i * n_features..][..n_features];
        for (shown, column) in features.iter_mut().zip(market.columns(FeatureScope::Market)) {
            *shown = column.values[held.bar()];
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
    pub(crate) fn write(&mut self, i: usize, outcome: LaneOutcome) {
        self.rewards[i] = outcome.reward;
        self.terminated[i] = outcome.terminated;
        self.truncated[i] = outcome.truncated;
        self.reset[i] = outcome.reset;
    }

    /// Writes the rewards of `n` lanes and their truncations.
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

    pub(crate) fn wrong_length(&self, n_lanes: usize) -> Option<(&'static str, usize, usize)> {
        first_wrong_length([
            ("rewards", self.rewards.len(), n_lanes),
            ("terminations", self.terminated.len(), n_lanes),
            ("truncations", self.truncated.len(), n_lanes),
            ("reset", self.reset.len(), n_lanes),
        ])
    }
}
