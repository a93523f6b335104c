//! Windows judged together instead of one by one.

use super::field_agents::Agent;
use super::gates::Gate;
use super::reason::{Known, Reason};
use super::{Gates, WindowMode};
use crate::metrics::moments::Moments;
use crate::skill::z_score;

/// Returns the gates of windows that are judged together.
///
/// The tests of all days decide, `dsr` and `romano_wolf`; these gates demand that they have enough windows, and that
/// no single window carries the result.
pub(super) fn pooled_gates(agent: &Agent<'_>, gates: &Gates) -> Vec<Gate> {
    let n_windows = agent.tracks.windows.len();
    vec![
        Gate::at_least("pooled_windows", Ok(n_windows as f64), gates.min_pooled as f64, Reason::Insufficient),
        Gate::at_least("without_best", without_best(agent), gates.min_z_without_best, Reason::OneWindow),
    ]
}

/// Returns whether the windows of a configuration are judged together.
pub(super) fn are_pooled(gates: &Gates) -> bool {
    gates.windows == WindowMode::Pooled
}

/// Returns the ranking value against a ratio of 0 without the best window, for the benchmark with the lower one.
fn without_best(agent: &Agent<'_>) -> Known {
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
