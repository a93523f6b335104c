use thiserror::Error;

use crate::error::Undefined;

/// Why a test cannot be set up.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum BadSetup {
    /// The returns are no whole rows of agents.
    #[error("returns must be rows of {n_agents} agents, at least 1; received {n_returns} returns")]
    Shape {
        /// Agents named.
        n_agents: usize,
        /// Returns given.
        n_returns: usize,
    },
    /// The windows are not those of the returns.
    #[error("`windows` must be lengths of at least 1 that add up to {n_days} days; received {received:?}")]
    Windows {
        /// Days of the returns.
        n_days: usize,
        /// Lengths given.
        received: Vec<usize>,
    },
    /// A return is NaN or infinite.
    #[error("`returns` must be finite; received {value} for agent {agent} on day {day}")]
    NotFinite {
        /// Row.
        day: usize,
        /// Column.
        agent: usize,
        /// What is there.
        value: f64,
    },
    /// There are too few or too many resamples.
    #[error("`n_draws` must be from {least} to {most}; received {received}")]
    Count {
        /// Fewest that decide anything.
        least: usize,
        /// Most.
        most: usize,
        /// Resamples asked for.
        received: usize,
    },
    /// Blocks have no such length.
    #[error("`block_length` must be from 1 to {n_days} days; received {received}")]
    BlockLength {
        /// Days of the returns.
        n_days: usize,
        /// Length given.
        received: f64,
    },
    /// A year has no such count of bars.
    #[error("`periods_per_year` must be finite and above 0; received {received}")]
    Periods {
        /// Count given.
        received: f64,
    },
    /// A share is none.
    #[error("`level` must be above 0 and below 1; received {received}")]
    Level {
        /// Level given.
        received: f64,
    },
    /// A probability is none.
    #[error("`p_values` must be from 0 to 1; received {received} at {index}")]
    Probability {
        /// Its place.
        index: usize,
        /// What is there.
        received: f64,
    },
    /// A sample cannot be cut into so many halves.
    #[error(
        "`n_blocks` must be even, from 2 to 24, with at least 2 days to a block; received {received} of {n_days} days"
    )]
    Blocks {
        /// Days of the returns.
        n_days: usize,
        /// Blocks asked for.
        received: usize,
    },
    /// What to rank by is not one finite number for each agent.
    #[error("`rank_by` must be {n_agents} finite numbers; received {received:?}")]
    Ranks {
        /// Agents of the returns.
        n_agents: usize,
        /// What is given.
        received: Vec<f64>,
    },
    /// Forecasts are no rows of agents on markets.
    #[error(
        "forecasts must be rows of agents on ascending markets below {n_markets} with finite numbers; received {}",
        index.map_or_else(|| "other lengths".to_owned(), |index| format!("another at {index}"))
    )]
    Forecasts {
        /// Markets there are.
        n_markets: usize,
        /// Place of the first that is none, where lengths fit.
        index: Option<usize>,
    },
    /// There are not as many agents as the function compares.
    #[error("a panel of {required} agents is required; received {received}")]
    Agents {
        /// Agents needed, in words.
        required: &'static str,
        /// Agents given.
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

/// Why a test has no answer.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum TestError {
    /// It was asked for what makes no sense.
    #[error(transparent)]
    Setup(#[from] BadSetup),
    /// The returns cannot answer it.
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
