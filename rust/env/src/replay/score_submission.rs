//! Submissions: the recomputed facts of a record that a scorer uses.

use std::collections::BTreeMap;

use openoutcry_contract::record::{AgentTrajectory, RunTrajectory};
use openoutcry_contract::{Action, Benchmarks, Decision, FillTime, StatedOrder, Submission, SubmittedRun, Trace};
use openoutcry_engine::{ConfigError, CostModel, Dataset, Event, Rules, StepError, lane_sums};

use crate::agents::BuyAndHold;
use crate::backtest::run::Run;
use crate::backtest::run_backtest::Backtest;
use crate::episode::single_episode::Episode;
use crate::replay::divergence::Difference;
use crate::replay::record_integrity::integrity_differences;
use crate::replay::replay_run::{Replay, ReplayError, replay_with, rules_of};
use crate::replay::replay_terms::Terms;

/// Replays a record and returns its submission.
///
/// `costs` are the costs of the score. A record with other costs is refused.
///
/// # Errors
///
/// Returns an error if the record is unfinished or diverges from its replay.
pub fn replay_submission(
    data: &Dataset,
    trajectory: &AgentTrajectory,
    costs: CostModel,
) -> Result<Submission, ReplayError> {
    submit(&[data], trajectory, &Terms { costs: Some(costs), ..Terms::default() })
}

/// Replays a record on several markets and returns its submission.
///
/// Each run is replayed on the market of its fingerprint, or on the first market if none has it.
///
/// # Errors
///
/// Returns an error if the record is unfinished or diverges from its replay.
///
/// # Panics
///
/// Panics without a market.
pub fn submit(
    markets: &[&Dataset],
    trajectory: &AgentTrajectory,
    terms: &Terms<'_>,
) -> Result<Submission, ReplayError> {
    submit_by(markets, trajectory, |data, run, index| submit_run(data, run, index, terms))
}

/// Replays a record and returns the submission of its weights at another capital.
///
/// Returns and benchmarks have `capital` at NAV 1. There is no trace, and there are no passive portfolios.
///
/// # Errors
///
/// Returns the same errors as [`submit`]; the inner result is an error for an invalid capital.
///
/// # Panics
///
/// Panics without a market.
pub fn submit_at(
    markets: &[&Dataset],
    trajectory: &AgentTrajectory,
    terms: &Terms<'_>,
    capital: f64,
) -> Result<Result<Submission, ConfigError>, ReplayError> {
    let costs = CostModel { capital, ..CostModel::default() };
    if let Err(error) = costs.validate() {
        return Ok(Err(error));
    }
    let resized = |data: &Dataset, trajectory: &RunTrajectory, index: usize| {
        let (market, tally) = replayed(data, trajectory, index, terms)?;
        let rules = &market.rules;
        let costs = CostModel { capital, ..*rules.costs() };
        let rules = Rules::new(costs, *rules.limits(), rules.fill_key()).expect("a capital that was checked");
        let market = Backtest { rules, ..market };
        submitted(&market, trajectory, &market.run_table(tally.run.orders)?, Vec::new())
    };
    submit_by(markets, trajectory, resized).map(Ok)
}

/// Returns the runs of a record mapped by `each`.
///
/// Each run is on the market of its fingerprint.
fn submit_by(
    markets: &[&Dataset],
    trajectory: &AgentTrajectory,
    each: impl Fn(&Dataset, &RunTrajectory, usize) -> Result<SubmittedRun, ReplayError>,
) -> Result<Submission, ReplayError> {
    if let Some(problem) = trajectory.unfinished() {
        return Err(ReplayError::Unfinished { problem });
    }
    let market = |run: &RunTrajectory| {
        let required = run.header.dataset.fingerprint.0;
        markets.iter().find(|market| market.fingerprint() == required).unwrap_or(&markets[0])
    };
    let runs = trajectory.runs.iter().enumerate();
    let runs = runs.map(|(index, run)| each(market(run), run, index)).collect::<Result<_, _>>()?;
    check_integrity(trajectory)?;
    let AgentTrajectory { agent_id, in_sample_trials, digest, .. } = trajectory;
    let agent_id = agent_id.clone();
    Ok(Submission { agent_id, in_sample_trials: *in_sample_trials, digest: *digest, capacity: None, runs })
}

