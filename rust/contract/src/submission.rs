use std::collections::BTreeMap;

use openoutcry_engine::{CostModel, Limits, Window};

use crate::record::{Digest, Fill};

/// What a scorer may know of an agent.
///
/// Every number of it is recomputed from decisions and data.
#[derive(Clone, Debug, PartialEq)]
pub struct Submission {
    /// What the agent is called.
    pub agent_id: String,
    /// Trials that its maker declares to have made before.
    pub in_sample_trials: u64,
    /// Digest of the record; none where runs were submitted without one.
    pub digest: Option<Digest>,
    /// The runs, in the order of the record.
    pub runs: Vec<SubmittedRun>,
}

/// One run of an agent, recomputed.
///
/// Series of decisions have one value a decision of the window, `window.n_decisions()` of them: a run that ended early
/// is padded to the window's end, with returns of 0 once the account is gone.
#[derive(Clone, Debug, PartialEq)]
pub struct SubmittedRun {
    /// Digest of the run: its last link.
    pub digest: Digest,
    /// SHA-256 of everything the market holds.
    pub dataset: Digest,
    /// What people call the market.
    pub dataset_name: String,
    /// The bars of the run.
    pub window: Window,
    /// Dates of the window's bars.
    pub dates: Vec<String>,
    /// Bars a year.
    pub periods_per_year: f64,
    /// Key of the slippage noise, or its commitment.
    pub fill: Fill,
    /// What trading cost.
    pub costs: CostModel,
    /// What a decision could ask for.
    pub limits: Limits,
    /// NAV at the close of each bar of the window; 1 at the first.
    pub nav: Vec<f64>,
    /// Simple return of each decision.
    pub returns: Vec<f64>,
    /// Risk-free return of each decision, where the market knows it.
    pub risk_free: Option<Vec<f64>>,
    /// Notional traded over NAV of each decision; both sides count.
    pub turnover: Vec<f64>,
    /// Costs by kind, each with one value a decision, in units of the starting NAV.
    ///
    /// In the order of [`openoutcry_engine::StepCosts::KINDS`].
    pub paid: [Vec<f64>; 6],
    /// Sum of |weight| at the close after each decision.
    pub gross: Vec<f64>,
    /// Sum of weights at the close after each decision.
    pub net: Vec<f64>,
    /// How often each kind of event happened, by slug.
    pub events: BTreeMap<&'static str, u64>,
    /// How many answers were taken for holds, by what was wrong with them.
    pub faults: BTreeMap<String, u64>,
    /// The decision that ended the account, if one did.
    pub terminated_at: Option<usize>,
    /// What the run can be held against, under the same rules.
    pub benchmarks: Benchmarks,
    /// Returns of the same decisions carried out one bar later.
    pub delayed: Vec<f64>,
}

/// Returns of runs without skill, on the same market and by the same rules.
#[derive(Clone, Debug, PartialEq)]
pub struct Benchmarks {
    /// What could be held at the first decision, bought in equal parts and kept.
    pub buy_and_hold: Vec<f64>,
    /// Nothing but cash.
    pub cash: Vec<f64>,
}

impl SubmittedRun {
    /// Returns whether the account was liquidated or ruined.
    #[must_use]
    pub fn terminated(&self) -> bool {
        self.terminated_at.is_some()
    }
}
