//! Deflated Sharpe ratios of the seeds of an agent, and its typical seed.

use super::active_returns::{Active, PAST_MIX};
use super::field_agents::Agent;
use super::reason::{Known, Unknown};
use crate::metrics::moments::Moments;
use crate::skill::{Deflated, Selection, deflate};

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
    for (name, series) in track.sides() {
        match series {
            Ok(series) => {
                let other = deflated(name, series, selection)?;
                found = Some(found.filter(|each| each.z <= other.z).unwrap_or(other));
            }
            // Bare returns may have only cash as benchmark; the benchmark gate reports it.
            Err(unknown) if unknown.is_absent() => {}
            Err(unknown) => return Err(unknown),
        }
    }
    found.ok_or(Unknown::NoBenchmark)
}

/// Returns the deflated ratio of active returns over a benchmark.
///
/// Returns over the mix of the past get no credit for rare large gains. Those are the first days of larger bets, which
/// the estimate of risk follows late, and an agent that bets more after losses always has some.
pub(super) fn deflated(name: &str, series: &[f64], selection: &Selection) -> Known<Deflated> {
    let moments = Moments::of(series)?;
    let skew = if name == PAST_MIX { moments.skew.min(0.0) } else { moments.skew };
    Ok(deflate(&Moments { skew, ..moments }, selection)?)
}

/// Returns the index of the typical seed, the lower median.
pub(super) fn typical(seed_z: &[Known]) -> usize {
    let mut order: Vec<usize> = (0..seed_z.len()).collect();
    let key = |place: usize| seed_z[place].unwrap_or(f64::NEG_INFINITY);
    order.sort_by(|a, b| key(*a).total_cmp(&key(*b)));
    order[(order.len() - 1) / 2]
}