/// Refuses a record with a divergent digest or signature.
fn check_integrity(trajectory: &AgentTrajectory) -> Result<(), ReplayError> {
    // Without a key no signature is required.
    match integrity_differences(trajectory, None).unwrap_or_default().into_iter().next() {
        None => Ok(()),
        Some(found) => {
            let cause = found.because();
            let Difference { field, recorded, replayed, .. } = found;
            Err(ReplayError::Differs { run: 0, field, recorded, replayed, cause })
        }
    }
}

/// Replays run `index` of a record and returns its submission.
///
/// # Errors
///
/// Returns an error if the run is unfinished or diverges from its replay.
pub fn submit_run(
    data: &Dataset,
    trajectory: &RunTrajectory,
    index: usize,
    terms: &Terms<'_>,
) -> Result<SubmittedRun, ReplayError> {
    let Some(digest) = trajectory.digest() else {
        return Err(ReplayError::Unfinished { problem: format!("with run {index} unfinished") });
    };
    let (market, tally) = replayed(data, trajectory, index, terms)?;
    let header = &trajectory.header;
    let Tally { run, gross, net, events, stated } = tally;
    let flows = run.flows(data)?;
    let trace = Trace {
        digest,
        costs: header.costs,
        harness: trajectory.harness,
        limits: header.limits,
        turnover: flows.turnover.clone(),
        paid: flows.costs.clone(),
        gross,
        net,
        events,
        faults: faults_of(trajectory),
        delayed: market.run_delayed(&run)?.returns(),
        stated,
        nav: run.nav.clone(),
    };
    Ok(SubmittedRun { trace: Some(trace), ..submitted(&market, trajectory, &run, market.passive()?)? })
}

/// Replays run `index` of a record and returns it with its market.
fn replayed<'a>(
    data: &'a Dataset,
    trajectory: &RunTrajectory,
    index: usize,
    terms: &Terms<'_>,
) -> Result<(Backtest<'a>, Tally), ReplayError> {
    let header = &trajectory.header;
    let Ok(rules) = rules_of(data, trajectory, terms)? else {
        let replay = replay_with(data, trajectory, terms, |_, _, _| ())?;
        return Err(first_difference(index, &replay));
    };
    let market = Backtest::from_header(data, header, rules.clone());
    let mut tally = Tally::new(Run::begin(header.window, data.n_symbols(), rules));
    let replay = replay_with(data, trajectory, terms, |decision, episode, stepped| {
        market.keep_orders(decision, episode, &mut tally.run);
        tally.run.push(stepped, episode.events(), episode.refusals());
        tally.see(data, decision, episode);
    })?;
    if replay.differences.is_empty() {
        return Ok((market, tally.finish()));
    }
    Err(first_difference(index, &replay))
}

/// Returns the submission of a run on a market, without a trace.
fn submitted(
    market: &Backtest<'_>,
    trajectory: &RunTrajectory,
    run: &Run,
    passive: Vec<Vec<f64>>,
) -> Result<SubmittedRun, ReplayError> {
    let (header, data) = (&trajectory.header, market.data);
    let bars = header.window.start..header.window.end;
    Ok(SubmittedRun {
        dataset: Some(header.dataset.fingerprint),
        dataset_name: header.dataset.name.clone(),
        window: header.window,
        dates: data.dates().texts(bars.clone()),
        periods_per_year: data.periods_per_year().unwrap_or(f64::NAN),
        fill: header.fill,
        returns: run.returns(),
        risk_free: data.risk_free().map(|rates| rates[bars.start + 1..bars.end].to_vec()),
        terminated_at: run.terminated_at,
        benchmarks: Some(benchmarks(market, passive)?),
        trace: None,
    })
}

