use openoutcry_contract::record::FaultKind;

use super::benchmark_side::Side;
use super::execution_delay::ExecutionDelay;
use super::field_agents::Agent;
use super::pooled_windows::without_best;
use super::process::Process;
use super::reason::{Known, Reason, Unknown};
use super::score_config::{Gates, PassMode, ScoreConfig, WindowMode};
use super::window_tests::WindowTests;
use crate::bootstrap::MIN_DAYS;
use crate::{mean, volatility};

/// The fewest windows of a test of means.
const MIN_WINDOWS: usize = 2;

/// The verdict on an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Every gate passes.
    Eligible,
    /// A gate fails.
    NotEligible,
    /// There are too few windows or days.
    Insufficient,
    /// No gate fails, but the result of one is unknown.
    Unknown,
}

impl Verdict {
    /// Returns the stable name.
    #[must_use]
    pub fn slug(self) -> &'static str {
        match self {
            Self::Eligible => "eligible",
            Self::NotEligible => "not_eligible",
            Self::Insufficient => "insufficient",
            Self::Unknown => "unknown",
        }
    }
}

/// A condition of eligibility, with its value and bound.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gate {
    /// Its stable name.
    pub slug: &'static str,
    /// Whether it passes; absent if unknown.
    pub passed: Option<bool>,
    /// The value.
    pub value: Known,
    /// The bound, if any.
    pub bound: Option<f64>,
    /// The reason that it fails or is unknown.
    pub reason: Option<Reason>,
}

impl Gate {
    /// Returns a gate on a value; unknown without a value.
    fn on(slug: &'static str, value: Known, bound: f64, holds: impl Fn(f64) -> bool, reason: Reason) -> Self {
        let passed = value.ok().map(&holds);
        let reason = match passed {
            Some(true) => None,
            Some(false) => Some(reason),
            None => Some(Reason::Undefined),
        };
        Self { slug, passed, value, bound: Some(bound), reason }
    }

    fn at_least(slug: &'static str, value: Known, bound: f64, reason: Reason) -> Self {
        Self::on(slug, value, bound, |value| value >= bound, reason)
    }

    pub(super) fn at_most(slug: &'static str, value: Known, bound: f64, reason: Reason) -> Self {
        Self::on(slug, value, bound, |value| value <= bound, reason)
    }

    /// Returns this gate with another reason if it is unknown.
    fn unknown_for(self, reason: Reason) -> Self {
        if self.passed.is_none() { Self { reason: Some(reason), ..self } } else { self }
    }
}

/// The inputs of the gates of an agent.
pub(super) struct Findings<'a> {
    pub process: &'a Process,
    pub sides: &'a [Side],
    pub windows: &'a WindowTests,
    /// Deflated Sharpe ratio, for the benchmark with the lower one.
    pub dsr: Known,
    /// Dependence on execution without delay, under editions that judge it.
    pub delay: Option<ExecutionDelay>,
}

/// Returns every gate of an agent.
pub(super) fn gates(agent: &Agent<'_>, config: &ScoreConfig, found: &Findings<'_>) -> Vec<Gate> {
    let gates = &config.gates;
    let mut all = data_gates(agent);
    all.push(protocol(config.windows.len()));
    all.extend(process_gates(found.process, gates));
    all.extend(floor_gates(agent, gates));
    all.extend(skill_gates(agent, gates, found));
    all.extend(found.delay.map(|delay| delay_gate(&delay, gates)));
    all
}

/// Returns the gates on the amount of data.
fn data_gates(agent: &Agent<'_>) -> Vec<Gate> {
    let count = |n: usize| Ok(n as f64);
    let absent = agent.average.sides().into_iter().find_map(|(_, series)| series.err());
    let why = if absent == Some(Unknown::NoPassive) { Reason::NoPassive } else { Reason::NoBenchmark };
    let copies = usize::from(agent.copy_of.is_some());
    vec![
        Gate::at_least("days", count(agent.tracks.n_days()), MIN_DAYS as f64, Reason::Insufficient),
        Gate::at_least("returns", count(agent.tracks.n_returns()), MIN_DAYS as f64, Reason::Insufficient),
        Gate::at_least("windows", count(agent.tracks.windows.len()), MIN_WINDOWS as f64, Reason::Insufficient),
        Gate::at_most("windows_present", count(agent.n_missing), 0.0, Reason::WindowsMissing),
        Gate::at_most("original", count(copies), 0.0, Reason::Copy),
        Gate {
            passed: absent.is_none().then_some(true),
            reason: absent.is_some().then_some(why),
            ..Gate::at_least("benchmark", count(usize::from(absent.is_none())), 1.0, why)
        },
    ]
}

/// Returns the gate on the protocol: the windows are chosen by a suite.
///
/// It is unknown without a suite.
fn protocol(n_windows: usize) -> Gate {
    let gate = Gate::at_least("protocol", Ok(n_windows as f64), 1.0, Reason::NoSuite);
    if n_windows > 0 { gate } else { Gate { passed: None, ..gate } }
}

/// Returns the gates on the process of the runs.
fn process_gates(process: &Process, gates: &Gates) -> Vec<Gate> {
    let fall = process.worst_drawdown.map(|fall| -fall);
    vec![
        answered(process, gates.max_fault_share),
        Gate::at_most("solvent", Ok(process.n_terminated as f64), 0.0, Reason::Terminated),
        Gate::at_most("drawdown", fall, gates.max_drawdown, Reason::Drawdown),
        Gate::at_most("exposure", process.largest_gross, gates.max_gross, Reason::Exposure)
            .unknown_for(Reason::NoTrace),
    ]
}

