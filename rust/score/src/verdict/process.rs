use std::collections::BTreeMap;

use super::reason::{Known, Unknown};
use super::tracks::Tracks;
use crate::max_drawdown;

/// How the runs of an agent went, beside what they earned.
#[derive(Clone, Debug, PartialEq)]
pub struct Process {
    /// Decisions of all runs.
    pub n_decisions: usize,
    /// Answers that were taken for holds, by what was wrong with them.
    pub faults: Known<BTreeMap<String, u64>>,
    /// Events by slug, counted: none of them blocks.
    pub events: Known<BTreeMap<&'static str, u64>>,
    /// Runs whose account was liquidated or ruined.
    pub n_terminated: usize,
    /// Drawdown of the run that fell deepest, at most 0.
    pub worst_drawdown: Known,
    /// Largest gross exposure at a close of any run.
    pub largest_gross: Known,
}

impl Process {
    pub(super) fn of(tracks: &Tracks<'_>) -> Self {
        let traces: Option<Vec<_>> = tracks.runs().map(|run| run.trace.as_ref()).collect();
        let traces = traces.ok_or(Unknown::NoTrace);
        let mut drawdowns = tracks.runs().map(|run| max_drawdown(&run.returns));
        let worst: Known = drawdowns.try_fold(0.0, |worst: f64, each| Ok(worst.min(each?)));
        let largest_gross = traces
            .as_ref()
            .map(|traces| traces.iter().flat_map(|trace| trace.gross.iter().copied()).fold(0.0, f64::max));
        let faults = traces
            .as_ref()
            .map(|traces| sum(traces.iter().flat_map(|trace| trace.faults.iter().map(|(slug, n)| (slug.clone(), *n)))));
        let events = traces
            .as_ref()
            .map(|traces| sum(traces.iter().flat_map(|trace| trace.events.iter().map(|(slug, n)| (*slug, *n)))));
        Self {
            n_decisions: tracks.runs().map(|run| run.returns.len()).sum(),
            faults: faults.map_err(|unknown| *unknown),
            events: events.map_err(|unknown| *unknown),
            n_terminated: tracks.runs().filter(|run| run.terminated()).count(),
            worst_drawdown: worst,
            largest_gross: largest_gross.map_err(|unknown| *unknown),
        }
    }

    /// Returns the share of decisions that were none.
    pub(super) fn fault_share(&self) -> Known {
        let faults = self.faults.as_ref().map_err(|unknown| *unknown)?;
        Ok(faults.values().sum::<u64>() as f64 / self.n_decisions as f64)
    }
}

fn sum<K: Ord>(counts: impl Iterator<Item = (K, u64)>) -> BTreeMap<K, u64> {
    let mut total = BTreeMap::new();
    for (key, n) in counts {
        *total.entry(key).or_default() += n;
    }
    total
}
