use super::agent_fault::Fault;
use super::digest::Digest;
use super::harness::Harness;
use super::hash_chain::Chain;
use super::header::Header;
use super::trajectory::{End, RunTrajectory, Step};
use super::writer;
use crate::wire::version::DAY_ORDERS_VERSION;

/// Digest, cash and NAV of the observation at a close.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Seen {
    /// Cash.
    pub cash: f64,
    /// NAV.
    pub nav: f64,
    /// SHA-256 of the canonical JSON of the observation.
    pub observation: Digest,
}

/// Records a run in progress.
#[derive(Clone, Debug)]
pub struct Recorder {
    chain: Chain,
    last: Digest,
    run: RunTrajectory,
    /// Whether header or steps state the version of day orders.
    states_day_orders: bool,
    /// Whether the next step states it.
    expects_day_orders: bool,
}

impl Recorder {
    /// Returns the recorder of a run that has not begun.
    #[must_use]
    pub fn new(header: Header) -> Self {
        let mut chain = Chain::default();
        let link = chain.header(&header);
        let states_day_orders = header.contract_version == DAY_ORDERS_VERSION;
        let run = RunTrajectory { harness: None, header, link, steps: Vec::new(), end: None };
        Self { chain, last: link, run, states_day_orders, expects_day_orders: false }
    }

    /// Returns this recorder with the harness of a separate process, if any.
    #[must_use]
    pub fn harnessed(mut self, harness: Option<Harness>) -> Self {
        self.run.harness = harness;
        self
    }

    /// Notes that the next decision has a field of contract 1.1.
    ///
    /// The first such decision states the version, unless the header does: a record of lines has its header on disk
    /// before the first decision is known.
    pub fn expect_day_orders(&mut self) {
        self.expects_day_orders = !self.states_day_orders;
    }

    /// Appends a decision: its observation, the answer as received, and its fault.
    pub fn step(&mut self, seen: Seen, decision: String, fault: Option<Fault>) {
        let Seen { cash, nav, observation } = seen;
        let (cash, nav) = (unsigned_zero(cash), unsigned_zero(nav));
        let contract_version = self.expects_day_orders.then(|| DAY_ORDERS_VERSION.to_owned());
        self.states_day_orders |= self.expects_day_orders;
        self.expects_day_orders = false;
        let mut step = Step { cash, contract_version, decision, fault, link: self.last, nav, observation };
        step.link = self.chain.step(&step, &self.last);
        self.last = step.link;
        self.run.steps.push(step);
    }

    /// Returns the finished record, with the observation after the last decision.
    #[must_use]
    pub fn end(mut self, seen: Seen, terminated: bool) -> RunTrajectory {
        let Seen { cash, nav, observation } = seen;
        let (cash, nav) = (unsigned_zero(cash), unsigned_zero(nav));
        let mut end = End { cash, link: self.last, nav, observation, terminated };
        end.link = self.chain.end(&end, &self.last);
        self.run.end = Some(end);
        self.run
    }

    /// Returns the unfinished record so far.
    #[must_use]
    pub fn so_far(&self) -> &RunTrajectory {
        &self.run
    }

    /// Appends the first line of this run.
    pub fn push_header_line(&self, text: &mut String) {
        writer::push_header_line(text, &self.run);
    }

    /// Appends the line of the last step.
    pub fn push_step_line(&self, text: &mut String) {
        if let Some(step) = self.run.steps.last() {
            writer::push_step_line(text, step);
        }
    }
}

impl RunTrajectory {
    /// Appends the last line of this run, if it has ended.
    pub fn push_end_line(&self, text: &mut String) {
        if let Some(end) = &self.end {
            writer::push_end_line(text, end);
        }
    }
}

/// Returns a number with -0 replaced by 0: canonical JSON has one zero.
fn unsigned_zero(value: f64) -> f64 {
    if value == 0.0 { 0.0 } else { value }
}
