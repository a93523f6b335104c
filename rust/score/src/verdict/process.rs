use std::collections::BTreeMap;

use openoutcry_contract::Trace;
use openoutcry_contract::record::{FaultKind, Harness, Tier};

use super::reason::{Known, Unknown};
use super::window_runs::Tracks;
use crate::max_drawdown;

/// How the runs of an agent went, beside what they earned.
#[derive(Clone, Debug, PartialEq)]
pub struct Process {
    /// Decisions of all runs.
    pub n_decisions: usize,
    /// How far the agent was locked in, in the run where it was least.
    pub isolation: Known<Isolation>,
    /// Whether the agent could reach a network in any run.
    ///
    /// Not known of runs inside the harness's own process.
    pub network: Known<bool>,
    /// Answers that were taken for holds, by what was wrong with them.
    pub faults: Known<BTreeMap<String, u64>>,
    /// Decisions that were held since the agent could not be reached, by why.
    pub infrastructure_faults: Known<BTreeMap<String, u64>>,
    /// Events by slug, counted: none of them blocks.
    pub events: Known<BTreeMap<&'static str, u64>>,
    /// Runs whose account was liquidated or ruined.
    pub n_terminated: usize,
    /// Drawdown of the run that fell deepest, at most 0.
    pub worst_drawdown: Known,
    /// Largest gross exposure at a close of any run.
    pub largest_gross: Known,
}

/// How far an agent was locked in, least first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Isolation {
    /// It ran inside the harness's own process.
    InProcess,
    /// It was a process of its own, in a jail of this tier.
    Tier(Tier),
}

impl Isolation {
    fn of(harness: Option<Harness>) -> Self {
        harness.map_or(Self::InProcess, |harness| Self::Tier(harness.tier))
    }

    /// Returns its name on a board.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::InProcess => "in process",
            Self::Tier(tier) => tier.name(),
        }
    }
}

impl Process {
    pub(super) fn of(tracks: &Tracks<'_>) -> Self {
        let traces: Option<Vec<&Trace>> = tracks.runs().map(|run| run.trace.as_ref()).collect();
        let traces = traces.ok_or(Unknown::NoTrace);
        let of_traces = traces.as_deref().map_err(|unknown| *unknown);
        let mut drawdowns = tracks.runs().map(|run| max_drawdown(&run.returns));
        let worst: Known = drawdowns.try_fold(0.0, |worst: f64, each| Ok(worst.min(each?)));
        let gross = |traces: &[&Trace]| traces.iter().flat_map(|trace| trace.gross.iter().copied()).fold(0.0, f64::max);
        let isolation = |traces: &[&Trace]| traces.iter().map(|trace| Isolation::of(trace.harness)).min();
        Self {
            n_decisions: tracks.runs().map(|run| run.returns.len()).sum(),
            isolation: of_traces.and_then(|traces| isolation(traces).ok_or(Unknown::NoTrace)),
            network: of_traces.and_then(network),
            faults: of_traces.map(|traces| faults(traces, FaultKind::Agent)),
            infrastructure_faults: of_traces.map(|traces| faults(traces, FaultKind::Infrastructure)),
            events: of_traces
                .map(|traces| sum(traces.iter().flat_map(|trace| trace.events.iter().map(|(slug, n)| (*slug, *n))))),
            n_terminated: tracks.runs().filter(|run| run.terminated()).count(),
            worst_drawdown: worst,
            largest_gross: of_traces.map(gross),
        }
    }

    /// Returns the share of decisions that were held for one kind of fault.
    pub(super) fn fault_share(&self, kind: FaultKind) -> Known {
        let faults = match kind {
            FaultKind::Agent => &self.faults,
            FaultKind::Infrastructure => &self.infrastructure_faults,
        };
        let faults = faults.as_ref().map_err(|unknown| *unknown)?;
        Ok(faults.values().sum::<u64>() as f64 / self.n_decisions as f64)
    }
}

/// Returns whether any run had a network, where all of them can tell.
fn network(traces: &[&Trace]) -> Known<bool> {
    let mut is_known = true;
    for trace in traces {
        match trace.harness {
            Some(harness) if harness.allow_net => return Ok(true),
            Some(_) => {}
            None => is_known = false,
        }
    }
    if is_known { Ok(false) } else { Err(Unknown::InProcess) }
}

fn faults(traces: &[&Trace], kind: FaultKind) -> BTreeMap<String, u64> {
    let all = traces.iter().flat_map(|trace| trace.faults.iter());
    sum(all.filter(|(slug, _)| FaultKind::of(slug) == kind).map(|(slug, n)| (slug.clone(), *n)))
}

fn sum<K: Ord>(counts: impl Iterator<Item = (K, u64)>) -> BTreeMap<K, u64> {
    let mut total = BTreeMap::new();
    for (key, n) in counts {
        *total.entry(key).or_default() += n;
    }
    total
}
