//! Active returns: returns over the benchmarks cash and buy-and-hold.

use std::ops::Range;

use openoutcry_contract::SubmittedRun;
use openoutcry_contract::record::Digest;

use super::elapsed_days::days_of;
use super::reason::{Known, Unknown};
use super::window_runs::Tracks;
use crate::error::Undefined;
use crate::skill::regress;

/// The regression on one market; alpha is annual.
#[derive(Clone, Debug, PartialEq)]
pub struct Market {
    /// SHA-256 of the market, if known.
    pub dataset: Option<Digest>,
    /// Display name.
    pub name: String,
    /// Days of all windows on the market.
    pub n_days: usize,
    /// Excess over cash that buy-and-hold does not explain.
    pub alpha: f64,
    /// Its standard error.
    pub alpha_error: Known,
    /// Slope: units of buy-and-hold.
    pub beta: Known,
}

/// The active returns of a track over both benchmarks, per day.
#[derive(Clone, Debug)]
pub(super) struct Active {
    /// Excess over cash less beta times that of buy-and-hold, including alpha.
    pub held: Known<Vec<f64>>,
    /// Excess over cash.
    pub cash: Vec<f64>,
    /// The regression on each market.
    pub markets: Vec<Market>,
}

impl Active {
    /// Returns both series by name.
    pub(super) fn sides(&self) -> [(&'static str, Known<&[f64]>); 2] {
        let held = self.held.as_deref().map_err(|unknown| *unknown);
        [("buy-and-hold", held), ("cash", Ok(&self.cash))]
    }
}

/// Returns the return of cash.
///
/// It is the interest of the account, or the risk-free return of the market if that is higher.
fn cash_of(run: &SubmittedRun) -> Vec<f64> {
    let earned = run.benchmarks.as_ref().map(|benchmarks| &benchmarks.cash);
    let total = |series: &&Vec<f64>| series.iter().sum::<f64>();
    let best = earned.into_iter().chain(&run.risk_free).max_by(|a, b| total(a).total_cmp(&total(b)));
    best.cloned().unwrap_or_else(|| vec![0.0; run.returns.len()])
}

/// Returns the active returns of a series over both benchmarks.
///
/// Beta is estimated on each market separately, over all its windows.
pub(super) fn active(tracks: &Tracks<'_>, seed: Option<usize>, returns: &[f64]) -> Active {
    let cash = tracks.series(seed, |run| Some(cash_of(run))).unwrap_or_default();
    let over = |series: &[f64]| -> Vec<f64> { series.iter().zip(&cash).map(|(r, cash)| r - cash).collect() };
    let excess = over(returns);
    let of_held = |run: &SubmittedRun| run.benchmarks.as_ref().map(|each| each.buy_and_hold.clone());
    let Some(benchmark) = tracks.series(seed, of_held) else {
        return Active { held: Err(Unknown::NoBenchmark), cash: excess, markets: Vec::new() };
    };
    let benchmark = over(&benchmark);
    let (mut held, mut markets) = (Vec::with_capacity(excess.len()), Vec::new());
    for (windows, days) in markets_of(tracks) {
        let of_market = &tracks.windows[windows];
        match fit(&excess[days.clone()], &benchmark[days.clone()]) {
            Ok((active, fitted)) => {
                let first = &of_market[0];
                let year = first.runs[0].periods_per_year;
                markets.push(Market {
                    dataset: first.key.dataset,
                    name: first.runs[0].dataset_name.clone(),
                    n_days: days_of(of_market.iter().map(|window| window.runs[0])),
                    alpha: fitted.0 * year,
                    alpha_error: fitted.1.map(|error| error * year),
                    beta: fitted.2,
                });
                held.extend(active);
            }
            Err(undefined) => return Active { held: Err(undefined.into()), cash: excess, markets: Vec::new() },
        }
    }
    Active { held: Ok(held), cash: excess, markets }
}

/// Alpha, its standard error and beta, per day.
type Fitted = (f64, Known, Known);

/// Returns the part of the returns that a benchmark does not explain.
///
/// For a constant benchmark it is the difference.
fn fit(excess: &[f64], benchmark: &[f64]) -> Result<(Vec<f64>, Fitted), Undefined> {
    match regress(excess, benchmark) {
        Ok(line) => {
            let fitted = (line.alpha, line.alpha_error.map_err(Unknown::from), Ok(line.beta));
            Ok((line.active, fitted))
        }
        Err(Undefined::NoVariation) => {
            let active: Vec<f64> = excess.iter().zip(benchmark).map(|(r, b)| r - b).collect();
            let unknown = Err(Unknown::Undefined(Undefined::NoVariation));
            Ok((active.clone(), (crate::mean(&active)?, unknown, unknown)))
        }
        Err(undefined) => Err(undefined),
    }
}

/// Returns the windows of each market, and their returns.
fn markets_of(tracks: &Tracks<'_>) -> Vec<(Range<usize>, Range<usize>)> {
    let mut markets: Vec<(Range<usize>, Range<usize>)> = Vec::new();
    let mut row = 0;
    for (place, window) in tracks.windows.iter().enumerate() {
        let next = row + window.key.n_returns();
        match markets.last_mut() {
            Some((windows, rows)) if tracks.windows[windows.start].key.dataset == window.key.dataset => {
                (windows.end, rows.end) = (place + 1, next);
            }
            _ => markets.push((place..place + 1, row..next)),
        }
        row = next;
    }
    markets
}
