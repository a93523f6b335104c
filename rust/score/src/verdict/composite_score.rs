use openoutcry_contract::SubmittedRun;
use openoutcry_contract::record::Digest;

use super::active_returns::Market;
use super::benchmark_side::{Side, sides};
use super::deflated_ratio::{dsr_of, seed_ratios};
use super::diagnostics::Diagnostics;
use super::field_agents::Agent;
use super::gates::{Findings, Gate, Verdict, gates, verdict};
use super::reason::{Known, Reason, Unknown};
use super::sealed_result::Sealed;
use super::window_tests::{WindowScore, test_windows};
use super::{PassK, Process, ScoreConfig, ScoreError};
use crate::error::Statistic;
use crate::skill::Selection;
use crate::{METRICS, TestError, Track, Trading, mean, share_of_nav, summarize};

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
    /// Of the typical seed and the lowest of all benchmarks; of the sealed windows only, if there are others too.
    pub z: Known,
    /// Ranking value of each seed; the typical seed is the lower median.
    pub seed_z: Vec<Known>,
    /// Share of the luck floor below this agent.
    pub above_luck: Known,
    /// Days of all windows; a year of weekly or monthly returns is 252.
    pub n_days: usize,
    /// Returns of all windows.
    pub n_returns: usize,
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
    /// Results against each benchmark of the edition.
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
    in_field: &[Known<[f64; 3]>],
) -> CompositeScore {
    let (seed_z, seed) = seed_ratios(agent, selection);
    let sides = sides(agent, seed, config, selection, in_field);
    let windows = test_windows(agent, &config.gates);
    let process = Process::of(&agent.tracks);
    let dsr = dsr_of(&agent.seeds[seed], selection);
    let diagnostics = Diagnostics::of(agent, config, selection);
    let delay = diagnostics.delay;
    let found = Findings { process: &process, sides: &sides, windows: &windows, dsr, delay };
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
        n_returns: agent.tracks.n_returns(),
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
        diagnostics,
    }
}

/// Returns the metrics averaged over seeds.
///
/// Metrics that need decisions are undefined for bare returns.
fn metrics(agent: &Agent<'_>) -> Vec<(&'static str, Statistic)> {
    let tracks = &agent.tracks;
    let traced = |of: fn(&openoutcry_contract::Trace) -> Vec<f64>| {
        mean(&tracks.series(None, |run| run.trace.as_ref().map(of)).unwrap_or_default())
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
        trading: Trading {
            turnover: traced(|trace| trace.turnover.clone()),
            cost: traced(cost),
            gross: traced(|trace| trace.gross.clone()),
            net: traced(|trace| trace.net.clone()),
        },
        periods_per_year: tracks.periods_per_year,
    };
    METRICS.into_iter().zip(summarize(&track)).collect()
}