/// Returns the gate on faults of the agent.
///
/// It is unknown for an agent that could not be reached: the track is then not its own, and it is not at fault.
fn answered(process: &Process, bound: f64) -> Gate {
    let own = Gate::at_most("process", process.fault_share(FaultKind::Agent), bound, Reason::Faults);
    let other = process.fault_share(FaultKind::Infrastructure);
    if own.passed == Some(true) && other.is_ok_and(|share| share > bound) {
        return Gate { passed: None, value: other, reason: Some(Reason::Infrastructure), ..own };
    }
    own.unknown_for(Reason::NoTrace)
}

/// Returns the gates on the smallest volatility and alpha.
fn floor_gates(agent: &Agent<'_>, gates: &Gates) -> Vec<Gate> {
    let year = agent.tracks.periods_per_year;
    let own: Known = volatility(&agent.returns, year).map_err(Into::into);
    let held = agent.tracks.series(None, |run| run.benchmarks.as_ref().map(|each| each.buy_and_hold.clone()));
    let floor = held.and_then(|held| volatility(&held, year).ok());
    let bound = gates.min_volatility.max(gates.min_volatility_share * floor.unwrap_or(0.0));
    let annual = |earned: &[f64]| -> Known { Ok((mean(earned)? * year).abs()) };
    // Of portfolios; over cash only without any.
    let portfolios = agent.average.sides().into_iter().filter(|(name, _)| *name != "cash");
    let known = portfolios.filter_map(|(_, series)| series.ok()).map(annual);
    let alpha = known.reduce(|least, alpha| Ok(least?.min(alpha?))).unwrap_or_else(|| annual(&agent.average.cash));
    vec![
        Gate::at_least("volatility", own, bound, Reason::LowVolatility),
        Gate::at_least("alpha", alpha, gates.min_alpha, Reason::LowAlpha),
    ]
}

/// Returns the gates on skill.
fn skill_gates(agent: &Agent<'_>, gates: &Gates, found: &Findings<'_>) -> Vec<Gate> {
    // Bare returns may have only cash as benchmark; the benchmark gate reports it.
    let is_absent = |p: &Known| p.is_err_and(Unknown::is_absent);
    let mut p_values = found.sides.iter().map(|side| side.romano_wolf).filter(|p| !is_absent(p));
    let worst: Known = p_values.try_fold(0.0, |worst: f64, p| Ok(worst.max(p?)));
    let WindowTests { p_below, n_won, n_needed, pass_k, .. } = found.windows;
    let wins = Gate::at_least("window_wins", Ok(*n_won as f64), n_needed.unwrap_or(0) as f64, Reason::TooFewWins);
    let level = gates.level;
    let mut all = vec![
        Gate::at_least("dsr", found.dsr, gates.min_dsr, Reason::DeflatedSharpe),
        Gate::on("romano_wolf", worst, level, |p| p < level, Reason::RomanoWolf),
    ];
    if gates.windows == WindowMode::Pooled {
        all.extend(pooled_gates(agent, gates));
    } else {
        all.push(Gate::on("window_below", *p_below, level, |p| p >= level, Reason::WindowBelow));
        all.push(if n_needed.is_some() { wins } else { Gate { bound: None, ..wins } });
    }
    if gates.pass_mode == PassMode::All {
        let rate = pass_k.rates.last().copied().unwrap_or(0.0);
        all.push(Gate::at_least("pass_k", Ok(rate), 1.0, Reason::NotAllPass));
    }
    all
}

/// Returns the gates of windows that are judged together.
///
/// The tests of all days decide, `dsr` and `romano_wolf`; these gates demand that they have enough windows, and that
/// no single window carries the result.
fn pooled_gates(agent: &Agent<'_>, gates: &Gates) -> Vec<Gate> {
    let n_windows = agent.tracks.windows.len() as f64;
    vec![
        Gate::at_least("pooled_windows", Ok(n_windows), gates.min_pooled as f64, Reason::Insufficient),
        Gate::at_least("without_best", without_best(agent), gates.min_z_without_best, Reason::OneWindow),
    ]
}

/// Returns the gate on the ratio that a delay of one bar costs.
fn delay_gate(delay: &ExecutionDelay, gates: &Gates) -> Gate {
    let gate = Gate::at_most("delay", delay.lost, gates.max_delay_loss, Reason::DelayImplausible);
    if delay.lost == Err(Unknown::NoTrace) { gate.unknown_for(Reason::NoTrace) } else { gate }
}

/// Returns the verdict of gates, and their reasons.
pub(super) fn verdict(gates: &[Gate]) -> (Verdict, Vec<Reason>) {
    let mut reasons: Vec<Reason> = gates.iter().filter_map(|gate| gate.reason).collect();
    reasons.sort_unstable();
    reasons.dedup();
    let failed = |gate: &Gate| gate.passed == Some(false);
    let verdict = if gates.iter().any(|gate| failed(gate) && gate.reason == Some(Reason::Insufficient)) {
        Verdict::Insufficient
    } else if gates.iter().any(failed) {
        Verdict::NotEligible
    } else if gates.iter().any(|gate| gate.passed.is_none()) {
        Verdict::Unknown
    } else {
        Verdict::Eligible
    };
    (verdict, reasons)
}
