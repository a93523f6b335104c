use std::collections::BTreeMap;

use openoutcry_contract::Trace;
use openoutcry_contract::record::{FaultKind, Harness, Tier};

use super::reason::{Known, Unknown};
use super::window_runs::Tracks;
use crate::max_drawdown;

/// Process statistics of the runs of an agent, apart from returns.
#[derive(Clone, Debug, PartialEq)]
pub struct Process {
    /// Decisions of all runs.
    pub n_decisions: usize,
    /// Lowest isolation in any run.
    pub isolation: Known<Isolation>,
    /// Whether the agent had network access in any run.
    ///
    /// Unknown for runs in the process of the harness.
    pub network: Known<bool>,
    /// Answers that were replaced by holds, by fault of the agent.
    pub faults: Known<BTreeMap<String, u64>>,
    /// Decisions held because of infrastructure, by fault.
    pub infrastructure_faults: Known<BTreeMap<String, u64>>,
    /// Number of events by slug; none of them fails a gate.
    pub events: Known<BTreeMap<&'static str, u64>>,
    /// Runs with a liquidated or ruined account.
    pub n_terminated: usize,
    /// Deepest drawdown of any run, at most 0.
    pub worst_drawdown: Known,
    /// Largest gross exposure at a close of any run.
    pub largest_gross: Known,
}

/// The isolation of an agent, lowest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Isolation {
    /// The process of the harness.
    InProcess,
    /// A separate process in a sandbox of this tier.
    Tier(Tier),
}

impl Isolation {
    fn of(harness: Option<Harness>) -> Self {
        harness.map_or(Self::InProcess, |harness| Self::Tier(harness.tier))
    }

    /// Returns the name on a board.
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

    /// Returns the share of decisions held for one kind of fault.
    pub(super) fn fault_share(&self, kind: FaultKind) -> Known {
        let faults = match kind {
            FaultKind::Agent => &self.faults,
            FaultKind::Infrastructure => &self.infrastructure_faults,
        };
        let faults = faults.as_ref().map_err(|unknown| *unknown)?;
        Ok(faults.values().sum::<u64>() as f64 / self.n_decisions as f64)
    }
}

/// Returns whether any run had network access, if all runs tell.
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
