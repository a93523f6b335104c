//! Reasons of undefined statistics, and checks of arguments.

use openoutcry_contract::counted;
use thiserror::Error;

/// The reason that a statistic is undefined.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum Undefined {
    /// The formula needs more values.
    #[error("at least {} required; received {received}", returns_text(*.required))]
    TooShort {
        /// Values required.
        required: usize,
        /// Values received.
        received: usize,
    },
    /// The returns are constant.
    #[error("varying returns are required; received constant returns")]
    NoVariation,
    /// Equity never falls.
    #[error("a drawdown is required; received a return series without one")]
    NoDrawdown,
    /// No return is below the target.
    #[error("a return below the target is required; received none")]
    NoLoss,
    /// A return is NaN or infinite, or below -1.
    #[error("finite returns of at least -1 are required; received another value")]
    NotAReturn,
    /// The estimated variance of the statistic is not positive.
    #[error("a positive variance of the estimate is required; received none")]
    NoPrecision,
    /// Series that must have one length differ.
    #[error("series of equal length {required} are required; received {received}")]
    UnequalLengths {
        /// Expected length.
        required: usize,
        /// Received length.
        received: usize,
    },
    /// A ratio is not above the ratio of the comparison.
    #[error("a number above its benchmark is required; received one at or below it")]
    NotAbove,
    /// A share, size or confidence is not a probability.
    #[error("a probability is required; received another number")]
    NotAProbability,
    /// A number is NaN or infinite.
    #[error("a finite number is required; received another value")]
    NotFinite,
    /// The number of bars per year is invalid.
    #[error("finite bars per year above 0 are required; received another number")]
    NotAYear,
    /// The number of bars per year is unknown.
    #[error("a known number of bars per year is required; received dates that do not show it")]
    UnknownYear,
    /// The returns span less than a month.
    #[error(
        "at least {}, one month, {} required for annual growth; received {received}",
        counted(*.required, "return"),
        if *.required == 1 { "is" } else { "are" }
    )]
    UnderAMonth {
        /// Returns required.
        required: usize,
        /// Returns received.
        received: usize,
    },
    /// There are more values than supported.
    #[error("at most {most} distinct trials can be clustered; received {received}")]
    TooMany {
        /// Largest number of values.
        most: usize,
        /// Values received.
        received: usize,
    },
    /// Events are not in chronological order.
    #[error("events in ascending order of bars are required; received another order")]
    NotInOrder,
    /// There is no trade, or no closed position.
    #[error("a trade is required; received none")]
    NoTrade,
    /// No trade has a profit.
    #[error("a trade with a profit is required; received none")]
    NoWin,
    /// No trade has a loss.
    #[error("a trade with a loss is required; received none")]
    NoLosingTrade,
    /// There are too few windows or days for a test.
    #[error(
        "at least {} of {days} returns in total are required; received {} of {}",
        counted(*.required, "window"),
        counted(*.windows, "window"),
        counted(*.received, "return")
    )]
    Insufficient {
        /// Windows required.
        required: usize,
        /// Days required.
        days: usize,
        /// Windows received.
        windows: usize,
        /// Days received.
        received: usize,
    },
    /// The returns of one agent are constant.
    #[error("varying returns of agent {agent} are required; received constant returns")]
    ConstantAgent {
        /// Index of the agent.
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
            Self::UnknownYear => "unknown_year",
            Self::UnderAMonth { .. } => "under_a_month",
            Self::TooMany { .. } => "too_many",
            Self::NotInOrder => "not_in_order",
            Self::NoTrade => "no_trade",
            Self::NoWin => "no_win",
            Self::NoLosingTrade => "no_losing_trade",
        }
    }
}

fn returns_text(n: usize) -> String {
    format!("{n} {}", if n == 1 { "return is" } else { "returns are" })
}

/// A statistic, or the reason that it is undefined.
pub type Statistic = Result<f64, Undefined>;

/// Checks the number of returns, and that each is finite.
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

/// Checks a number of bars per year; NaN is an unknown one.
pub(crate) fn year(periods_per_year: f64) -> Result<(), Undefined> {
    match periods_per_year {
        unknown if unknown.is_nan() => Err(Undefined::UnknownYear),
        known if known > 0.0 && known.is_finite() => Ok(()),
        _ => Err(Undefined::NotAYear),
    }
}

/// Checks that a value lies inside (0, 1).
pub(crate) fn probability(value: f64) -> Result<(), Undefined> {
    if value > 0.0 && value < 1.0 { Ok(()) } else { Err(Undefined::NotAProbability) }
}
