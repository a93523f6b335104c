//! Why a statistic is undefined, and the checks of arguments.

use thiserror::Error;

/// Why a statistic has no value.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum Undefined {
    /// There are fewer values than the formula divides by.
    #[error("at least {required} returns are required; received {received}")]
    TooShort {
        /// Values needed.
        required: usize,
        /// Values given.
        received: usize,
    },
    /// The returns do not vary.
    #[error("returns that vary are required; received constant ones")]
    NoVariation,
    /// Equity never fell.
    #[error("a drawdown is required; received a track without one")]
    NoDrawdown,
    /// No return is below the target.
    #[error("a return below the target is required; received none")]
    NoLoss,
    /// A return is NaN or infinite, or loses more than everything.
    #[error("finite returns of at least -1 are required; received another")]
    NotAReturn,
    /// The estimated variance of the statistic is not positive.
    #[error("a positive variance of the estimate is required; received none")]
    NoPrecision,
    /// Series that belong together differ in length.
    #[error("series of one length are required, {required} here; received {received}")]
    UnequalLengths {
        /// Values of the one.
        required: usize,
        /// Values of the other.
        received: usize,
    },
    /// A ratio is not above the one it is to be told from.
    #[error("a number above the one it is compared with is required; received another")]
    NotAbove,
    /// A share, size or confidence is no probability.
    #[error("a probability is required; received another number")]
    NotAProbability,
    /// A number is NaN or infinite.
    #[error("a finite number is required; received another")]
    NotFinite,
    /// A year has no such count of bars.
    #[error("finite bars a year above 0 are required; received another number")]
    NotAYear,
    /// There are more values than are handled.
    #[error("at most {most} distinct trials are clustered; received {received}")]
    TooMany {
        /// Values that are handled.
        most: usize,
        /// Values given.
        received: usize,
    },
    /// Events are not in the order of time.
    #[error("events in the order of bars are required; received another order")]
    NotInOrder,
    /// Nothing was traded, or no position was closed.
    #[error("a trade is required; received none")]
    NoTrade,
    /// No trade won.
    #[error("a trade with a profit is required; received none")]
    NoWin,
    /// No trade lost.
    #[error("a trade with a loss is required; received none")]
    NoLosingTrade,
    /// There are too few windows or days to say anything.
    #[error("at least {required} windows of {days} days in all are required; received {windows} of {received}")]
    Insufficient {
        /// Windows needed.
        required: usize,
        /// Days needed.
        days: usize,
        /// Windows given.
        windows: usize,
        /// Days given.
        received: usize,
    },
    /// The returns of one agent do not vary.
    #[error("returns of agent {agent} that vary are required; received constant ones")]
    ConstantAgent {
        /// Its place.
        agent: usize,
    },
}

impl Undefined {
    /// Returns the stable name of this reason.
    #[must_use]
    pub fn slug(self) -> &'static str {
        match self {
            Self::TooShort { .. } => "too_short",
            Self::NoVariation | Self::ConstantAgent { .. } => "no_variation",
            Self::Insufficient { .. } => "insufficient",
            Self::NoDrawdown => "no_drawdown",
            Self::NoLoss => "no_loss",
            Self::NotAReturn => "not_a_return",
            Self::NoPrecision => "no_precision",
            Self::UnequalLengths { .. } => "unequal_lengths",
            Self::NotAbove => "not_above",
            Self::NotAProbability => "not_a_probability",
            Self::NotFinite => "not_finite",
            Self::NotAYear => "not_a_year",
            Self::TooMany { .. } => "too_many",
            Self::NotInOrder => "not_in_order",
            Self::NoTrade => "no_trade",
            Self::NoWin => "no_win",
            Self::NoLosingTrade => "no_losing_trade",
        }
    }
}

/// A statistic, or why it has no value.
pub type Statistic = Result<f64, Undefined>;

/// Checks that there are enough returns and that each is one.
pub(crate) fn check(returns: &[f64], required: usize) -> Result<(), Undefined> {
    if returns.len() < required {
        return Err(Undefined::TooShort { required, received: returns.len() });
    }
    if returns.iter().any(|r| !r.is_finite()) {
        return Err(Undefined::NotAReturn);
    }
    Ok(())
}

/// Checks that a value is neither NaN nor infinite.
pub(crate) fn finite(value: f64) -> Result<(), Undefined> {
    if value.is_finite() { Ok(()) } else { Err(Undefined::NotFinite) }
}

/// Checks that a year has bars.
pub(crate) fn year(periods_per_year: f64) -> Result<(), Undefined> {
    if periods_per_year > 0.0 && periods_per_year.is_finite() { Ok(()) } else { Err(Undefined::NotAYear) }
}

/// Checks that a value lies inside (0, 1).
pub(crate) fn probability(value: f64) -> Result<(), Undefined> {
    if value > 0.0 && value < 1.0 { Ok(()) } else { Err(Undefined::NotAProbability) }
}
