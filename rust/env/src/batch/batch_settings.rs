use openoutcry_engine::{ConfigError, CostModel, Limits, StepError};
use thiserror::Error;

use crate::episode::episode_windows::Windows;
use crate::episode::reward::Reward;

/// What happens to a lane whose episode has ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Autoreset {
    /// The next step begins an episode and trades nothing.
    #[default]
    NextStep,
    /// The same step begins an episode; the last observation is handed out apart.
    SameStep,
    /// Nothing, until the lane is reset.
    Disabled,
}

/// What a lane is charged and allowed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Terms {
    /// What trading and holding cost.
    pub costs: CostModel,
    /// What a decision may ask for.
    pub limits: Limits,
}

/// How all lanes of a batch are run.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Windows of episodes, one entry per market.
    pub windows: Vec<Windows>,
    /// What happens at an episode's end.
    pub autoreset: Autoreset,
    /// What a step is worth to a learner.
    pub reward: Reward,
    /// Bars of history in an observation, at least 1.
    pub lookback: usize,
    /// An order that moves a weight by less is a hold; 0 for none.
    pub no_trade_band: f64,
    /// Decisions after which an episode is truncated; `usize::MAX` for none.
    pub max_episode_steps: usize,
    /// Threads that share the lanes at most, 1 to 32.
    pub n_threads: usize,
    /// Lanes times symbols that are worth a thread; see [`Settings::CELLS_A_THREAD`].
    pub cells_a_thread: usize,
    /// Length of flat observations from which on they go past the caches.
    ///
    /// See [`Settings::BYPASS_LEN`].
    pub bypass_len: usize,
    /// Key of the slippage noise.
    pub seed: u64,
}

impl Settings {
    /// Fewer cells are stepped in less time than it takes to wake a thread.
    pub const CELLS_A_THREAD: usize = 4096;
    /// Eight MiB are several times a core's own cache.
    ///
    /// They are about what it can count on of one that it shares with others.
    pub const BYPASS_LEN: usize = 1 << 21;
}

/// A batch that could not be made or stepped; no lane has moved.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum BatchError {
    /// A window, cost, limit or lookback cannot be used.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// A setting of the batch cannot be used.
    #[error("`{name}` must be {range}; received {value}")]
    Setting {
        /// Name of the setting.
        name: &'static str,
        /// What it must be.
        range: &'static str,
        /// What it is.
        value: String,
    },
    /// An array has the wrong length.
    #[error("`{name}` must have {expected} elements; received {received}")]
    Length {
        /// Name of the array.
        name: &'static str,
        /// Elements wanted.
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
    /// A lane cannot be stepped.
    #[error("lane {lane}: {source}")]
    Lane {
        /// Index of the lane.
        lane: usize,
        /// Why.
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
