use openoutcry_contract::record::Fill;
use openoutcry_contract::{Submission, SubmittedRun, Window};

use super::prepare::{Agent, prepare};
use super::rank::{Separation, beside, rank};
use super::reason::{Known, Unknown};
use super::score::{CompositeScore, InField, Verdict, score, seed_ratios, settled};
use super::{ScoreConfig, ScoreError};
use crate::bootstrap::Panel;
use crate::power::{Board, Power, power};
use crate::skill::{Selection, trials};
use crate::{FieldTests, Overfit, TestError, benjamini_hochberg, field_tests, overfit, percentile, sharpe};

/// Bars a year of returns of which nothing else is said.
const DAILY: f64 = 252.0;

/// Agents of a field, judged together.
#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    /// By rank, those without one last; the luck floor is not among them.
    pub scores: Vec<CompositeScore>,
    /// Names of agents that cannot be told from the first of each band, best first.
    pub bands: Vec<Vec<String>>,
    /// Tests of the field over buy-and-hold and over cash.
    pub tests: [Known<FieldTests>; 2],
    /// Probability that the best is so by overfitting; advisory.
    pub overfit: Known<Overfit>,
    /// What a board of so many agents can see at all.
    pub power: Known<Power>,
    /// What it takes to tell the first two apart.
    pub separation: Option<Separation>,
    /// What agents without skill show, where some were given.
    pub luck_floor: Option<LuckFloor>,
}

/// What agents without skill show on the same windows.
///
/// Ratios are a year, over cash.
#[derive(Clone, Debug, PartialEq)]
pub struct LuckFloor {
    /// Agents.
    pub n_agents: usize,
    /// Those whose ratio is defined.
    pub n_defined: usize,
    /// Lowest, 5th, 50th and 95th percentile, and highest ratio.
    pub sharpe: Known<[f64; 5]>,
    /// Standard errors of the best above the luck of trials.
    pub best_z: Known,
}

/// Returns the score of one agent, a field of its own.
///
/// # Errors
///
/// Returns an error for a submission that cannot be scored, or a configuration that makes no sense.
pub fn score_agent(submission: &Submission, config: &ScoreConfig) -> Result<CompositeScore, ScoreError> {
    let field = score_field(std::slice::from_ref(submission), config)?;
    let none = || ScoreError::Agents { received: "one of the luck floor".to_owned() };
    field.scores.into_iter().next().ok_or_else(none)
}

/// Returns the score of daily returns out of `n_trials`.
///
/// Nothing else is known of them.
///
/// # Errors
///
/// Returns an error for returns that are none.
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
/// They are ranked as far as they can be told apart.
///
/// # Errors
///
/// Returns an error for a submission that cannot be scored, rules that differ, or a configuration that makes no sense.
pub fn score_field(submissions: &[Submission], config: &ScoreConfig) -> Result<Field, ScoreError> {
    config.check()?;
    let (agents, floor) = prepare(submissions, config)?;
    let members: Vec<usize> = (0..agents.len()).filter(|place| agents[*place].is_in_field()).collect();
    let tests = [test_side(&agents, &members, config, 0)?, test_side(&agents, &members, config, 1)?];
    let in_field = in_field(&agents, &members, &tests)?;
    let n_eff = n_eff(&agents, &members);
    let mut scores = Vec::with_capacity(agents.len());
    for (agent, in_field) in agents.iter().zip(&in_field) {
        let selection = selection(agent, &agents, config, n_eff);
        scores.push(score(agent, config, &selection, in_field));
    }
    for (place, agent) in agents.iter().enumerate() {
        scores[place].copy_of = agent.copy_of.map(|original| agents[original].submission.agent_id.clone());
    }
    let luck_floor = luck_floor(&floor, &mut scores, |agent| selection(agent, &agents, config, n_eff));
    let (bands, separation) = rank(&agents, &scores, config)?;
    let mut place = 1;
    for band in &bands {
        for member in band {
            scores[*member].rank = Some(place);
        }
        place += band.len();
    }
    let name = |member: &usize| agents[*member].submission.agent_id.clone();
    Ok(Field {
        bands: bands.iter().map(|band| band.iter().map(name).collect()).collect(),
        overfit: overfitted(&agents, &members, config)?,
        power: seen(&agents, &members, config),
        scores: ordered(scores),
        tests,
        separation,
        luck_floor,
    })
}

/// Returns the scores by rank, then by z, then by name.
///
/// The order in which they came decides nothing.
fn ordered(mut scores: Vec<CompositeScore>) -> Vec<CompositeScore> {
    let z = |score: &CompositeScore| score.z.unwrap_or(f64::NEG_INFINITY);
    scores.sort_by(|a, b| {
        let rank = |score: &CompositeScore| score.rank.unwrap_or(usize::MAX);
        rank(a).cmp(&rank(b)).then(z(b).total_cmp(&z(a))).then_with(|| a.agent_id.cmp(&b.agent_id))
    });
    scores
}

/// Returns out of how many trials an agent was chosen.
///
/// Those of the ledger, at least the agents of the field, copies too; what its maker declares adds to them.
fn selection(agent: &Agent<'_>, agents: &[Agent<'_>], config: &ScoreConfig, n_eff: Option<usize>) -> Selection {
    let counted = config.trials.n_trials.max(agents.len() as u64);
    Selection {
        n_trials: counted.saturating_add(agent.submission.in_sample_trials),
        n_returns: agent.tracks.n_days(),
        spread: config.trials.spread,
        n_eff: config.trials.n_eff.or(n_eff),
    }
}

