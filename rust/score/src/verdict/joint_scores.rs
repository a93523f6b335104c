//! Scores of agents that are tested jointly, on any set of windows.

use super::benchmark_side::InField;
use super::composite_score::{CompositeScore, known_or_fatal, score};
use super::field_agents::Agent;
use super::ranking::interleaved;
use super::reason::{Known, Unknown};
use super::{ScoreConfig, ScoreError};
use crate::bootstrap::Panel;
use crate::skill::{Selection, trials};
use crate::{FieldTests, TestError, benjamini_hochberg, field_tests};

/// Scores of a field before ranking, in the order of its agents.
pub(super) struct JointScores {
    pub scores: Vec<CompositeScore>,
    /// Agents in tests of the field.
    pub members: Vec<usize>,
    /// Tests over each benchmark of the edition, by name.
    pub tests: Vec<(&'static str, Known<FieldTests>)>,
    /// Clusters of the tracks.
    pub n_eff: Option<usize>,
}

impl JointScores {
    /// Scores agents.
    ///
    /// # Errors
    ///
    /// Returns an error for invalid draws.
    pub(super) fn new(agents: &[Agent<'_>], config: &ScoreConfig) -> Result<Self, ScoreError> {
        let members: Vec<usize> = (0..agents.len()).filter(|place| agents[*place].is_in_field()).collect();
        let names = agents.first().map(|agent| agent.average.sides()).unwrap_or_default().into_iter();
        let tests = names.enumerate().map(|(side, (name, _))| Ok((name, test_side(agents, &members, config, side)?)));
        let tests = tests.collect::<Result<Vec<_>, ScoreError>>()?;
        let in_field = in_field(agents, &members, &tests)?;
        let n_eff = n_eff(agents, &members);
        let mut scores = Vec::with_capacity(agents.len());
        for (agent, in_field) in agents.iter().zip(&in_field) {
            let selection = selection(agent, agents, config, n_eff);
            let copy_of = agent.copy_of.map(|original| agents[original].submission.agent_id.clone());
            scores.push(CompositeScore { copy_of, ..score(agent, config, &selection, in_field) });
        }
        Ok(Self { scores, members, tests, n_eff })
    }
}

/// Returns the selection of an agent among trials.
///
/// The trials of the ledger, at least the agents of the field including copies, plus the trials that its author
/// declares.
pub(super) fn selection(
    agent: &Agent<'_>,
    agents: &[Agent<'_>],
    config: &ScoreConfig,
    n_eff: Option<usize>,
) -> Selection {
    let counted = config.trials.n_trials.max(agents.len() as u64);
    Selection {
        n_trials: counted.saturating_add(agent.submission.in_sample_trials),
        n_returns: agent.tracks.n_returns(),
        spread: config.trials.spread,
        n_eff: config.trials.n_eff.or(n_eff),
    }
}

/// Returns the days of agents for one benchmark, and the agents that have it.
pub(super) fn panel_of(agents: &[Agent<'_>], members: &[usize], side: usize) -> (Vec<usize>, Vec<f64>) {
    let has = |place: &&usize| agents[**place].average.sides()[side].1.is_ok();
    let members: Vec<usize> = members.iter().filter(has).copied().collect();
    let series: Vec<&[f64]> = members.iter().filter_map(|place| agents[*place].average.sides()[side].1.ok()).collect();
    let days = interleaved(&series);
    (members, days)
}

pub(super) fn on_panel<T>(
    agents: &[Agent<'_>],
    members: &[usize],
    side: usize,
    test: impl FnOnce(&Panel<'_>) -> Result<T, TestError>,
) -> Result<Known<T>, ScoreError> {
    let (members, days) = panel_of(agents, members, side);
    let Some(first) = members.first() else { return Ok(Err(Unknown::NotInField)) };
    let lengths = agents[*first].tracks.lengths();
    known_or_fatal(Panel::new(&days, members.len(), &lengths).map_err(TestError::from).and_then(|panel| test(&panel)))
}

fn test_side(
    agents: &[Agent<'_>],
    members: &[usize],
    config: &ScoreConfig,
    side: usize,
) -> Result<Known<FieldTests>, ScoreError> {
    on_panel(agents, members, side, |panel| field_tests(panel, &config.draws.draws()))
}

/// Returns the results of the tests of the field for each agent.
///
/// A copy has the results of the agent that represents it.
fn in_field(
    agents: &[Agent<'_>],
    members: &[usize],
    tests: &[(&'static str, Known<FieldTests>)],
) -> Result<Vec<InField>, ScoreError> {
    let nothing: InField = vec![Err(Unknown::NotInField); tests.len()];
    let mut found = vec![nothing; agents.len()];
    for (side, (_, tested)) in tests.iter().enumerate() {
        for (place, agent) in agents.iter().enumerate() {
            if let Err(unknown) = agent.average.sides()[side].1
                && unknown.is_absent()
            {
                found[place][side] = Err(unknown);
            }
        }
        let (members, _) = panel_of(agents, members, side);
        let rates = match tested {
            Ok(tests) => benjamini_hochberg(&tests.alone).map_err(TestError::from)?,
            Err(_) => Vec::new(),
        };
        for (column, place) in members.into_iter().enumerate() {
            let results = tested.as_ref().map(|tests| [tests.alone[column], tests.romano_wolf[column], rates[column]]);
            found[place][side] = results.map_err(|unknown| *unknown);
        }
    }
    for (place, agent) in agents.iter().enumerate() {
        if let Some(other) = agent.represented_by {
            let kin = found[other].clone();
            found[place] = kin;
        }
    }
    Ok(found)
}

/// Returns the number of clusters of the tracks of the field, if there are any.
fn n_eff(agents: &[Agent<'_>], members: &[usize]) -> Option<usize> {
    let series: Vec<&[f64]> = members.iter().map(|place| &agents[*place].average.cash[..]).collect();
    trials(&series).ok()?.n_eff.ok()
}
