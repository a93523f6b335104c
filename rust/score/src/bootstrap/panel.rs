use thiserror::Error;

use crate::error::Undefined;
use crate::is_riskless;

/// Days below which no test of this crate says anything.
pub(crate) const MIN_DAYS: usize = 250;

/// Resamples that a call may ask for.
pub(crate) const MAX_DRAWS: usize = 10_000_000;

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

/// Returns per day of agents on common dates, in windows that follow each other.
#[derive(Clone, Copy, Debug)]
pub struct Panel<'a> {
    returns: &'a [f64],
    n_agents: usize,
    windows: &'a [usize],
}

impl<'a> Panel<'a> {
    /// Returns a panel of `returns`, day by day, in windows of these lengths.
    ///
    /// # Errors
    ///
    /// Returns an error if the shapes do not fit, or a return is not finite.
    pub fn new(returns: &'a [f64], n_agents: usize, windows: &'a [usize]) -> Result<Self, BadSetup> {
        if n_agents == 0 || !returns.len().is_multiple_of(n_agents) {
            return Err(BadSetup::Shape { n_agents, n_returns: returns.len() });
        }
        let n_days = returns.len() / n_agents;
        let total = windows.iter().try_fold(0_usize, |sum, length| sum.checked_add(*length));
        if total != Some(n_days) || windows.contains(&0) {
            return Err(BadSetup::Windows { n_days, received: windows.to_vec() });
        }
        if let Some(place) = returns.iter().position(|r| !r.is_finite()) {
            let (day, agent) = (place / n_agents, place % n_agents);
            return Err(BadSetup::NotFinite { day, agent, value: returns[place] });
        }
        Ok(Self { returns, n_agents, windows })
    }

    /// Returns how many days there are.
    #[must_use]
    pub fn n_days(&self) -> usize {
        self.returns.len() / self.n_agents
    }

    /// Returns how many agents there are.
    #[must_use]
    pub fn n_agents(&self) -> usize {
        self.n_agents
    }

    pub(crate) fn windows(&self) -> &'a [usize] {
        self.windows
    }

    pub(crate) fn rows(&self) -> std::slice::ChunksExact<'a, f64> {
        self.returns.chunks_exact(self.n_agents)
    }

    pub(crate) fn column(&self, agent: usize) -> Vec<f64> {
        self.rows().map(|row| row[agent]).collect()
    }

    /// Returns the first day of each window, and the day after its last.
    pub(crate) fn edges(&self) -> impl Iterator<Item = (usize, usize)> + use<'a> {
        edges(self.windows)
    }
}

pub(crate) fn edges(windows: &[usize]) -> impl Iterator<Item = (usize, usize)> + use<'_> {
    windows.iter().scan(0, |end, length| {
        let start = *end;
        *end += length;
        Some((start, *end))
    })
}

/// How to resample.
#[derive(Clone, Copy, Debug)]
pub struct Draws {
    /// How often.
    pub n: usize,
    /// What the draws are a function of.
    pub seed: u64,
    /// Days of a block, on average; estimated where there is none.
    pub block_length: Option<f64>,
}

impl Draws {
    /// Returns days of a block: those asked for, else those estimated.
    pub(crate) fn length(
        &self,
        n_days: usize,
        estimate: impl FnOnce() -> Result<f64, Undefined>,
    ) -> Result<f64, TestError> {
        let most = n_days as f64;
        match self.block_length {
            Some(length) if (1.0..=most).contains(&length) => Ok(length),
            Some(received) => Err(BadSetup::BlockLength { n_days, received }.into()),
            None => Ok(estimate()?.clamp(1.0, most)),
        }
    }

    /// Checks that there are enough draws, and not too many.
    pub(crate) fn check(&self, least: usize) -> Result<(), TestError> {
        if (least..=MAX_DRAWS).contains(&self.n) {
            return Ok(());
        }
        Err(BadSetup::Count { least, most: MAX_DRAWS, received: self.n }.into())
    }
}

/// Checks that a probability is one, with neither end, and that a year has bars.
pub(crate) fn check_year_and_level(periods_per_year: f64, level: f64) -> Result<(), TestError> {
    if !periods_per_year.is_finite() || periods_per_year <= 0.0 {
        return Err(BadSetup::Periods { received: periods_per_year }.into());
    }
    if level > 0.0 && level < 1.0 { Ok(()) } else { Err(BadSetup::Level { received: level }.into()) }
}

/// Checks that windows and days are enough, and that every agent varies.
pub(crate) fn sufficient(panel: &Panel<'_>, required: usize) -> Result<(), Undefined> {
    let (windows, received) = (panel.windows.len(), panel.n_days());
    if windows < required || received < MIN_DAYS {
        return Err(Undefined::Insufficient { required, days: MIN_DAYS, windows, received });
    }
    match (0..panel.n_agents).find(|agent| is_riskless(&panel.column(*agent))) {
        Some(agent) => Err(Undefined::ConstantAgent { agent }),
        None => Ok(()),
    }
}
