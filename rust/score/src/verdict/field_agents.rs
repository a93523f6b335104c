//! The agents of a field: validated, on common windows, with copies marked.

use std::collections::{BTreeMap, BTreeSet};

use openoutcry_contract::{Submission, SubmittedRun, Trace};

use super::active_returns::{Active, active};
use super::reason::Known;
use super::score_config::SuiteWindow;
use super::window_runs::{Tracks, fill_text, key_of};
use super::{Edition, ScoreConfig, ScoreError, WindowKey};
use crate::is_riskless;

/// Correlation above which two tracks are the same.
const SAME: f64 = 0.999_999;

/// An agent before scoring.
#[derive(Clone, Debug)]
pub(super) struct Agent<'a> {
    pub submission: &'a Submission,
    pub tracks: Tracks<'a>,
    /// Mean return of all seeds, per day.
    pub returns: Vec<f64>,
    pub average: Active,
    /// Active returns of each seed.
    pub seeds: Vec<Active>,
    /// Number of missing windows and seeds.
    pub n_missing: usize,
    /// The agent with the same track, unless this one is the known original.
    pub copy_of: Option<usize>,
    /// The agent of the same track that represents it in tests of the field.
    pub represented_by: Option<usize>,
}

impl Agent<'_> {
    /// Returns whether tests of the field include this agent.
    pub(super) fn is_in_field(&self) -> bool {
        let varies = |(_, series): (_, Known<&[f64]>)| series.map_or(true, |series| !is_riskless(series));
        self.n_missing == 0 && self.represented_by.is_none() && self.average.sides().into_iter().all(varies)
    }
}

/// Agents of a field in their order.
#[derive(Clone, Debug)]
pub(super) struct Agents<'a> {
    /// Agents to score.
    pub scored: Vec<Agent<'a>>,
    /// Agents of the luck floor.
    pub floor: Vec<Agent<'a>>,
}

/// Returns the agents of a field on all their windows.
///
/// # Errors
///
/// Returns an error for an invalid submission, a duplicate name, or different rules.
pub(super) fn prepare<'a>(submissions: &'a [Submission], config: &ScoreConfig) -> Result<Agents<'a>, ScoreError> {
    check_names(submissions)?;
    let agents = submissions.iter().map(|each| agent(each, |_| true, config.edition)).collect::<Result<Vec<_>, _>>()?;
    check_rules(submissions)?;
    parted(agents, config)
}

/// Returns agents restricted to the windows of a configuration.
///
/// Agents without such a window are left out.
///
/// # Errors
///
/// Returns an error for an invalid submission.
pub(super) fn restricted<'a>(submissions: &'a [Submission], config: &ScoreConfig) -> Result<Agents<'a>, ScoreError> {
    let windows: BTreeSet<WindowKey> = config.windows.iter().map(SuiteWindow::key).collect();
    let is_in = |run: &SubmittedRun| windows.contains(&key_of(run));
    let some = submissions.iter().filter(|each| each.runs.iter().any(is_in));
    parted(some.map(|each| agent(each, is_in, config.edition)).collect::<Result<Vec<_>, _>>()?, config)
}

/// Returns agents with missing windows and copies, and the luck floor.
fn parted<'a>(agents: Vec<Agent<'a>>, config: &ScoreConfig) -> Result<Agents<'a>, ScoreError> {
    let is_floor = |agent: &Agent<'_>| config.luck_floor.contains(&agent.submission.agent_id);
    let (floor, mut scored): (Vec<_>, Vec<_>) = counted(agents, config)?.into_iter().partition(is_floor);
    mark_copies(&mut scored, config);
    Ok(Agents { scored, floor })
}

fn check_names(submissions: &[Submission]) -> Result<(), ScoreError> {
    let mut names = BTreeSet::new();
    if let Some(twice) = submissions.iter().find(|each| !names.insert(&each.agent_id)) {
        return Err(ScoreError::Agents { received: format!("{:?} twice", twice.agent_id) });
    }
    if submissions.is_empty() {
        return Err(ScoreError::Agents { received: "none".to_owned() });
    }
    Ok(())
}

/// Counts the missing windows and seeds of each agent.
fn counted<'a>(mut agents: Vec<Agent<'a>>, config: &ScoreConfig) -> Result<Vec<Agent<'a>>, ScoreError> {
    let required_windows = required_windows(&agents, config);
    for agent in &mut agents {
        agent.n_missing = missing(&agent.tracks, &required_windows, config)
            .map_err(|problem| ScoreError::Submission { agent: agent.submission.agent_id.clone(), problem })?;
    }
    Ok(agents)
}

fn agent(
    submission: &Submission,
    is_in: impl Fn(&SubmittedRun) -> bool,
    edition: Edition,
) -> Result<Agent<'_>, ScoreError> {
    let tracks = Tracks::new(submission, is_in)?;
    let returns = tracks.returns(None);
    let average = active(&tracks, None, &returns, edition);
    let seeds =
        (0..tracks.n_seeds()).map(|seed| active(&tracks, Some(seed), &tracks.returns(Some(seed)), edition)).collect();
    Ok(Agent { submission, tracks, returns, average, seeds, n_missing: 0, copy_of: None, represented_by: None })
}

