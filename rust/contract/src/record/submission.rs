use std::collections::BTreeMap;

use openoutcry_engine::{CostModel, Limits, Window};

use crate::record::{Digest, Fill, Harness};

/// What a scorer may know of an agent.
///
/// Of a record, every number of it is recomputed from decisions and data.
#[derive(Clone, Debug, PartialEq)]
pub struct Submission {
    /// What the agent is called.
    pub agent_id: String,
    /// Trials that its maker declares to have made before.
    pub in_sample_trials: u64,
    /// Digest of the record; none where runs were submitted without one.
    pub digest: Option<Digest>,
    /// NAV at which nothing is left over the benchmark.
    ///
    /// In account currency; none where it has not been measured.
    pub capacity: Option<f64>,
    /// The runs, in the order of the record.
    pub runs: Vec<SubmittedRun>,
}

/// One run of an agent.
///
/// Series of decisions have one value a decision of the window, `window.n_decisions()` of them: a run that ended early
/// is padded to the window's end, with returns of 0 once the account is gone.
#[derive(Clone, Debug, PartialEq)]
pub struct SubmittedRun {
    /// SHA-256 of everything the market holds; none for returns of an unknown market.
    pub dataset: Option<Digest>,
    /// What people call the market.
    pub dataset_name: String,
    /// The bars of the run.
    pub window: Window,
    /// Dates of the window's bars; empty where they are not known.
    pub dates: Vec<String>,
    /// Bars a year.
    pub periods_per_year: f64,
    /// Key of the slippage noise, or its commitment.
    pub fill: Fill,
    /// Simple return of each decision.
    pub returns: Vec<f64>,
    /// Risk-free return of each decision, where the market knows it.
    pub risk_free: Option<Vec<f64>>,
    /// The decision that ended the account, if one did.
    pub terminated_at: Option<usize>,
    /// What the run can be held against, under the same rules.
    pub benchmarks: Option<Benchmarks>,
    /// What the decisions came to; none where there are returns alone.
    pub trace: Option<Trace>,
}

/// What the decisions of a run came to, recomputed.
#[derive(Clone, Debug, PartialEq)]
pub struct Trace {
    /// Digest of the run: its last link.
    pub digest: Digest,
    /// What trading cost.
    pub costs: CostModel,
    /// How the agent was run, as its record says.
    ///
    /// None inside the harness's own process.
    pub harness: Option<Harness>,
    /// What a decision could ask for.
    pub limits: Limits,
    /// NAV at the close of each bar of the window; 1 at the first.
    pub nav: Vec<f64>,
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
    /// Returns of the same decisions carried out one bar later.
    pub delayed: Vec<f64>,
    /// Orders that were filled, with what the agent said of them.
    pub stated: Vec<StatedOrder>,
}

/// An order that was filled, with what its agent said of it and what came.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StatedOrder {
    /// Probability in [0, 1] that the agent stated, if it stated one.
    pub confidence: Option<f64>,
    /// Target weight: its sign is the direction.
    pub weight: f64,
    /// Price of the fill.
    pub fill: f64,
    /// Close of the bar of the fill.
    pub close: f64,
}

/// Returns of runs without skill.
///
/// On the same market, in the same window, by the same rules.
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
