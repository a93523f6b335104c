use openoutcry_engine::{ConfigError, CostModel, Limits, StepError, counted};
use thiserror::Error;

use crate::episode::episode_windows::{EpisodeMarkets, EpisodeWindows};
use crate::episode::reward::Reward;

/// The most threads of a batch.
pub(super) const MAX_THREADS: usize = 32;

/// Autoreset mode: the reset of a lane at the end of an episode.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Autoreset {
    /// The next step resets the lane and does not trade.
    #[default]
    NextStep,
    /// The same step resets the lane and returns the last observation separately.
    SameStep,
    /// The lane stays ended until it is reset.
    Disabled,
}

/// Costs and limits of a lane.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Terms {
    /// Cost model.
    pub costs: CostModel,
    /// Limits on decisions.
    pub limits: Limits,
}

/// Settings of all lanes of a batch.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Windows of episodes, one entry per market.
    pub windows: Vec<EpisodeWindows>,
    /// Market of each episode.
    pub episode_markets: EpisodeMarkets,
    /// Autoreset mode.
    pub autoreset: Autoreset,
    /// Reward scheme.
    pub reward: Reward,
    /// Bars of history in an observation, at least 1.
    pub lookback: usize,
    /// Smallest change of a weight that is traded; 0 for all.
    pub no_trade_band: f64,
    /// Decisions after which an episode is truncated; `usize::MAX` for no truncation.
    pub max_episode_steps: usize,
    /// Largest number of threads, 1 to 32.
    pub n_threads: usize,
    /// Lanes times symbols per thread; see [`Settings::CELLS_A_THREAD`].
    pub cells_a_thread: usize,
    /// Length of flat observations from which streaming stores are used.
    ///
    /// See [`Settings::STREAMING_LEN`].
    pub streaming_len: usize,
    /// Key of the slippage noise.
    pub seed: u64,
}

impl Settings {
    /// Stepping fewer cells takes less time than waking a thread.
    pub const CELLS_A_THREAD: usize = 4096;
    /// 8 MiB, several times the private cache of a core.
    ///
    /// About the part of a shared cache that a core can count on.
    pub const STREAMING_LEN: usize = 1 << 21;
}

/// A batch with invalid settings, or a refused step; no lane has moved.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum BatchError {
    /// A window, cost, limit or lookback is invalid.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// A setting of the batch is invalid.
    #[error("`{name}` must be {range}; received {value}")]
    Setting {
        /// Name of the setting.
        name: &'static str,
        /// Required range.
        range: &'static str,
        /// Received value.
        value: String,
    },
    /// An array has the wrong length.
    #[error("`{name}` must have {}; received {received}", counted(*.expected, "element"))]
    Length {
        /// Name of the array.
        name: &'static str,
        /// Elements expected.
        expected: usize,
        /// Elements received.
        received: usize,
    },
    /// A weight is not finite.
    #[error("actions[{lane}, {symbol}] must be finite; received {weight}")]
    Weight {
        /// Index of the lane.
        lane: usize,
        /// Index of the symbol.
        symbol: usize,
        /// The weight received.
        weight: f64,
    },
    /// A step of a lane was refused.
    #[error("lane {lane}: {source}")]
    Lane {
        /// Index of the lane.
        lane: usize,
        /// The error of the step.
        source: StepError,
    },
}

impl BatchError {
    /// Returns the stable name of this error in `contract/errors.json`.
    #[must_use]
    pub fn slug(&self) -> &'static str {
        match self {
            Self::Config(error) => error.slug(),
            Self::Setting { .. } => "argument_invalid",
            Self::Length { .. } => "shape_mismatch",
            Self::Weight { .. } => "weight_not_finite",
            Self::Lane { source, .. } => source.slug(),
        }
    }
}