/// Refuses agents with different costs, limits, benchmarks or bars per year.
fn check_rules(submissions: &[Submission]) -> Result<(), ScoreError> {
    let mut years: BTreeMap<WindowKey, (f64, &str)> = BTreeMap::new();
    let mut held: BTreeMap<(WindowKey, String), (&SubmittedRun, &str)> = BTreeMap::new();
    let mut rules: Option<(&Trace, &str)> = None;
    for submission in submissions {
        let agent = submission.agent_id.as_str();
        let differs = |other: &str| {
            let (agent, other) = (other.to_owned(), agent.to_owned());
            Err(ScoreError::Rules { agent, other })
        };
        for run in &submission.runs {
            let (year, other) = *years.entry(key_of(run)).or_insert((run.periods_per_year, agent));
            if year != run.periods_per_year {
                return differs(other);
            }
            let (first, other) = *held.entry((key_of(run), fill_text(run.fill))).or_insert((run, agent));
            if run.benchmarks != first.benchmarks || run.risk_free != first.risk_free {
                return differs(other);
            }
            let Some(trace) = &run.trace else { continue };
            let (first, other) = *rules.get_or_insert((trace, agent));
            if trace.costs != first.costs || trace.limits != first.limits {
                return differs(other);
            }
        }
    }
    Ok(())
}

/// Returns the windows that every agent must have.
fn required_windows(agents: &[Agent<'_>], config: &ScoreConfig) -> Vec<WindowKey> {
    if !config.windows.is_empty() {
        return config.windows.iter().map(SuiteWindow::key).collect();
    }
    let every: BTreeSet<WindowKey> = agents.iter().flat_map(|agent| agent.tracks.keys()).collect();
    every.into_iter().collect()
}

/// Returns the number of missing windows and seeds of an agent.
///
/// # Errors
///
/// Returns a fault for an unexpected window or seed.
fn missing(tracks: &Tracks<'_>, required_windows: &[WindowKey], config: &ScoreConfig) -> Result<usize, String> {
    let (keys, fills) = (tracks.keys(), tracks.fills());
    if let Some(key) = keys.iter().find(|key| !required_windows.contains(key)) {
        return Err(format!("non-suite window {}:{}", key.start, key.end));
    }
    let seeds = &config.seeds;
    if let Some(fill) = fills.iter().find(|fill| !seeds.is_empty() && !seeds.contains(fill)) {
        return Err(format!("non-suite fill key {fill}"));
    }
    let n_seeds = seeds.iter().filter(|seed| !fills.contains(seed)).count();
    Ok(required_windows.iter().filter(|key| !keys.contains(key)).count() + n_seeds)
}

/// Marks agents of one track as copies, in any order.
///
/// A record does not prove who was first. Of agents with one track, only one that the configuration names as the
/// original is no copy. One of them represents all in tests of the field.
fn mark_copies(agents: &mut [Agent<'_>], config: &ScoreConfig) {
    for mut group in groups(agents) {
        let name = |place: &usize| agents[*place].submission.agent_id.as_str();
        let is_known = |place: &usize| config.originals.contains(name(place));
        let n_known = group.iter().filter(|place| is_known(place)).count();
        group.sort_by_key(|place| (!is_known(place), name(place).to_owned()));
        let first = group[0];
        for place in &group[1..] {
            (agents[*place].copy_of, agents[*place].represented_by) = (Some(first), Some(first));
        }
        if n_known != 1 {
            agents[first].copy_of = Some(group[1]);
        }
    }
}

/// Returns the groups of agents that share a track.
fn groups(agents: &[Agent<'_>]) -> Vec<Vec<usize>> {
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for (place, agent) in agents.iter().enumerate() {
        let is_kin = |group: &Vec<usize>| group.iter().any(|other| is_same(&agents[*other], agent));
        let (kin, others): (Vec<_>, Vec<_>) = groups.into_iter().partition(is_kin);
        groups = others;
        groups.push(kin.into_iter().flatten().chain([place]).collect());
    }
    groups.retain(|group| group.len() > 1);
    groups
}

/// Returns whether two agents have the same track.
fn is_same(one: &Agent<'_>, other: &Agent<'_>) -> bool {
    one.tracks.keys() == other.tracks.keys()
        && (one.returns == other.returns || correlation(&one.returns, &other.returns).is_some_and(|both| both > SAME))
}

/// Returns the correlation of two series; `None` if one is constant.
fn correlation(a: &[f64], b: &[f64]) -> Option<f64> {
    if is_riskless(a) || is_riskless(b) {
        return None;
    }
    let n = a.len() as f64;
    let (mean_a, mean_b) = (a.iter().sum::<f64>() / n, b.iter().sum::<f64>() / n);
    let (mut aa, mut bb, mut ab) = (0.0, 0.0, 0.0);
    for (x, y) in a.iter().zip(b) {
        let (x, y) = (x - mean_a, y - mean_b);
        (aa, bb, ab) = (aa + x * x, bb + y * y, ab + x * y);
    }
    Some(ab / (aa * bb).sqrt())
}