/// Returns the days of some agents on one side, and who of them has that side.
fn panel_of(agents: &[Agent<'_>], members: &[usize], side: usize) -> (Vec<usize>, Vec<f64>) {
    let has = |place: &&usize| agents[**place].average.sides()[side].1.is_ok();
    let members: Vec<usize> = members.iter().filter(has).copied().collect();
    let series: Vec<&[f64]> = members.iter().filter_map(|place| agents[*place].average.sides()[side].1.ok()).collect();
    let days = beside(&series);
    (members, days)
}

fn on_panel<T>(
    agents: &[Agent<'_>],
    members: &[usize],
    side: usize,
    test: impl FnOnce(&Panel<'_>) -> Result<T, TestError>,
) -> Result<Known<T>, ScoreError> {
    let (members, days) = panel_of(agents, members, side);
    let Some(first) = members.first() else { return Ok(Err(Unknown::NotInField)) };
    let lengths = agents[*first].tracks.lengths();
    settled(Panel::new(&days, members.len(), &lengths).map_err(TestError::from).and_then(|panel| test(&panel)))
}

fn test_side(
    agents: &[Agent<'_>],
    members: &[usize],
    config: &ScoreConfig,
    side: usize,
) -> Result<Known<FieldTests>, ScoreError> {
    on_panel(agents, members, side, |panel| field_tests(panel, &config.draws.draws()))
}

/// Returns what the field says of each agent.
///
/// Of a copy, it is what it says of the one that stands for it.
fn in_field(
    agents: &[Agent<'_>],
    members: &[usize],
    tests: &[Known<FieldTests>; 2],
) -> Result<Vec<InField>, ScoreError> {
    let nothing = InField {
        alone: [Err(Unknown::NotInField); 2],
        romano_wolf: [Err(Unknown::NotInField); 2],
        false_discovery: [Err(Unknown::NotInField); 2],
    };
    let mut found = vec![nothing; agents.len()];
    for (side, tested) in tests.iter().enumerate() {
        for (place, agent) in agents.iter().enumerate() {
            if agent.average.sides()[side].1 == Err(Unknown::NoBenchmark) {
                found[place].set(side, Err(Unknown::NoBenchmark));
            }
        }
        let (members, _) = panel_of(agents, members, side);
        let rates = match tested {
            Ok(tests) => benjamini_hochberg(&tests.alone).map_err(TestError::from)?,
            Err(_) => Vec::new(),
        };
        for (column, place) in members.into_iter().enumerate() {
            let told = tested.as_ref().map(|tests| [tests.alone[column], tests.romano_wolf[column], rates[column]]);
            found[place].set(side, told.map_err(|unknown| *unknown));
        }
    }
    for (place, agent) in agents.iter().enumerate() {
        if let Some(other) = agent.stands_for {
            found[place] = found[other];
        }
    }
    Ok(found)
}

/// Returns clusters of the field's tracks, where there are any.
fn n_eff(agents: &[Agent<'_>], members: &[usize]) -> Option<usize> {
    let series: Vec<&[f64]> = members.iter().map(|place| &agents[*place].average.cash[..]).collect();
    trials(&series).ok()?.n_eff.ok()
}

/// Returns what the luck floor shows.
///
/// Each agent is told what share of it lies below.
fn luck_floor(
    floor: &[Agent<'_>],
    scores: &mut [CompositeScore],
    selection: impl Fn(&Agent<'_>) -> Selection,
) -> Option<LuckFloor> {
    if floor.is_empty() {
        return None;
    }
    let z_of = |agent: &Agent<'_>| {
        let (seed_z, seed) = seed_ratios(agent, &selection(agent));
        seed_z[seed].ok()
    };
    let z: Vec<f64> = floor.iter().filter_map(z_of).collect();
    for score in scores {
        let below = |own: f64| z.iter().filter(|other| **other < own).count() as f64 / z.len() as f64;
        score.above_luck = if z.is_empty() { Err(Unknown::NotInField) } else { score.z.map(below) };
    }
    let ratios: Vec<f64> =
        floor.iter().filter_map(|agent| sharpe(&agent.average.cash, agent.tracks.periods_per_year).ok()).collect();
    let at = |share: f64| -> Known { Ok(percentile(&ratios, share)?) };
    let five = || -> Known<[f64; 5]> { Ok([at(0.0)?, at(0.05)?, at(0.5)?, at(0.95)?, at(1.0)?]) };
    let best_z = z.into_iter().max_by(f64::total_cmp).ok_or(Unknown::NotInField);
    Some(LuckFloor { n_agents: floor.len(), n_defined: ratios.len(), sharpe: five(), best_z })
}

fn overfitted(agents: &[Agent<'_>], members: &[usize], config: &ScoreConfig) -> Result<Known<Overfit>, ScoreError> {
    let side = usize::from(agents.iter().any(|agent| agent.average.held.is_err()));
    if panel_of(agents, members, side).0.len() < 2 {
        return Ok(Err(Unknown::NotInField));
    }
    match on_panel(agents, members, side, |panel| overfit(panel, config.gates.overfit_blocks)) {
        // A sample too short for so many blocks is no fault of the configuration.
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
        n_returns: tracks.n_days(),
        n_agents: members.len() as u64,
        periods_per_year: tracks.periods_per_year,
        sharpe: config.gates.sharpe,
        size: config.gates.level,
        power: config.gates.power,
    })?)
}

impl Field {
    /// Returns the agents that every gate holds for.
    pub fn eligible(&self) -> impl Iterator<Item = &CompositeScore> {
        self.scores.iter().filter(|score| score.verdict == Verdict::Eligible)
    }
}
