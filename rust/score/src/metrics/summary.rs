use std::cell::OnceCell;

use crate::error::{Statistic, Undefined, finite};
use crate::metrics::growth::Growth;
use crate::metrics::moments::Central;
use crate::metrics::rates::annual;
use crate::metrics::ratios::{annual_deviation, annual_sharpe};
use crate::metrics::tails::Tails;
use crate::{excess, sortino, standard_error};

/// The metrics of [`Trading`]: a track of returns alone has none.
pub const TRADING_METRICS: [&str; 4] = ["turnover", "cost", "exposure", "net_exposure"];

/// The returns of one run, per bar after the first, and the means of its trades.
#[derive(Clone, Copy, Debug)]
pub struct Track<'a> {
    /// Simple returns.
    pub returns: &'a [f64],
    /// Risk-free returns of the same bars, if known.
    pub risk_free: Option<&'a [f64]>,
    /// Means of what a track of returns alone does not know.
    pub trading: Trading,
    /// Bars per year; NaN if unknown.
    pub periods_per_year: f64,
}

/// Means per bar of a run, each undefined where it is unknown.
#[derive(Clone, Copy, Debug)]
pub struct Trading {
    /// Notional traded over NAV.
    pub turnover: Statistic,
    /// Costs over NAV.
    pub cost: Statistic,
    /// Gross exposure at the close.
    pub gross: Statistic,
    /// Net exposure at the close.
    pub net: Statistic,
}

impl Trading {
    /// The means of a track of returns alone.
    pub const UNKNOWN: Self = {
        let none = Err(Undefined::TooShort { required: 1, received: 0 });
        Self { turnover: none, cost: none, gross: none, net: none }
    };
}

/// The metrics of [`summarize`], in its order.
pub const METRICS: [&str; 18] = [
    "return",
    "cagr",
    "vol",
    "sharpe",
    "sharpe_se",
    "sortino",
    "max_drawdown",
    "calmar",
    "var_95",
    "cvar_95",
    "tail_ratio",
    "skew",
    "kurtosis",
    "turnover",
    "cost",
    "exposure",
    "net_exposure",
    "n_returns",
];

/// The metrics of a track, each computed when it is asked for.
///
/// Sharpe ratio, its error and Sortino ratio are of excess returns, the others of raw returns. Turnover and cost are
/// annual, exposures are means over bars. Metrics that need the same pass over the returns share it.
#[derive(Debug)]
pub struct Metrics<'a> {
    track: Track<'a>,
    growth: OnceCell<Result<Growth, Undefined>>,
    raw: OnceCell<Result<Central, Undefined>>,
    excess: OnceCell<Vec<f64>>,
    excess_moments: OnceCell<Result<Central, Undefined>>,
    tails: OnceCell<Result<Tails, Undefined>>,
}

impl<'a> Metrics<'a> {
    /// Returns the metrics of a track.
    #[must_use]
    pub fn of(track: Track<'a>) -> Self {
        let (growth, raw, excess, tails) = (OnceCell::new(), OnceCell::new(), OnceCell::new(), OnceCell::new());
        Self { track, growth, raw, excess, excess_moments: OnceCell::new(), tails }
    }

    /// Returns a metric of [`METRICS`]; `None` for another name.
    ///
    /// Each may be undefined separately.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<Statistic> {
        let Track { returns, trading, periods_per_year: ppy, .. } = self.track;
        let statistic = match name {
            "return" => self.growth().map(|growth| growth.total_return()),
            "cagr" => self.growth().and_then(|growth| growth.cagr(ppy)),
            "vol" => self.raw().and_then(|raw| annual_deviation(&raw, ppy)),
            "sharpe" => self.excess_moments().and_then(|excess| annual_sharpe(&excess, ppy)),
            "sharpe_se" => self.excess_moments().and_then(|excess| standard_error(&excess.moments()?, ppy)),
            "sortino" => sortino(self.excess(), 0.0, ppy),
            "max_drawdown" => self.growth().map(|growth| growth.max_drawdown()),
            "calmar" => self.growth().and_then(|growth| growth.calmar(ppy)),
            "var_95" => self.tails().map(|tails| tails.var),
            "cvar_95" => self.tails().map(|tails| tails.cvar),
            "tail_ratio" => self.tails().and_then(|tails| tails.ratio()),
            "skew" => self.raw().and_then(|raw| raw.skew()),
            "kurtosis" => self.raw().and_then(|raw| raw.kurtosis()),
            "turnover" => annual(trading.turnover, ppy),
            "cost" => annual(trading.cost, ppy),
            "exposure" => trading.gross,
            "net_exposure" => trading.net,
            "n_returns" => Ok(returns.len() as f64),
            _ => return None,
        };
        // An overflow is no number.
        Some(statistic.and_then(|value| finite(value).map(|()| value)))
    }

    fn growth(&self) -> Result<Growth, Undefined> {
        *self.growth.get_or_init(|| Growth::of(self.track.returns))
    }

    fn raw(&self) -> Result<Central, Undefined> {
        *self.raw.get_or_init(|| Central::of(self.track.returns))
    }

    fn excess(&self) -> &[f64] {
        match self.track.risk_free {
            None => self.track.returns,
            rates => self.excess.get_or_init(|| excess(self.track.returns, rates)),
        }
    }

    fn excess_moments(&self) -> Result<Central, Undefined> {
        match self.track.risk_free {
            None => self.raw(),
            Some(_) => *self.excess_moments.get_or_init(|| Central::of(self.excess())),
        }
    }

    fn tails(&self) -> Result<Tails, Undefined> {
        *self.tails.get_or_init(|| Tails::of(self.track.returns))
    }
}

/// Returns every metric of a track in the order of [`METRICS`].
#[expect(clippy::missing_panics_doc, reason = "each of the names is a metric")]
pub fn summarize(track: &Track) -> [Statistic; METRICS.len()] {
    let metrics = Metrics::of(*track);
    METRICS.map(|name| metrics.get(name).expect("a metric"))
}
