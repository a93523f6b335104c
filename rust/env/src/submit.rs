//! What a scorer may know of a record, recomputed.

use std::collections::BTreeMap;

use openoutcry_contract::record::{AgentTrajectory, RunTrajectory};
use openoutcry_contract::{Benchmarks, Submission, SubmittedRun};
use openoutcry_engine::{CostModel, Dataset, StepError, lanes};

use crate::agents::BuyAndHold;
use crate::backtest::Backtest;
use crate::episode::Episode;
use crate::replay::{Replay, ReplayError, Terms, replay_with, rules_of};
use crate::run::Run;

/// Replays a record and returns what a scorer may know of it.
///
/// `costs` are those that the agent is to be judged by: a record under others is refused.
///
/// # Errors
///
/// Returns an error if the record is unfinished, or says anything else than the replay.
pub fn replay_submission(
    data: &Dataset,
    trajectory: &AgentTrajectory,
    costs: CostModel,
) -> Result<Submission, ReplayError> {
    if let Some(problem) = trajectory.unfinished() {
        return Err(ReplayError::Unfinished { problem });
    }
    let terms = Terms { costs: Some(costs), ..Terms::default() };
    let runs = trajectory.runs.iter().enumerate();
    let runs = runs.map(|(index, run)| submit_run(data, run, index, &terms)).collect::<Result<_, _>>()?;
    check_digest(trajectory)?;
    let AgentTrajectory { agent_id, in_sample_trials, digest, .. } = trajectory;
    Ok(Submission { agent_id: agent_id.clone(), in_sample_trials: *in_sample_trials, digest: *digest, runs })
}

/// Refuses a record whose digest is not that of its agent and runs.
fn check_digest(trajectory: &AgentTrajectory) -> Result<(), ReplayError> {
    let text = |digest: Option<_>| digest.map_or("none".to_owned(), |digest| format!("{digest}"));
    let computed = trajectory.computed_digest();
    if trajectory.digest == computed {
        return Ok(());
    }
    Err(ReplayError::Differs {
        run: 0,
        field: "digest",
        recorded: text(trajectory.digest),
        replayed: text(computed),
        cause: "the agent, its trials or its list of runs was edited",
    })
}

/// Replays one run and returns what a scorer may know of it.
///
/// It is the `index`-th of its record.
///
/// # Errors
///
/// Returns an error if the run is unfinished, or says anything else than the replay.
pub fn submit_run(
    data: &Dataset,
    trajectory: &RunTrajectory,
    index: usize,
    terms: &Terms,
) -> Result<SubmittedRun, ReplayError> {
    let header = &trajectory.header;
    let Some(digest) = trajectory.digest() else {
        return Err(ReplayError::Unfinished { problem: format!("whose run {index} has no end") });
    };
    let Ok(rules) = rules_of(data, trajectory, terms)? else {
        let replay = replay_with(data, trajectory, terms, |_, _, _| ())?;
        return Err(first_difference(index, &replay));
    };
    let market = Backtest::again(data, header, rules.clone());
    let mut tally = Tally::new(data, Run::begin(header.window, data.n_symbols(), rules));
    let replay = replay_with(data, trajectory, terms, |decision, episode, stepped| {
        tally.run.orders.extend_from_slice(&market.decided(decision, episode));
        tally.run.push(stepped, episode.events(), episode.refusals());
        tally.see(episode);
    })?;
    if !replay.differences.is_empty() {
        return Err(first_difference(index, &replay));
    }
    let (run, [gross, net], events) = tally.finish();
    let flows = run.flows(data)?;
    let bars = header.window.start..header.window.end;
    Ok(SubmittedRun {
        digest,
        dataset: header.dataset.fingerprint,
        dataset_name: header.dataset.name.clone(),
        window: header.window,
        dates: data.dates()[bars.clone()].to_vec(),
        periods_per_year: data.periods_per_year(),
        fill: header.fill,
        costs: header.costs,
        limits: header.limits,
        risk_free: data.risk_free().map(|rates| rates[bars.start + 1..bars.end].to_vec()),
        returns: run.returns(),
        turnover: flows.turnover.clone(),
        paid: flows.costs.clone(),
        gross,
        net,
        events,
        faults: faults_of(trajectory),
        terminated_at: run.terminated_at,
        benchmarks: benchmarks(&market)?,
        delayed: market.run_delayed(&run)?.returns(),
        nav: run.nav.clone(),
    })
}

fn first_difference(run: usize, replay: &Replay) -> ReplayError {
    let Some(first) = replay.differences.first() else {
        return ReplayError::Unfinished { problem: format!("whose run {run} has no end") };
    };
    ReplayError::Differs {
        run,
        field: first.field,
        recorded: first.recorded.clone(),
        replayed: first.replayed.clone(),
        cause: first.cause.words(),
    }
}

fn faults_of(trajectory: &RunTrajectory) -> BTreeMap<String, u64> {
    let mut counts = BTreeMap::new();
    for fault in trajectory.steps.iter().filter_map(|step| step.fault.as_ref()) {
        *counts.entry(fault.slug().to_owned()).or_default() += 1;
    }
    counts
}

fn benchmarks(market: &Backtest<'_>) -> Result<Benchmarks, StepError> {
    let orders = market.window.n_decisions() * market.data.n_symbols();
    Ok(Benchmarks {
        buy_and_hold: market.run(&mut BuyAndHold::default())?.returns(),
        cash: market.run_orders(vec![f64::NAN; orders])?.returns(),
    })
}

/// A run that is put together again, and what its events and weights come to.
struct Tally {
    run: Run,
    n_symbols: usize,
    events: BTreeMap<&'static str, u64>,
    exposures: [Vec<f64>; 2],
}

impl Tally {
    fn new(data: &Dataset, run: Run) -> Self {
        Self { run, n_symbols: data.n_symbols(), events: BTreeMap::new(), exposures: Default::default() }
    }

    fn see(&mut self, episode: &Episode) {
        for event in episode.events() {
            *self.events.entry(event.slug()).or_default() += 1;
        }
        let weights = || (0..self.n_symbols).map(|symbol| episode.book.weight(symbol));
        self.exposures[0].push(lanes::sum(weights().map(f64::abs)));
        self.exposures[1].push(lanes::sum(weights()));
    }

    fn finish(mut self) -> (Run, [Vec<f64>; 2], BTreeMap<&'static str, u64>) {
        let decisions = self.run.window.n_decisions();
        for exposure in &mut self.exposures {
            exposure.resize(decisions, 0.0);
        }
        if !self.run.refusals.is_empty() {
            *self.events.entry("refused").or_default() += self.run.refusals.len() as u64;
        }
        (self.run.finish(self.n_symbols), self.exposures, self.events)
    }
}
