//! Active returns: returns over the benchmarks of an edition.

use std::ops::Range;

use openoutcry_contract::SubmittedRun;
use openoutcry_contract::record::Digest;

use super::Edition;
use super::elapsed_days::days_of;
use super::reason::{Known, Unknown};
use super::window_runs::Tracks;
use crate::error::Undefined;
use crate::skill::{regress, unexplained, unexplained_by_past};

/// Name of the passive mix of earlier returns at constant risk.
pub(super) const PAST_MIX: &str = "past-mix";

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

/// The active returns of a track over each benchmark, per day.
///
/// Those over a portfolio are the excess over cash less the part that the portfolio explains, including alpha.
#[derive(Clone, Debug)]
pub(super) struct Active {
    /// Over buy-and-hold.
    pub held: Known<Vec<f64>>,
    /// Excess over cash.
    pub cash: Vec<f64>,
    /// Over the passive portfolios of the edition, by name.
    ///
    /// Equal parts that are kept, the best mix, and that of earlier returns.
    pub passive: Vec<(&'static str, Known<Vec<f64>>)>,
    /// The regression on buy-and-hold of each market.
    pub markets: Vec<Market>,
}

impl Active {
    /// Returns each series by the name of its benchmark.
    pub(super) fn sides(&self) -> Vec<(&'static str, Known<&[f64]>)> {
        let mut sides = vec![("buy-and-hold", borrowed(&self.held)), ("cash", Ok(&self.cash[..]))];
        sides.extend(self.passive.iter().map(|(name, series)| (*name, borrowed(series))));
        sides
    }

    /// Returns the series over the benchmark with the least that is unexplained.
    ///
    /// The passive mix, or buy-and-hold in the first edition.
    pub(super) fn strictest(&self) -> (usize, Known<&[f64]>) {
        match &self.passive[..] {
            [_, (_, mix), ..] => (3, borrowed(mix)),
            _ => (0, borrowed(&self.held)),
        }
    }

    /// Returns the strictest series, or that over cash if it is unknown.
    pub(super) fn own(&self) -> &[f64] {
        self.strictest().1.unwrap_or(&self.cash)
    }
}

fn borrowed(series: &Known<Vec<f64>>) -> Known<&[f64]> {
    series.as_deref().map_err(|unknown| *unknown)
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

/// Returns the active returns of a series over the benchmarks of an edition.
///
/// Slopes are estimated on each market separately, over all its windows.
pub(super) fn active(tracks: &Tracks<'_>, seed: Option<usize>, returns: &[f64], edition: Edition) -> Active {
    let cash = tracks.series(seed, |run| Some(cash_of(run))).unwrap_or_default();
    let over = |series: &[f64]| -> Vec<f64> { series.iter().zip(&cash).map(|(r, cash)| r - cash).collect() };
    let excess = over(returns);
    let of_held = |run: &SubmittedRun| run.benchmarks.as_ref().map(|each| each.buy_and_hold.clone());
    let benchmark = tracks.series(seed, of_held).map(|held| over(&held));
    let (held, markets) = match &benchmark {
        Some(benchmark) => over_held(tracks, &excess, benchmark)
            .map_or_else(|undefined| (Err(undefined.into()), Vec::new()), |(held, markets)| (Ok(held), markets)),
        None => (Err(Unknown::NoBenchmark), Vec::new()),
    };
    let passive = if edition > Edition::First {
        let portfolios: Vec<Vec<f64>> = passive(tracks, seed).iter().map(|series| over(series)).collect();
        over_passive(tracks, &excess, benchmark.as_deref(), &portfolios, edition)
    } else {
        Vec::new()
    };
    Active { held, cash: excess, passive, markets }
}

/// Returns the returns of the passive portfolios that every run has.
///
/// Equal parts are the first.
fn passive(tracks: &Tracks<'_>, seed: Option<usize>) -> Vec<Vec<f64>> {
    let of = |place: usize| {
        let portfolio = |run: &SubmittedRun| run.benchmarks.as_ref()?.passive.get(place).cloned();
        tracks.series(seed, portfolio)
    };
    (0..).map_while(of).collect()
}

/// Returns the active returns over buy-and-hold, and the regression on each market.
fn over_held(tracks: &Tracks<'_>, excess: &[f64], benchmark: &[f64]) -> Result<(Vec<f64>, Vec<Market>), Undefined> {
    let (mut held, mut markets) = (Vec::with_capacity(excess.len()), Vec::new());
    for (windows, days) in markets_of(tracks) {
        let of_market = &tracks.windows[windows];
        let (active, fitted) = fit(&excess[days.clone()], &benchmark[days])?;
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
    Ok((held, markets))
}

/// A way to subtract what benchmarks explain.
type Explain = fn(&[f64], &[&[f64]]) -> Result<Vec<f64>, Undefined>;

/// Returns the active returns over equal parts, and over the passive mixes.
///
/// A mix has buy-and-hold and the portfolios after equal parts. It is unknown without such portfolios: a benchmark is
/// never left out.
fn over_passive(
    tracks: &Tracks<'_>,
    excess: &[f64],
    held: Option<&[f64]>,
    portfolios: &[Vec<f64>],
    edition: Edition,
) -> Vec<(&'static str, Known<Vec<f64>>)> {
    let rest = |on: &[&[f64]], explain: Explain| -> Known<Vec<f64>> {
        let mut active = Vec::with_capacity(excess.len());
        for (_, days) in markets_of(tracks) {
            let on: Vec<&[f64]> = on.iter().map(|series| &series[days.clone()]).collect();
            active.extend(explain(&excess[days], &on)?);
        }
        Ok(active)
    };
    let equal = portfolios.first().ok_or(Unknown::NoPassive).and_then(|equal| rest(&[equal], unexplained));
    let mix = |explain: Explain| match held {
        Some(held) if portfolios.len() > 1 => {
            let others = portfolios[1..].iter().map(|series| &series[..]);
            rest(&std::iter::once(held).chain(others).collect::<Vec<_>>(), explain)
        }
        _ => Err(Unknown::NoPassive),
    };
    let mut found = vec![("equal-weight", equal), ("passive-mix", mix(unexplained))];
    if edition > Edition::Second {
        found.push((PAST_MIX, mix(unexplained_by_past)));
    }
    found
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
