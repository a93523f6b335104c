use openoutcry_contract::SubmittedRun;
use openoutcry_contract::record::Digest;

use super::active_returns::Active;
use super::diagnostics::Beside;
use super::field_agents::Agent;
use super::gates::{Findings, Gate, gates, verdict};
use super::reason::{Known, Reason, Unknown};
use super::window_tests::test_windows;
use super::{PassK, Process, ScoreConfig, ScoreError, Sealed, WindowKey};
use crate::bootstrap::{Panel, sign_flip};
use crate::error::Statistic;
use crate::metrics::moments::Moments;
use crate::metrics::sharpe_error::{Hac, default_lags, hac};
use crate::skill::{Deflated, Selection, deflate, min_track_record};
use crate::{METRICS, TestError, Track, mean, share_of_nav, sharpe, sharpe_standard_error, summarize};

/// What an agent is judged to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Every gate holds.
    Eligible,
    /// A gate does not hold.
    NotEligible,
    /// There is too little data to say anything.
    Insufficient,
    /// No gate fails, but one is not known to hold.
    Unknown,
}

impl Verdict {
    /// Returns the stable name.
    #[must_use]
    pub fn slug(self) -> &'static str {
        match self {
            Self::Eligible => "eligible",
            Self::NotEligible => "not_eligible",
            Self::Insufficient => "insufficient",
            Self::Unknown => "unknown",
        }
    }
}

/// The line fitted on one market; alpha is a year.
#[derive(Clone, Debug, PartialEq)]
pub struct Market {
    /// SHA-256 of the market, if it is known.
    pub dataset: Option<Digest>,
    /// What people call it.
    pub name: String,
    /// Days of all windows on it.
    pub n_days: usize,
    /// Excess over cash that buy-and-hold does not explain.
    pub alpha: f64,
    /// Its standard error.
    pub alpha_error: Known,
    /// Units of buy-and-hold held.
    pub beta: Known,
}

/// A track against one benchmark.
#[derive(Clone, Debug, PartialEq)]
pub struct Side {
    /// The benchmark.
    pub name: &'static str,
    /// Mean active return a year, of the seeds' mean.
    pub mean: Known,
    /// The deflated ratio of the typical seed, per bar, with its inputs.
    pub deflated: Known<Deflated>,
    /// Sharpe ratio of the typical seed a year.
    pub sharpe: Known,
    /// Its standard error.
    pub standard_error: Known,
    /// The same with autocorrelation.
    pub hac: Known<Hac>,
    /// Days that it takes to tell the typical seed's ratio from 0.
    pub min_track_record: Known,
    /// Probability of such a mean of all days where the true one is 0.
    ///
    /// For this agent by itself.
    pub alone: Known,
    /// The same by the signs of windows; none for fewer than eight.
    pub sign_flip: Option<f64>,
    /// The same where any false claim in the field counts.
    pub romano_wolf: Known,
    /// The share of false claims among those at least as sure.
    pub false_discovery: Known,
}

/// One window of an agent; each pair is against buy-and-hold and cash.
#[derive(Clone, Debug, PartialEq)]
pub struct WindowScore {
    /// The window.
    pub key: WindowKey,
    /// What people call its market.
    pub name: String,
    /// Its first and last date, if known.
    pub dates: Option<(String, String)>,
    /// Its returns.
    pub n_days: usize,
    /// Runs of it, each under a fill key of its own.
    pub n_seeds: usize,
    /// Runs of it that pass.
    pub n_passed: usize,
    /// Return over the window, of the seeds' mean.
    pub return_: Known,
    /// Volatility a year of the same.
    pub volatility: Known,
    /// Standard errors of the ratio of active returns above 0.
    pub z: [Known; 2],
    /// Probability of a ratio as low, where it is 0, for the count of windows.
    pub p_below: [Known; 2],
}

