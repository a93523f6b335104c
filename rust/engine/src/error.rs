use thiserror::Error;

use crate::counted_nouns::counted;

/// A dataset that is refused: the requirement, the place and the value received.
#[derive(Clone, Debug, Error, PartialEq)]
#[error("{message}")]
pub struct DataError {
    slug: &'static str,
    message: String,
}

impl DataError {
    /// Returns a data error with a slug of `contract/errors.json` and a message.
    #[must_use]
    pub fn new(slug: &'static str, message: String) -> Self {
        Self { slug, message }
    }

    /// Returns the stable name of this error in `contract/errors.json`.
    #[must_use]
    pub fn slug(&self) -> &'static str {
        self.slug
    }
}

/// A window, cost or limit that cannot be used.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum ConfigError {
    /// The window is not inside the data or has no decision.
    #[error("window must satisfy 0 <= start, start + 2 <= end <= {}; received {start}:{end}", counted(*.n_bars, "bar"))]
    Window {
        /// First bar requested.
        start: usize,
        /// End requested, exclusive.
        end: usize,
        /// Bars in the data.
        n_bars: usize,
    },
    /// The observation shows no close.
    #[error("`lookback` must be at least 1; received {lookback}")]
    Lookback {
        /// The value received.
        lookback: usize,
    },
    /// A cost is out of its range.
    #[error("`{name}` must be {range}; received {value}")]
    Cost {
        /// Field of the cost model.
        name: &'static str,
        /// The range in words.
        range: &'static str,
        /// The value received.
        value: f64,
    },
    /// An annual rate cannot be charged per bar.
    #[error(
        "`periods_per_year` is required for annual rates; received `{name}` {value} and dates that do not show it; \
         hint: state `periods_per_year` (`--periods-per-year`) with the market, or costs with annual rates of 0"
    )]
    AnnualRate {
        /// Field of the cost model.
        name: &'static str,
        /// The rate received, in basis points.
        value: f64,
    },
    /// A limit is out of its range.
    #[error("`{name}` must be {range}; received {value}")]
    Limit {
        /// Field of the limits.
        name: &'static str,
        /// The range in words.
        range: &'static str,
        /// The value received.
        value: f64,
    },
    /// A short sale needs a margin account.
    #[error("`cash_account` needs `allow_short` off; received both on; hint: set `allow_short=False`")]
    CashAccount,
}

impl ConfigError {
    /// Returns the stable name of this error in `contract/errors.json`.
    #[must_use]
    pub fn slug(&self) -> &'static str {
        match self {
            Self::Window { .. } | Self::Lookback { .. } => "window_invalid",
            Self::Cost { .. } | Self::AnnualRate { .. } => "cost_invalid",
            Self::Limit { .. } | Self::CashAccount => "limit_invalid",
        }
    }
}

/// A step that was refused; the book is unchanged.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum StepError {
    /// The number of weights is not the number of symbols.
    #[error("expected {}, one per symbol; received {received}", counted(*.expected, "weight"))]
    WeightCount {
        /// Symbols in the dataset.
        expected: usize,
        /// Weights received.
        received: usize,
    },
    /// A weight is infinite, or NaN where NaN is not a hold.
    #[error("weights[{index}] must be finite; received {weight}")]
    WeightNotFinite {
        /// Index of the weight.
        index: usize,
        /// The weight received.
        weight: f64,
    },
    /// The distance of an exit from the last close is not a fraction of it.
    #[error("distances of symbol {symbol} must be in [-1, 1), 0 or less for none; received {distance}")]
    Distance {
        /// Index of the symbol.
        symbol: usize,
        /// The distance received.
        distance: f64,
    },
    /// A weight of a table is infinite.
    #[error("weights[{bar}, {symbol}] must be finite or NaN; received {weight}")]
    TableNotFinite {
        /// Bar of the decision.
        bar: usize,
        /// Index of the symbol.
        symbol: usize,
        /// The weight received.
        weight: f64,
    },
    /// The episode has ended.
    #[error("a step needs a running episode; received a step after its end; hint: call `reset`")]
    EpisodeOver,
    /// NAV is outside the range of f64.
    #[error("NAV must be at most 1e100; received {nav:e} at bar {bar}")]
    NavOverflow {
        /// The NAV at the close of the bar.
        nav: f64,
        /// The bar of the decision, or of the mark where f64 itself overflowed.
        bar: usize,
    },
    /// The checkpoint belongs to another environment.
    #[error("a checkpoint of this environment is required; received one of another dataset, window or rules")]
    StateMismatch,
}

impl StepError {
    /// Returns the stable name of this error in `contract/errors.json`.
    #[must_use]
    pub fn slug(&self) -> &'static str {
        match self {
            Self::WeightCount { .. } => "weight_count",
            Self::WeightNotFinite { .. } | Self::TableNotFinite { .. } => "weight_not_finite",
            Self::Distance { .. } => "argument_invalid",
            Self::EpisodeOver => "episode_over",
            Self::NavOverflow { .. } => "nav_overflow",
            Self::StateMismatch => "state_mismatch",
        }
    }
}
