use openoutcry_contract::record::Fill;
use openoutcry_contract::{Submission, SubmittedRun, Window};

use super::composite_score::CompositeScore;
use super::field_agents::{Agent, prepare};
use super::gates::Verdict;
use super::joint_scores::{JointScores, on_panel, panel_of, selection};
use super::luck_floor::luck_floor;
use super::ranking::{Separation, rank};
use super::reason::{Known, Reason, Unknown};
use super::sealed_windows::seal;
use super::{Edition, LuckFloor, ScoreConfig, ScoreError};

use crate::skill::power::{Board, Power, power};
use crate::{FieldTests, Overfit, TestError, overfit};

/// Bars per year of bare returns.
const DAILY: f64 = 252.0;

/// The scores of a field of agents.
#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    /// Edition of the scorer.
    pub edition: Edition,
    /// Sorted by rank, unranked agents last; without the luck floor.
    pub scores: Vec<CompositeScore>,
    /// Names of the agents of each tie band, best first.
    pub bands: Vec<Vec<String>>,
    /// Tests of the field over each benchmark of the edition, by name.
    pub tests: Vec<(&'static str, Known<FieldTests>)>,
    /// Probability of backtest overfitting; advisory.
    pub overfit: Known<Overfit>,
    /// Statistical power of the comparison.
    pub power: Known<Power>,
    /// Separation of the first two agents.
    pub separation: Option<Separation>,
    /// Results of the luck floor, if any.
    pub luck_floor: Option<LuckFloor>,
}

/// Returns the score of one agent as a field of one.
///
/// # Errors
///
/// Returns an error for an invalid submission or configuration.
pub fn score_agent(submission: &Submission, config: &ScoreConfig) -> Result<CompositeScore, ScoreError> {
    let field = score_field(std::slice::from_ref(submission), config)?;
    let none = || ScoreError::Agents { received: "only agents of the luck floor".to_owned() };
    field.scores.into_iter().next().ok_or_else(none)
}

/// Returns the score of bare daily returns out of `n_trials`.
///
/// # Errors
///
/// Returns an error for invalid returns.
pub fn score_run(returns: &[f64], n_trials: u64) -> Result<CompositeScore, ScoreError> {
    let run = SubmittedRun {
        dataset: None,
        dataset_name: String::new(),
        window: Window { start: 0, end: returns.len() + 1 },
        dates: Vec::new(),
        periods_per_year: DAILY,
        fill: Fill::Seed(0),
        returns: returns.to_vec(),
        risk_free: None,
        terminated_at: None,
        benchmarks: None,
        trace: None,
    };
    let (agent_id, runs) = ("returns".to_owned(), vec![run]);
    let submission = Submission { agent_id, in_sample_trials: 0, digest: None, capacity: None, runs };
    let mut config = ScoreConfig::default();
    config.trials.n_trials = n_trials;
    score_agent(&submission, &config)
}

/// Returns the scores of all agents of a field.
///
/// They are ranked in tie bands.
///
/// # Errors
///
/// Returns an error for an invalid submission, different rules, or an invalid configuration.
pub fn score_field(submissions: &[Submission], config: &ScoreConfig) -> Result<Field, ScoreError> {
    config.check()?;
    let agents = prepare(submissions, config)?;
    let mut scored = JointScores::new(&agents.scored, config)?;
    let alone = seal(submissions, config, &mut scored.scores)?;
    if !config.windows.is_empty() && config.windows.iter().all(|window| !window.sealed) {
        scored.scores.iter_mut().for_each(|score| score.reasons.push(Reason::PublicWindows));
    }
    add_delay_warnings(&mut scored.scores);
    let mut scores = scored.scores.clone();
    // Comparisons use the sealed windows, if there are any.
    let (on, value, config) = match &alone {
        Some(alone) => (&alone.agents, &alone.scored, &alone.config),
        None => (&agents, &scored, config),
    };
    let by = &on.scored;
    let luck_floor =
        luck_floor(&agents.floor, &on.floor, &mut scores, |agent| selection(agent, by, config, value.n_eff));
    let (bands, separation) = rank(by, &value.scores, config)?;
    let name = |member: &usize| by[*member].submission.agent_id.clone();
    let bands: Vec<Vec<String>> = bands.iter().map(|band| band.iter().map(name).collect()).collect();
    Ok(Field {
        edition: config.edition,
        overfit: overfitted(by, &value.members, config)?,
        power: seen(by, &value.members, config),
        tests: value.tests.clone(),
        scores: ordered(placed(scores, &bands)),
        bands,
        separation,
        luck_floor,
    })
}

