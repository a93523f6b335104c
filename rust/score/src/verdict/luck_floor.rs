use std::collections::BTreeMap;

use super::composite_score::CompositeScore;
use super::deflated_ratio::seed_ratios;
use super::field_agents::Agent;
use super::reason::{Known, Unknown};
use crate::skill::Selection;
use crate::{percentile, sharpe};

/// Results of agents without skill on the same windows.
///
/// Ratios are annual, over cash.
#[derive(Clone, Debug, PartialEq)]
pub struct LuckFloor {
    /// Number of agents.
    pub n_agents: usize,
    /// Agents with a defined ratio.
    pub n_defined: usize,
    /// Lowest, 5th, 50th and 95th percentile, and highest ratio.
    pub sharpe: Known<[f64; 5]>,
    /// Largest ranking value.
    pub best_z: Known,
    /// Every agent.
    pub each: Vec<LuckFloorAgent>,
}

/// Results of one agent without skill.
#[derive(Clone, Debug, PartialEq)]
pub struct LuckFloorAgent {
    /// Name of the agent.
    pub agent_id: String,
    /// Annual ratio over cash.
    pub sharpe: Known,
    /// Ranking value, as for the agents of the board.
    pub z: Known,
}

/// Returns the results of the luck floor.
///
/// `ranked` is the floor on the ranking windows. Each score gets the share of the floor below it.
pub(super) fn luck_floor(
    floor: &[Agent<'_>],
    ranked: &[Agent<'_>],
    scores: &mut [CompositeScore],
    selection: impl Fn(&Agent<'_>) -> Selection,
) -> Option<LuckFloor> {
    if floor.is_empty() {
        return None;
    }
    let z_of = |agent: &Agent<'_>| {
        let (seed_z, seed) = seed_ratios(agent, &selection(agent));
        seed_z[seed]
    };
    let ranked: BTreeMap<&str, Known> =
        ranked.iter().map(|agent| (agent.submission.agent_id.as_str(), z_of(agent))).collect();
    let lucky = |agent: &Agent<'_>| {
        let agent_id = agent.submission.agent_id.clone();
        let sharpe = sharpe(&agent.average.cash, agent.tracks.periods_per_year).map_err(Unknown::from);
        let z = ranked.get(agent_id.as_str()).copied().unwrap_or(Err(Unknown::NotInField));
        LuckFloorAgent { agent_id, sharpe, z }
    };
    let each: Vec<LuckFloorAgent> = floor.iter().map(lucky).collect();
    let z: Vec<f64> = each.iter().filter_map(|lucky| lucky.z.ok()).collect();
    for score in scores {
        let below = |own: f64| z.iter().filter(|other| **other < own).count() as f64 / z.len() as f64;
        score.above_luck = if z.is_empty() { Err(Unknown::NotInField) } else { score.z.map(below) };
    }
    let ratios: Vec<f64> = each.iter().filter_map(|lucky| lucky.sharpe.ok()).collect();
    let at = |share: f64| -> Known { Ok(percentile(&ratios, share)?) };
    let five = || -> Known<[f64; 5]> { Ok([at(0.0)?, at(0.05)?, at(0.5)?, at(0.95)?, at(1.0)?]) };
    let best_z = z.into_iter().max_by(f64::total_cmp).ok_or(Unknown::NotInField);
    Some(LuckFloor { n_agents: floor.len(), n_defined: ratios.len(), sharpe: five(), best_z, each })
}