fn first_difference(run: usize, replay: &Replay) -> ReplayError {
    let Some(first) = replay.differences.first() else {
        return ReplayError::Unfinished { problem: format!("with run {run} unfinished") };
    };
    ReplayError::Differs {
        run,
        field: first.field,
        recorded: first.recorded.clone(),
        replayed: first.replayed.clone(),
        cause: first.because(),
    }
}

fn faults_of(trajectory: &RunTrajectory) -> BTreeMap<String, u64> {
    let mut counts = BTreeMap::new();
    for fault in trajectory.steps.iter().filter_map(|step| step.fault.as_ref()) {
        *counts.entry(fault.slug().to_owned()).or_default() += 1;
    }
    counts
}

fn benchmarks(market: &Backtest<'_>, passive: Vec<Vec<f64>>) -> Result<Benchmarks, StepError> {
    let orders = market.window.n_decisions() * market.data.n_symbols();
    Ok(Benchmarks {
        buy_and_hold: market.run(&mut BuyAndHold::default())?.returns(),
        cash: market.run_orders(vec![f64::NAN; orders])?.returns(),
        passive,
    })
}

/// A run that is rebuilt from its steps, with counts of events and weights.
struct Tally {
    run: Run,
    gross: Vec<f64>,
    net: Vec<f64>,
    events: BTreeMap<&'static str, u64>,
    stated: Vec<StatedOrder>,
}

impl Tally {
    fn new(run: Run) -> Self {
        Self { run, gross: Vec::new(), net: Vec::new(), events: BTreeMap::new(), stated: Vec::new() }
    }

    fn see(&mut self, data: &Dataset, decision: &Decision, episode: &Episode) {
        for event in episode.events() {
            *self.events.entry(event.slug()).or_default() += 1;
        }
        let weights = || (0..data.n_symbols()).map(|symbol| episode.book.weight(symbol));
        self.gross.push(lane_sums::sum(weights().map(f64::abs)));
        self.net.push(lane_sums::sum(weights()));
        self.stated.extend(stated(data, decision, episode));
    }

    fn finish(mut self) -> Self {
        let decisions = self.run.window.n_decisions();
        self.gross.resize(decisions, 0.0);
        self.net.resize(decisions, 0.0);
        if !self.run.refusals.is_empty() {
            *self.events.entry("refused").or_default() += self.run.refusals.len() as u64;
        }
        Self { run: self.run.finish(), ..self }
    }
}

/// Returns the orders of a decision that were filled and marked, each once.
///
/// Without orders filled at the close, which are marked at their own price, and orders followed by an exit.
fn stated(data: &Dataset, decision: &Decision, episode: &Episode) -> Vec<StatedOrder> {
    let close_of = |symbol| data.as_of(episode.book.bar()).close(symbol);
    let filled = episode.events().iter().filter_map(|event| match *event {
        Event::Filled { symbol, price, .. } => Some((symbol, price)),
        _ => None,
    });
    let order_of = |symbol: usize| {
        let name = &data.symbols()[symbol];
        let required = |order: &&openoutcry_contract::Order| order.symbol == *name && order.action != Action::Hold;
        decision.orders.iter().find(required)
    };
    let has_exited = |symbol: usize| {
        episode.events().iter().any(|event| matches!(event, Event::Exited { symbol: of, .. } if *of == symbol))
    };
    let stated = filled.filter_map(|(symbol, fill)| {
        let order = order_of(symbol)?;
        let at_close = order.conditions.as_ref().is_some_and(|of| of.at == FillTime::Close);
        if at_close || has_exited(symbol) {
            return None;
        }
        let weight = if order.action == Action::Close { 0.0 } else { order.target_weight };
        close_of(symbol).map(|close| StatedOrder { confidence: order.confidence, weight, fill, close })
    });
    stated.collect()
}