/// Adds the reason to agents that no gate stops and that are sensitive to delay.
///
/// It decides nothing: a daily signal may honestly be worth nothing on the next day.
fn add_delay_warnings(scores: &mut [CompositeScore]) {
    let is_open = |score: &CompositeScore| matches!(score.verdict, Verdict::Eligible | Verdict::Unknown);
    let is_sensitive = |score: &CompositeScore| score.diagnostics.delay.is_some_and(|delay| delay.is_sensitive);
    for score in scores.iter_mut().filter(|score| is_open(score) && is_sensitive(score)) {
        score.reasons.push(Reason::DelaySensitive);
    }
}

/// Returns the scores with the ranks of their bands.
fn placed(mut scores: Vec<CompositeScore>, bands: &[Vec<String>]) -> Vec<CompositeScore> {
    let mut place = 1;
    for band in bands {
        for score in scores.iter_mut().filter(|score| band.contains(&score.agent_id)) {
            score.rank = Some(place);
        }
        place += band.len();
    }
    scores
}

/// Returns the scores by rank, then by z, then by name.
///
/// The order of submission has no influence.
fn ordered(mut scores: Vec<CompositeScore>) -> Vec<CompositeScore> {
    let z = |score: &CompositeScore| score.z.unwrap_or(f64::NEG_INFINITY);
    scores.sort_by(|a, b| {
        let rank = |score: &CompositeScore| score.rank.unwrap_or(usize::MAX);
        rank(a).cmp(&rank(b)).then(z(b).total_cmp(&z(a))).then_with(|| a.agent_id.cmp(&b.agent_id))
    });
    scores
}

fn overfitted(agents: &[Agent<'_>], members: &[usize], config: &ScoreConfig) -> Result<Known<Overfit>, ScoreError> {
    let (side, _) = agents.first().map_or((1, Err(Unknown::NotInField)), |agent| agent.average.strictest());
    // Over cash only, if one of them lacks the other benchmark.
    let side = if agents.iter().any(|agent| agent.average.strictest().1.is_err()) { 1 } else { side };
    if panel_of(agents, members, side).0.len() < 2 {
        return Ok(Err(Unknown::NotInField));
    }
    match on_panel(agents, members, side, |panel| overfit(panel, config.gates.overfit_blocks)) {
        // A sample too short for the number of blocks is no fault of the configuration.
        Err(ScoreError::Test(TestError::Setup(crate::BadSetup::Blocks { n_days, received })))
            if received.is_multiple_of(2) && (2..=24).contains(&received) =>
        {
            Ok(Err(crate::Undefined::TooShort { required: 2 * received, received: n_days }.into()))
        }
        found => found,
    }
}

fn seen(agents: &[Agent<'_>], members: &[usize], config: &ScoreConfig) -> Known<Power> {
    let first = members.first().ok_or(Unknown::NotInField)?;
    let tracks = &agents[*first].tracks;
    Ok(power(&Board {
        n_returns: tracks.n_returns(),
        n_agents: members.len() as u64,
        periods_per_year: tracks.periods_per_year,
        sharpe: config.gates.sharpe,
        size: config.gates.level,
        power: config.gates.power,
    })?)
}

impl Field {
    /// Returns the agents that pass every gate.
    pub fn eligible(&self) -> impl Iterator<Item = &CompositeScore> {
        self.scores.iter().filter(|score| score.verdict == Verdict::Eligible)
    }
}
