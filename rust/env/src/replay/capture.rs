//! Backtests that record their run.

use openoutcry_contract::record::{DatasetName, Digest, Fault, Header, Recorder, RunTrajectory, Seen};
use openoutcry_contract::{
    CONTRACT_VERSION, DAY_ORDERS_VERSION, Decision, DecisionError, MarketObservation, PrintedCloses, write_observation,
    write_orders,
};
use openoutcry_engine::{Charge, CostModel, Dataset, Detail, Limits, StepError, Window};

use crate::agents::Agent;
use crate::agents::agent_answer::AgentAnswer;
use crate::backtest::order_table::OrderTable;
use crate::backtest::run::Run;
use crate::backtest::run_backtest::{Backtest, BacktestError};
use crate::backtest::table_account::fault_of;
use crate::episode::single_episode::{Episode, printed_closes};

/// The version of this engine in records.
pub const ENGINE_VERSION: &str = env!("CARGO_PKG_VERSION");

/// All released versions of this engine, the current one last.
///
/// A record with another version comes from a newer engine, or from none.
pub const ENGINE_VERSIONS: [&str; 1] = [ENGINE_VERSION];

/// Observations of an account in a reused buffer.
pub(crate) struct ObservationViewer<'a> {
    data: &'a Dataset,
    lookback: usize,
    printed: PrintedCloses,
    text: String,
}

impl<'a> ObservationViewer<'a> {
    pub(crate) fn new(data: &'a Dataset, window: Window, lookback: usize) -> Self {
        Self { data, lookback, printed: printed_closes(data, window, lookback), text: String::new() }
    }

    /// Writes the observation and returns its digest with cash and NAV.
    pub(crate) fn look(&mut self, episode: &Episode) -> Seen {
        let (book, as_of) = (&episode.book, self.data.as_of(episode.book.bar()));
        self.text.clear();
        write_observation(&mut self.text, as_of, book, self.lookback, &mut self.printed);
        Seen { cash: book.cash(), nav: book.nav(), observation: Digest::of(&self.text) }
    }
}

/// A run and its record in progress.
struct Capture<'a> {
    viewer: ObservationViewer<'a>,
    episode: Episode,
    run: Run,
    recorder: Recorder,
    line: String,
}

impl<'a> Capture<'a> {
    fn begin<E>(of: &'a Backtest<'a>, tell: &mut impl FnMut(&str) -> Result<(), E>) -> Result<Self, E> {
        let mut capture = Self {
            viewer: ObservationViewer::new(of.data, of.window, of.lookback),
            episode: Episode::new(of.data, of.window, of.rules.clone(), Detail::Full),
            run: Run::begin(of.window, of.data.n_symbols(), of.rules.clone()),
            recorder: Recorder::new(of.header()).harnessed(of.harness),
            line: String::new(),
        };
        capture.recorder.push_header_line(&mut capture.line);
        tell(&capture.line)?;
        Ok(capture)
    }

    /// Records a decision before it is traded.
    ///
    /// No answer is then lost if the process ends.
    fn note<E>(
        &mut self,
        seen: Seen,
        (text, has_day_orders): (String, bool),
        fault: Option<Fault>,
        tell: &mut impl FnMut(&str) -> Result<(), E>,
    ) -> Result<(), E> {
        if has_day_orders {
            self.recorder.expect_day_orders();
        }
        self.recorder.step(seen, text, fault);
        self.line.clear();
        self.recorder.push_step_line(&mut self.line);
        tell(&self.line)
    }

    fn end<E>(mut self, tell: &mut impl FnMut(&str) -> Result<(), E>) -> Result<(Run, RunTrajectory), E> {
        let seen = self.viewer.look(&self.episode);
        let record = self.recorder.end(seen, self.episode.terminated);
        self.line.clear();
        record.push_end_line(&mut self.line);
        tell(&self.line)?;
        Ok((self.run.finish(), record))
    }
}

