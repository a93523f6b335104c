use openoutcry_contract::SubmittedRun;
use openoutcry_contract::record::Digest;

use super::active_returns::Active;
use super::diagnostics::Diagnostics;
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

/// The verdict on an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Every gate passes.
    Eligible,
    /// A gate fails.
    NotEligible,
    /// There are too few windows or days.
    Insufficient,
    /// No gate fails, but the result of one is unknown.
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

/// A track against one benchmark.
#[derive(Clone, Debug, PartialEq)]
pub struct Side {
    /// The benchmark.
    pub name: &'static str,
    /// Mean annual active return, averaged over seeds.
    pub mean: Known,
    /// The deflated ratio of the typical seed, per bar, with its inputs.
    pub deflated: Known<Deflated>,
    /// Annual Sharpe ratio of the typical seed.
    pub sharpe: Known,
    /// Its standard error.
    pub standard_error: Known,
    /// Its standard error under autocorrelation.
    pub hac: Known<Hac>,
    /// Minimum track record length of the typical seed, against a ratio of 0.
    pub min_track_record: Known,
    /// Unadjusted p-value of the mean over all days.
    ///
    /// For this agent only.
    pub alone: Known,
    /// p-value of the signs of windows; absent for fewer than eight windows.
    pub sign_flip: Option<f64>,
    /// Romano-Wolf p-value, adjusted for the field.
    pub romano_wolf: Known,
    /// p-value adjusted for the false discovery rate.
    pub false_discovery: Known,
}

/// One window of an agent; pairs are against buy-and-hold and cash.
#[derive(Clone, Debug, PartialEq)]
pub struct WindowScore {
    /// The window.
    pub key: WindowKey,
    /// Display name of its market.
    pub name: String,
    /// Its first and last date, if known.
    pub dates: Option<(String, String)>,
    /// Number of returns.
    pub n_days: usize,
    /// Number of runs, each with its own fill key.
    pub n_seeds: usize,
    /// Number of runs that pass.
    pub n_passed: usize,
    /// Return over the window, averaged over seeds.
    pub return_: Known,
    /// Annual volatility, averaged over seeds.
    pub volatility: Known,
    /// Excess of the ratio of active returns over 0, in standard errors.
    pub z: [Known; 2],
    /// Probability of such a low ratio at a true ratio of 0, adjusted for windows.
    pub p_below: [Known; 2],
}

/// The score of an agent: its verdict, rank and all inputs.
#[derive(Clone, Debug, PartialEq)]
pub struct CompositeScore {
    /// Name of the agent.
    pub agent_id: String,
    /// Digest of its record, if any.
    pub digest: Option<Digest>,
    /// The verdict.
    pub verdict: Verdict,
    /// Reasons, each once.
    pub reasons: Vec<Reason>,
    /// Every gate.
    pub gates: Vec<Gate>,
    /// Result on the sealed windows only, if there are others too.
    pub sealed: Option<Sealed>,
    /// The agent with the same track, unless this one is the known original.
    pub copy_of: Option<String>,
    /// Rank, 1 for the best.
    ///
    /// Agents of a band share a rank; absent for an agent that cannot be ranked.
    pub rank: Option<usize>,
    /// Ranking value: standard errors above the expected maximum of the trials.
    ///
    /// Of the typical seed and the lower of both benchmarks; of the sealed windows only, if there are others too.
    pub z: Known,
    /// Ranking value of each seed; the typical seed is the lower median.
    pub seed_z: Vec<Known>,
    /// Share of the luck floor below this agent.
    pub above_luck: Known,
    /// Returns of all windows.
    pub n_days: usize,
    /// Number of distinct seeds per window.
    pub n_seeds: usize,
    /// Bars per year.
    pub periods_per_year: f64,
    /// Trials declared by its author; added to the counted ones.
    pub declared: u64,
    /// The selection among trials.
    pub selection: Selection,
    /// Each of [`METRICS`], averaged over seeds.
    pub metrics: Vec<(&'static str, Statistic)>,
    /// Results against buy-and-hold and cash.
    pub sides: Vec<Side>,
    /// The regression on each market.
    pub markets: Vec<Market>,
    /// Each window.
    pub windows: Vec<WindowScore>,
    /// Windows above the benchmark, for the benchmark with fewer.
    pub n_won: usize,
    /// Reliability of passing.
    pub pass_k: PassK,
    /// Process statistics of the runs.
    pub process: Process,
    /// Diagnostics that do not affect the verdict.
    pub diagnostics: Diagnostics,
}

/// Results of an agent in tests of the field, per benchmark.
#[derive(Clone, Copy, Debug)]
pub(super) struct InField {
    pub alone: [Known; 2],
    pub romano_wolf: [Known; 2],
    pub false_discovery: [Known; 2],
}

impl InField {
    /// Sets the results for one benchmark: alone, Romano-Wolf, and false discovery.
    pub(super) fn set(&mut self, side: usize, value: Known<[f64; 3]>) {
        self.alone[side] = value.map(|[alone, _, _]| alone);
        self.romano_wolf[side] = value.map(|[_, stepped, _]| stepped);
        self.false_discovery[side] = value.map(|[_, _, rate]| rate);
    }
}

/// Returns the ranking value of each seed, and the index of the typical seed.
///
/// For the benchmark with the lower value.
pub(super) fn seed_ratios(agent: &Agent<'_>, selection: &Selection) -> (Vec<Known>, usize) {
    let seed_z: Vec<Known> = agent.seeds.iter().map(|seed| Ok(least(seed, selection)?.z)).collect();
    let seed = typical(&seed_z);
    (seed_z, seed)
}

/// Returns the deflated ratio of a track, for the benchmark with the lower one.
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
            // Bare returns have only cash as benchmark; the benchmark gate reports it.
            Err(Unknown::NoBenchmark) => {}
            Err(unknown) => return Err(unknown),
        }
    }
    found.ok_or(Unknown::NoBenchmark)
}

fn deflated(series: &[f64], selection: &Selection) -> Known<Deflated> {
    Ok(deflate(&Moments::of(series)?, selection)?)
}

/// Returns the index of the typical seed, the lower median.
pub(super) fn typical(seed_z: &[Known]) -> usize {
    let mut order: Vec<usize> = (0..seed_z.len()).collect();
    let key = |place: usize| seed_z[place].unwrap_or(f64::NEG_INFINITY);
    order.sort_by(|a, b| key(*a).total_cmp(&key(*b)));
    order[(order.len() - 1) / 2]
}

/// Returns a result whose reason belongs in a score, or a fatal error.
pub(super) fn known_or_fatal<T>(result: Result<T, TestError>) -> Result<Known<T>, ScoreError> {
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
        diagnostics: Diagnostics::of(agent, config, selection),
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

/// Returns the metrics averaged over seeds.
///
/// Metrics that need decisions are undefined for bare returns.
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
