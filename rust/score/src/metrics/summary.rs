use crate::error::{Statistic, finite};
use crate::{
    annual_mean, cagr, calmar, cvar, excess, kurtosis, max_drawdown, mean, sharpe, sharpe_standard_error, skew,
    sortino, tail_ratio, total_return, var, volatility,
};

/// The series of one run, per bar after the first.
#[derive(Clone, Copy, Debug)]
pub struct Track<'a> {
    /// Simple returns.
    pub returns: &'a [f64],
    /// Risk-free returns of the same bars, if known.
    pub risk_free: Option<&'a [f64]>,
    /// Notional traded over NAV.
    pub turnover: &'a [f64],
    /// Costs over NAV.
    pub cost: &'a [f64],
    /// Gross exposure at each close.
    pub gross: &'a [f64],
    /// Net exposure at each close.
    pub net: &'a [f64],
    /// Bars per year; NaN if unknown.
    pub periods_per_year: f64,
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

/// Returns every metric of a track in the order of [`METRICS`].
///
/// Each metric may be undefined separately. Sharpe ratio and its error are of excess returns, the others of raw
/// returns. Turnover and cost are annual, exposures are means over bars.
pub fn summarize(track: &Track) -> [Statistic; METRICS.len()] {
    let (r, ppy) = (track.returns, track.periods_per_year);
    let over = excess(r, track.risk_free);
    let found = [
        total_return(r),
        cagr(r, ppy),
        volatility(r, ppy),
        sharpe(&over, ppy),
        sharpe_standard_error(&over, ppy),
        sortino(&over, 0.0, ppy),
        max_drawdown(r),
        calmar(r, ppy),
        var(r, 0.05),
        cvar(r, 0.05),
        tail_ratio(r),
        skew(r),
        kurtosis(r),
        annual_mean(track.turnover, ppy),
        annual_mean(track.cost, ppy),
        mean(track.gross),
        mean(track.net),
        Ok(r.len() as f64),
    ];
    // An overflow is no number.
    found.map(|statistic| statistic.and_then(|value| finite(value).map(|()| value)))
}
