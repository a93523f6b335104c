use std::collections::BTreeMap;

use openoutcry_engine::{CostModel, Limits, Window};

use crate::record::{Digest, Fill, Harness};

/// The facts of an agent that a scorer uses.
///
/// Every number of a record is recomputed from decisions and data.
#[derive(Clone, Debug, PartialEq)]
pub struct Submission {
    /// Name of the agent.
    pub agent_id: String,
    /// Number of earlier trials that its author declares.
    pub in_sample_trials: u64,
    /// Digest of the record; absent for runs without a record.
    pub digest: Option<Digest>,
    /// NAV at which the excess over the benchmark is 0.
    ///
    /// In account currency; absent if not measured.
    pub capacity: Option<f64>,
    /// The runs, in the order of the record.
    pub runs: Vec<SubmittedRun>,
}

/// One run of an agent.
///
/// A series has one value per decision of the window, `window.n_decisions()` in all. A terminated run is padded to the
/// end of the window with returns of 0.
#[derive(Clone, Debug, PartialEq)]
pub struct SubmittedRun {
    /// SHA-256 of the canonical bytes of the market; absent for an unknown market.
    pub dataset: Option<Digest>,
    /// Display name of the market.
    pub dataset_name: String,
    /// The bars of the run.
    pub window: Window,
    /// Dates of the bars of the window; empty if unknown.
    pub dates: Vec<String>,
    /// Bars per year; NaN if unknown.
    pub periods_per_year: f64,
    /// Key of the slippage noise, or its commitment.
    pub fill: Fill,
    /// Simple return of each decision.
    pub returns: Vec<f64>,
    /// Risk-free return of each decision, if the market has one.
    pub risk_free: Option<Vec<f64>>,
    /// The decision with which the account was terminated, if it was.
    pub terminated_at: Option<usize>,
    /// Benchmark returns under the same rules.
    pub benchmarks: Option<Benchmarks>,
    /// Recomputed details; absent for bare returns.
    pub trace: Option<Trace>,
}

/// Recomputed details of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Trace {
    /// Digest of the run, its last link.
    pub digest: Digest,
    /// Costs.
    pub costs: CostModel,
    /// The harness of the agent in the record.
    ///
    /// Absent for an agent in the process of the harness.
    pub harness: Option<Harness>,
    /// Limits.
    pub limits: Limits,
    /// NAV at the close of each bar of the window; 1 at the first.
    pub nav: Vec<f64>,
    /// Notional traded over NAV per decision, both sides.
    pub turnover: Vec<f64>,
    /// Costs by kind, one value per decision, in units of the starting NAV.
    ///
    /// In the order of [`openoutcry_engine::StepCosts::KINDS`].
    pub paid: [Vec<f64>; 6],
    /// Sum of |weight| at the close after each decision.
    pub gross: Vec<f64>,
    /// Sum of weights at the close after each decision.
    pub net: Vec<f64>,
    /// Number of events of each kind, by slug.
    pub events: BTreeMap<&'static str, u64>,
    /// Number of answers that were replaced by holds, by fault.
    pub faults: BTreeMap<String, u64>,
    /// Returns of the same decisions with a delay of one bar.
    pub delayed: Vec<f64>,
    /// Filled orders with the confidence that the agent stated.
    pub stated: Vec<StatedOrder>,
}

/// A filled order with its stated confidence and its outcome.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StatedOrder {
    /// Stated probability in [0, 1], if any.
    pub confidence: Option<f64>,
    /// Target weight; its sign is the direction.
    pub weight: f64,
    /// Price of the fill.
    pub fill: f64,
    /// Close of the bar of the fill.
    pub close: f64,
}

/// Returns of benchmarks.
///
/// On the same market and window, under the same rules.
#[derive(Clone, Debug, PartialEq)]
pub struct Benchmarks {
    /// All symbols listed at the first decision, bought in equal parts and held.
    pub buy_and_hold: Vec<f64>,
    /// Cash only.
    pub cash: Vec<f64>,
    /// Portfolios that use no information on returns.
    ///
    /// The first keeps all listed symbols at equal parts; the others are mixed. Empty if unknown.
    pub passive: Vec<Vec<f64>>,
}

impl SubmittedRun {
    /// Returns whether the account was liquidated or ruined.
    #[must_use]
    pub fn terminated(&self) -> bool {
        self.terminated_at.is_some()
    }
}
