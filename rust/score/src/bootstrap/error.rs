use openoutcry_contract::counted;
use thiserror::Error;

use crate::error::Undefined;

/// An invalid setting of a test.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum BadSetup {
    /// The returns are not rows of agents.
    #[error(
        "returns must be rows of {}, at least 1; received {}",
        counted(*.n_agents, "agent"),
        counted(*.n_returns, "return")
    )]
    Shape {
        /// Number of agents.
        n_agents: usize,
        /// Number of returns.
        n_returns: usize,
    },
    /// The windows do not match the returns.
    #[error("`windows` must be lengths of at least 1 with sum {}; received {received:?}", counted(*.n_days, "day"))]
    Windows {
        /// Days of the returns.
        n_days: usize,
        /// Received lengths.
        received: Vec<usize>,
    },
    /// A return is NaN or infinite.
    #[error("`returns` must be finite; received {value} for agent {agent} on day {day}")]
    NotFinite {
        /// Row.
        day: usize,
        /// Column.
        agent: usize,
        /// Received value.
        value: f64,
    },
    /// The number of resamples is out of range.
    #[error("`n_draws` must be from {least} to {most}; received {received}")]
    Count {
        /// Fewest resamples for a decision.
        least: usize,
        /// Largest number.
        most: usize,
        /// Resamples requested.
        received: usize,
    },
    /// The block length is out of range.
    #[error("`block_length` must be from 1 to {}; received {received}", counted(*.n_days, "day"))]
    BlockLength {
        /// Days of the returns.
        n_days: usize,
        /// Received length.
        received: f64,
    },
    /// The number of bars per year is invalid.
    #[error("`periods_per_year` must be finite and above 0; received {received}")]
    Periods {
        /// Received number.
        received: f64,
    },
    /// The level is not in (0, 1).
    #[error("`level` must be above 0 and below 1; received {received}")]
    Level {
        /// Received level.
        received: f64,
    },
    /// A value is not a probability.
    #[error("`p_values` must be from 0 to 1; received {received} at {index}")]
    Probability {
        /// Its index.
        index: usize,
        /// Received value.
        received: f64,
    },
    /// The sample cannot be cut into that many blocks.
    #[error(
        "`n_blocks` must be even, from 2 to 24, with at least 2 days per block; received {received} of {}",
        counted(*.n_days, "day")
    )]
    Blocks {
        /// Days of the returns.
        n_days: usize,
        /// Blocks requested.
        received: usize,
    },
    /// The ranking values are not one finite number per agent.
    #[error("`rank_by` must be {}; received {received:?}", counted(*.n_agents, "finite number"))]
    Ranks {
        /// Agents of the returns.
        n_agents: usize,
        /// Received values.
        received: Vec<f64>,
    },
    /// The forecasts are not rows of agents on markets.
    #[error(
        "forecasts must be rows of agents on ascending markets below {n_markets} with finite numbers; received {}",
        index.map_or_else(|| "other lengths".to_owned(), |index| format!("an invalid value at {index}"))
    )]
    Forecasts {
        /// Number of markets.
        n_markets: usize,
        /// Index of the first invalid forecast, if the lengths are right.
        index: Option<usize>,
    },
    /// The number of agents is wrong for the function.
    #[error("a panel of {required} agents is required; received {received}")]
    Agents {
        /// Required number, in words.
        required: &'static str,
        /// Agents received.
        received: usize,
    },
}

impl BadSetup {
    /// Returns the slug of the contract.
    #[must_use]
    pub fn slug(&self) -> &'static str {
        match self {
            Self::Shape { .. } | Self::Agents { .. } | Self::Forecasts { .. } => "shape_mismatch",
            Self::NotFinite { .. } => "value_invalid",
            _ => "argument_invalid",
        }
    }
}

/// The reason that a test has no result.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum TestError {
    /// A setting is invalid.
    #[error(transparent)]
    Setup(#[from] BadSetup),
    /// The returns are insufficient.
    #[error(transparent)]
    Undefined(#[from] Undefined),
}

impl TestError {
    /// Returns the stable name of the reason.
    #[must_use]
    pub fn slug(&self) -> &'static str {
        match self {
            Self::Setup(setup) => setup.slug(),
            Self::Undefined(undefined) => undefined.slug(),
        }
    }
}