/// Everything that a verdict was made of.
#[derive(Clone, Debug, PartialEq)]
pub struct CompositeScore {
    /// What the agent is called.
    pub agent_id: String,
    /// Digest of its record, if there is one.
    pub digest: Option<Digest>,
    /// What it is judged to be.
    pub verdict: Verdict,
    /// Why, each reason once.
    pub reasons: Vec<Reason>,
    /// Every gate.
    pub gates: Vec<Gate>,
    /// What the sealed windows say alone, where there are others beside them.
    pub sealed: Option<Sealed>,
    /// Another agent whose track it has, unless it is known to have made it.
    pub copy_of: Option<String>,
    /// Its place, 1 for the best.
    ///
    /// Agents of a band share one; none for an agent that cannot be ranked.
    pub rank: Option<usize>,
    /// What ranks: standard errors above the luck of trials.
    ///
    /// Of the typical seed and the side where they are fewer; of the sealed windows alone, where there are others beside
    /// them.
    pub z: Known,
    /// The same for each seed; the typical one is the lower of the two in the middle.
    pub seed_z: Vec<Known>,
    /// Share of the luck floor that it is above.
    pub above_luck: Known,
    /// Returns of all windows.
    pub n_days: usize,
    /// Seeds of each window that change something.
    pub n_seeds: usize,
    /// Bars a year.
    pub periods_per_year: f64,
    /// Trials that its maker declares; they add to those counted.
    pub declared: u64,
    /// Out of how many trials it was chosen.
    pub selection: Selection,
    /// Each of [`METRICS`], of the seeds' mean.
    pub metrics: Vec<(&'static str, Statistic)>,
    /// Against buy-and-hold and cash.
    pub sides: Vec<Side>,
    /// The line fitted on each market.
    pub markets: Vec<Market>,
    /// Each window by itself.
    pub windows: Vec<WindowScore>,
    /// Windows above the benchmark, of the side that has fewer.
    pub n_won: usize,
    /// How reliably runs pass.
    pub pass_k: PassK,
    /// How the runs went.
    pub process: Process,
    /// What decides nothing.
    pub beside: Beside,
}

/// What the field says of an agent, of each side.
#[derive(Clone, Copy, Debug)]
pub(super) struct InField {
    pub alone: [Known; 2],
    pub romano_wolf: [Known; 2],
    pub false_discovery: [Known; 2],
}

impl InField {
    /// Sets what one side says: alone, Romano-Wolf, and false discovery.
    pub(super) fn set(&mut self, side: usize, told: Known<[f64; 3]>) {
        self.alone[side] = told.map(|[alone, _, _]| alone);
        self.romano_wolf[side] = told.map(|[_, stepped, _]| stepped);
        self.false_discovery[side] = told.map(|[_, _, rate]| rate);
    }
}

/// Returns how far each seed lies above the luck of trials, and the typical one.
///
/// Of the side where that is less.
pub(super) fn seed_ratios(agent: &Agent<'_>, selection: &Selection) -> (Vec<Known>, usize) {
    let seed_z: Vec<Known> = agent.seeds.iter().map(|seed| Ok(least(seed, selection)?.z)).collect();
    let seed = typical(&seed_z);
    (seed_z, seed)
}

/// Returns the deflated ratio of a track, of the side where it is less.
pub(super) fn dsr_of(track: &Active, selection: &Selection) -> Known {
    least(track, selection).map(|found| found.dsr)
}

fn least(track: &Active, selection: &Selection) -> Known<Deflated> {
    let mut found: Option<Deflated> = None;
    for (_, series) in track.sides() {
        match series {
            Ok(series) => {
                let other = deflated(series, selection)?;
                found = Some(found.filter(|each| each.z <= other.z).unwrap_or(other));
            }
            // Of returns alone cash is what there is to beat; the gate of the benchmark says so.
            Err(Unknown::NoBenchmark) => {}
            Err(unknown) => return Err(unknown),
        }
    }
    found.ok_or(Unknown::NoBenchmark)
}

fn deflated(series: &[f64], selection: &Selection) -> Known<Deflated> {
    Ok(deflate(&Moments::of(series)?, selection)?)
}

/// Returns the place of the typical seed: of two in the middle, the lower.
pub(super) fn typical(seed_z: &[Known]) -> usize {
    let mut order: Vec<usize> = (0..seed_z.len()).collect();
    let key = |place: usize| seed_z[place].unwrap_or(f64::NEG_INFINITY);
    order.sort_by(|a, b| key(*a).total_cmp(&key(*b)));
    order[(order.len() - 1) / 2]
}

/// Returns a result whose reason belongs into a score, or the error that stops it.
pub(super) fn settled<T>(result: Result<T, TestError>) -> Result<Known<T>, ScoreError> {
    match result {
        Ok(value) => Ok(Ok(value)),
        Err(TestError::Undefined(undefined)) => Ok(Err(undefined.into())),
        Err(setup) => Err(setup.into()),
    }
}

/// Returns the score of one agent of a field.
pub(super) fn score(
    agent: &Agent<'_>,
    config: &ScoreConfig,
    selection: &Selection,
    in_field: &InField,
) -> CompositeScore {
    let (seed_z, seed) = seed_ratios(agent, selection);
    let sides = sides(agent, seed, config, selection, in_field);
    let windows = test_windows(agent, &config.gates);
    let process = Process::of(&agent.tracks);
    let dsr = dsr_of(&agent.seeds[seed], selection);
    let found = Findings { process: &process, sides: &sides, windows: &windows, dsr };
    let gates = gates(agent, config, &found);
    let (verdict, reasons) = verdict(&gates);
    CompositeScore {
        agent_id: agent.submission.agent_id.clone(),
        digest: agent.submission.digest,
        verdict,
        reasons,
        gates,
        sealed: None,
        copy_of: None,
        rank: None,
        z: seed_z[seed],
        seed_z,
        above_luck: Err(Unknown::NotInField),
        n_days: agent.tracks.n_days(),
        n_seeds: agent.tracks.n_seeds(),
        periods_per_year: agent.tracks.periods_per_year,
        declared: agent.submission.in_sample_trials,
        selection: *selection,
        metrics: metrics(agent),
        sides,
        markets: agent.average.markets.clone(),
        n_won: windows.n_won,
        windows: windows.windows,
        pass_k: windows.pass_k,
        process,
        beside: Beside::of(agent, config, selection),
    }
}

fn sides(agent: &Agent<'_>, seed: usize, config: &ScoreConfig, selection: &Selection, in_field: &InField) -> Vec<Side> {
    let lengths = agent.tracks.lengths();
    let year = agent.tracks.periods_per_year;
    let mut sides = Vec::new();
    let both = agent.average.sides().into_iter().zip(agent.seeds[seed].sides());
    for (place, ((name, average), (_, typical))) in both.enumerate() {
        let moments = typical.and_then(|series| Ok(Moments::of(series)?));
        sides.push(Side {
            name,
            mean: average.and_then(|series| Ok(mean(series)? * year)),
            deflated: typical.and_then(|series| deflated(series, selection)),
            sharpe: typical.and_then(|series| Ok(sharpe(series, year)?)),
            standard_error: typical.and_then(|series| Ok(sharpe_standard_error(series, year)?)),
            hac: typical.and_then(|series| Ok(hac(series, year, default_lags(series.len()))?)),
            min_track_record: moments.and_then(|of| Ok(min_track_record(&of, 0.0, 1.0 - config.gates.level)?)),
            alone: in_field.alone[place],
            sign_flip: average.ok().and_then(|series| {
                let panel = Panel::new(series, 1, &lengths).ok()?;
                sign_flip(&panel, &config.draws.draws())
            }),
            romano_wolf: in_field.romano_wolf[place],
            false_discovery: in_field.false_discovery[place],
        });
    }
    sides
}

/// Returns the metrics of the seeds' mean.
///
/// What a track without decisions cannot tell is undefined.
fn metrics(agent: &Agent<'_>) -> Vec<(&'static str, Statistic)> {
    let tracks = &agent.tracks;
    let traced = |of: fn(&openoutcry_contract::Trace) -> Vec<f64>| {
        tracks.series(None, |run| run.trace.as_ref().map(of)).unwrap_or_default()
    };
    let cost = |trace: &openoutcry_contract::Trace| {
        let bars = 0..trace.turnover.len();
        let paid: Vec<f64> = bars.map(|bar| trace.paid.iter().map(|kind| kind[bar]).sum()).collect();
        share_of_nav(&paid, &trace.nav)
    };
    let risk_free = tracks.series(None, |run: &SubmittedRun| run.risk_free.clone());
    let track = Track {
        returns: &agent.returns,
        risk_free: risk_free.as_deref(),
        turnover: &traced(|trace| trace.turnover.clone()),
        cost: &traced(cost),
        gross: &traced(|trace| trace.gross.clone()),
        net: &traced(|trace| trace.net.clone()),
        periods_per_year: tracks.periods_per_year,
    };
    METRICS.into_iter().zip(summarize(&track)).collect()
}