impl Backtest<'_> {
    /// Returns the record header of this backtest.
    #[must_use]
    pub fn header(&self) -> Header {
        Header {
            contract_version: version_of(self.data, self.rules.costs(), self.rules.limits()).to_owned(),
            costs: *self.rules.costs(),
            dataset: DatasetName {
                commitment: self.commitment,
                fingerprint: Digest(self.data.fingerprint()),
                name: self.name.clone(),
            },
            engine_version: ENGINE_VERSION.to_owned(),
            fill: self.fill,
            limits: *self.rules.limits(),
            lookback: self.lookback,
            window: self.window,
        }
    }

    /// Runs an agent over the window and returns the run with its record.
    ///
    /// # Errors
    ///
    /// Returns an error if a decision has no JSON form, or its step is refused.
    pub fn capture(&self, agent: &mut (impl Agent + ?Sized)) -> Result<(Run, RunTrajectory), BacktestError> {
        self.drive(
            |capture| {
                let as_of = self.data.as_of(capture.episode.book.bar());
                let decision = agent.decide(&MarketObservation::new(as_of, &capture.episode.book, self.lookback));
                check_numbers(&decision)?;
                Ok(AgentAnswer::strict(decision.to_json()))
            },
            |_| Ok(()),
        )
    }

    /// Runs a function from observation JSON to decision JSON, and records it.
    ///
    /// An [`AgentAnswer`] that is not strict may have a fault: the fault is recorded, and the answer is a hold. A text that
    /// is a decision has only one step error, `nav_overflow`, which ends the run.
    ///
    /// `tell` receives each line of the record, with its line end, as soon as it is known: a record written line by
    /// line survives a crash.
    ///
    /// # Errors
    ///
    /// Returns the first error of `decide` or `tell`, of a strict answer that is not a decision, or of a step.
    pub fn try_capture<E: From<StepError> + From<DecisionError>>(
        &self,
        mut decide: impl FnMut(&str) -> Result<AgentAnswer, E>,
        tell: impl FnMut(&str) -> Result<(), E>,
    ) -> Result<(Run, RunTrajectory), E> {
        self.drive(|capture| decide(&capture.viewer.text), tell)
    }

    fn drive<E: From<StepError> + From<DecisionError>>(
        &self,
        mut decide: impl FnMut(&Capture<'_>) -> Result<AgentAnswer, E>,
        mut tell: impl FnMut(&str) -> Result<(), E>,
    ) -> Result<(Run, RunTrajectory), E> {
        let mut capture = Capture::begin(self, &mut tell)?;
        while !capture.episode.done() {
            let seen = capture.viewer.look(&capture.episode);
            let answer = decide(&capture)?;
            let (decision, fault) = answer.read()?;
            capture.note(seen, (answer.text, decision.has_day_orders()), fault, &mut tell)?;
            let Capture { episode, run, .. } = &mut capture;
            let stepped = episode.decide(self.data, &decision)?;
            self.keep_orders(&decision, episode, run);
            run.push(&stepped, episode.events(), episode.refusals());
        }
        capture.end(&mut tell)
    }

    /// Runs decisions as [`Backtest::run_orders`] does, and records them.
    ///
    /// # Errors
    ///
    /// As [`Backtest::run_orders`].
    pub fn capture_orders(&self, orders: &OrderTable) -> Result<(Run, RunTrajectory), StepError> {
        if let Some(fault) = fault_of(self, orders) {
            return Err(fault);
        }
        let mut tell = |_: &str| Ok::<(), StepError>(());
        let mut capture = Capture::begin(self, &mut tell)?;
        while !capture.episode.done() {
            let decided = capture.run.nav.len() - 1;
            let decided = orders.decision(decided);
            let seen = capture.viewer.look(&capture.episode);
            let mut text = String::new();
            write_orders(&mut text, self.data.symbols(), decided, self.data.as_of(capture.episode.book.bar()));
            capture.note(seen, (text, !decided.1.is_empty()), None, &mut tell)?;
            let Capture { episode, run, .. } = &mut capture;
            let stepped = episode.trade(self.data, decided)?;
            run.orders.push(decided);
            run.push(&stepped, episode.events(), episode.refusals());
        }
        capture.end(&mut tell)
    }
}

/// Returns the first version of the contract with all that a run has.
///
/// Its columns of charges, costs and limits; decisions state theirs.
pub(crate) fn version_of(data: &Dataset, costs: &CostModel, limits: &Limits) -> &'static str {
    let has_charge = Charge::ALL.into_iter().any(|charge| data.has_charge(charge));
    if has_charge || costs.stop_gap != 0.0 || limits.cash_account { DAY_ORDERS_VERSION } else { CONTRACT_VERSION }
}

/// Refuses a decision with numbers that have no JSON form.
fn check_numbers(decision: &Decision) -> Result<(), BacktestError> {
    for (index, order) in decision.orders.iter().enumerate() {
        if !order.target_weight.is_finite() {
            return Err(StepError::WeightNotFinite { index, weight: order.target_weight }.into());
        }
        if let Some(conditions) = &order.conditions {
            conditions.validate(order.action, order.target_weight)?;
        }
        if let Some(confidence) = order.confidence.filter(|value| !(0.0..=1.0).contains(value)) {
            return Err(DecisionError::confidence(confidence).into());
        }
    }
    Ok(())
}

/// Runs an agent over a window with default limits, and records it.
///
/// `seed` keys the slippage noise.
///
/// # Errors
///
/// Returns an error if the window leaves the data, a cost is out of range, or a step is refused.
pub fn run_backtest_capture(
    data: &Dataset,
    agent: &mut (impl Agent + ?Sized),
    window: Window,
    seed: u64,
    costs: CostModel,
) -> Result<(Run, RunTrajectory), BacktestError> {
    Backtest::new(data, window, seed, costs)?.capture(agent)
}
