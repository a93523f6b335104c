use thiserror::Error;

use crate::error::Undefined;

/// The reason that a number of a score is missing.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum Unknown {
    /// The statistic is undefined.
    #[error(transparent)]
    Undefined(#[from] Undefined),
    /// There are bare returns only.
    #[error("decisions are required; received returns only")]
    NoTrace,
    /// There is no buy-and-hold.
    #[error("returns of buy-and-hold are required; received none")]
    NoBenchmark,
    /// There are too few passive portfolios.
    #[error("returns of equal weight and of other passive portfolios are required; received none")]
    NoPassive,
    /// The agent is in no test of the field.
    #[error("an agent with all windows and a unique, varying return series is required; received one without")]
    NotInField,
    /// The number was not measured.
    #[error("runs at several capitals are required; received none")]
    NotMeasured,
    /// Network access is unknown.
    #[error("runs in separate processes are required; received one in the harness process")]
    InProcess,
    /// No in-sample window is declared.
    #[error("in-sample and out-of-sample windows are required; received one kind")]
    NoSample,
}

impl Unknown {
    /// Returns the stable name of this reason.
    #[must_use]
    pub fn slug(self) -> &'static str {
        match self {
            Self::Undefined(undefined) => undefined.slug(),
            Self::NoTrace => "no_trace",
            Self::NoBenchmark => "no_benchmark",
            Self::NoPassive => "no_passive",
            Self::NotInField => "not_in_field",
            Self::NotMeasured => "not_measured",
            Self::InProcess => "in_process",
            Self::NoSample => "no_sample",
        }
    }

    /// Returns whether the benchmark itself is missing, as for bare returns.
    pub(super) fn is_absent(self) -> bool {
        matches!(self, Self::NoBenchmark | Self::NoPassive)
    }
}

/// A number of a score, or the reason that it is missing.
pub type Known<T = f64> = Result<T, Unknown>;

/// The reason that a gate does not pass, or an agent has no rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    /// There are fewer than 2 windows, 250 days or 250 returns.
    Insufficient,
    /// Windows of the suite, or seeds of a window, are missing.
    WindowsMissing,
    /// The track is a copy of that of another agent.
    Copy,
    /// There is no buy-and-hold benchmark.
    NoBenchmark,
    /// There are too few passive portfolios.
    NoPassive,
    /// There are bare returns without decisions to replay.
    NoTrace,
    /// There is no suite: the agents chose windows, costs and limits.
    NoSuite,
    /// More decisions were held for faults of the agent than allowed.
    Faults,
    /// More decisions were held for infrastructure than allowed.
    Infrastructure,
    /// The account was liquidated or ruined.
    Terminated,
    /// The drawdown of a run exceeds its mandate.
    Drawdown,
    /// The gross exposure of a run exceeds its mandate.
    Exposure,
    /// The volatility is below its minimum.
    LowVolatility,
    /// The alpha is below its minimum.
    LowAlpha,
    /// The ratio may be the luck of the trials.
    DeflatedSharpe,
    /// The mean may be the luck of the field.
    RomanoWolf,
    /// A window is significantly below the benchmark.
    WindowBelow,
    /// Too few windows are above the benchmark.
    TooFewWins,
    /// A run of a window does not pass.
    NotAllPass,
    /// The result on the sealed windows may be luck, whatever the public ones show.
    NotOnSealed,
    /// The statistic of a gate is undefined.
    Undefined,
    /// A delay of one bar costs more of the ratio than allowed.
    DelayImplausible,
    /// One window carries the result of all.
    OneWindow,
    /// Every window is public, so hindsight cannot be excluded. It fails no gate.
    PublicWindows,
    /// A delay of one bar costs most of the ratio. It fails no gate.
    DelaySensitive,
}

impl Reason {
    /// Returns the stable name.
    #[must_use]
    pub fn slug(self) -> &'static str {
        match self {
            Self::Insufficient => "insufficient",
            Self::WindowsMissing => "windows_missing",
            Self::Copy => "copy",
            Self::NoBenchmark => "no_benchmark",
            Self::NoPassive => "no_passive",
            Self::NoTrace => "no_trace",
            Self::NoSuite => "no_suite",
            Self::Faults => "faults",
            Self::Infrastructure => "infrastructure",
            Self::Terminated => "terminated",
            Self::Drawdown => "drawdown",
            Self::Exposure => "exposure",
            Self::LowVolatility => "low_volatility",
            Self::LowAlpha => "low_alpha",
            Self::DeflatedSharpe => "deflated_sharpe",
            Self::RomanoWolf => "romano_wolf",
            Self::WindowBelow => "window_below",
            Self::TooFewWins => "too_few_wins",
            Self::NotAllPass => "not_all_pass",
            Self::NotOnSealed => "not_on_sealed",
            Self::Undefined => "undefined",
            Self::DelayImplausible => "delay_implausible",
            Self::OneWindow => "one_window",
            Self::PublicWindows => "public_windows",
            Self::DelaySensitive => "delay_sensitive",
        }
    }

    /// Returns the reason as a phrase.
    #[must_use]
    pub fn description(self) -> &'static str {
        match self {
            Self::Insufficient => "there are fewer than 2 windows, fewer than 250 days or fewer than 250 returns",
            Self::WindowsMissing => "windows or seeds of the suite are missing",
            Self::Copy => "the return series is a copy of that of another agent",
            Self::NoBenchmark => "there is no buy-and-hold benchmark",
            Self::NoPassive => "the returns of equal weight or of the other passive portfolios are unknown",
            Self::NoTrace => "there are no decisions for a replay of the returns",
            Self::NoSuite => "there is no suite: the agents chose windows, costs and limits",
            Self::Faults => "too many decisions default to hold because of faults of the agent",
            Self::Infrastructure => {
                "too many decisions default to hold because the agent was unreachable: run it again"
            }
            Self::Terminated => "an account was liquidated or ruined",
            Self::Drawdown => "the drawdown of a run exceeds the limit",
            Self::Exposure => "the gross exposure of a run exceeds the limit",
            Self::LowVolatility => "the volatility is below its minimum",
            Self::LowAlpha => "the alpha is below its minimum",
            Self::DeflatedSharpe => "the deflated Sharpe ratio is not significant",
            Self::RomanoWolf => "the mean is not significant after multiple testing",
            Self::WindowBelow => "a window is significantly below the benchmark",
            Self::TooFewWins => "too few windows are above the benchmark",
            Self::NotAllPass => "not every run of every window passes",
            Self::NotOnSealed => "the result is not significant on only the sealed windows",
            Self::Undefined => "the statistic of a gate is undefined",
            Self::DelayImplausible => {
                "a delay of one bar costs an implausibly high Sharpe ratio: the prices may be stale"
            }
            Self::OneWindow => "without its best window the result is not above the benchmark by enough",
            Self::DelaySensitive => "a delay of one bar costs at least three quarters of the Sharpe ratio",
            Self::PublicWindows => "every window is public, so hindsight cannot be excluded",
        }
    }
}
