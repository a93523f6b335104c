//! Statistics of windows that are judged together instead of one by one.

use super::field_agents::Agent;
use super::reason::Known;
use crate::metrics::moments::Moments;
use crate::skill::z_score;

/// Returns the standard errors above a ratio of 0 without the best window.
///
/// For the benchmark with the lower value.
pub(super) fn without_best(agent: &Agent<'_>) -> Known {
    let edges: Vec<(usize, usize)> = crate::bootstrap::edges(&agent.tracks.lengths()).collect();
    let mut least = f64::INFINITY;
    for series in agent.average.sides().into_iter().filter_map(|(_, series)| series.ok()) {
        let total = |(from, to): &(usize, usize)| series[*from..*to].iter().sum::<f64>();
        let best = edges.iter().max_by(|a, b| total(a).total_cmp(&total(b)));
        let (from, to) = best.copied().unwrap_or((0, 0));
        let rest: Vec<f64> = series[..from].iter().chain(&series[to..]).copied().collect();
        least = least.min(z_score(&Moments::of(&rest)?, 0.0)?);
    }
    Ok(least)
}
