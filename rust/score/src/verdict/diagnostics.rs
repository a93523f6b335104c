//! Diagnostics of a score.
//!
//! None affects the verdict, except the dependence on execution without delay in the second edition.

use openoutcry_contract::{SubmittedRun, Trace};

use super::active_returns::active;
use super::deflated_ratio::dsr_of;
use super::execution_delay::ExecutionDelay;
use super::field_agents::Agent;
use super::reason::{Known, Unknown};
use super::{Gates, ScoreConfig};
use crate::error::{Statistic, year};
use crate::skill::{Calibration, Decay, Selection, Stated, at_cost, break_even_bps, calibrate, decay, worst};
use crate::{share_of_nav, sharpe};

/// Kinds of trading costs: fee, slippage, impact, liquidation.
const OF_TRADING: [usize; 4] = [0, 1, 2, 5];

/// Number of bins of the calibration.
const N_BINS: usize = 10;

/// Diagnostics of a score; ratios are annual.
#[derive(Clone, Debug, PartialEq)]
pub struct Diagnostics {
    /// Sharpe ratio over cash of the same decisions with a delay of one bar.
    pub delayed_sharpe: Known,
    /// Active ratios with and without that delay, under editions that judge them.
    pub delay: Option<ExecutionDelay>,
    /// Deflated ratio at the common cost of the configuration.
    pub dsr_at_common_cost: Known,
    /// Cost in bps of turnover at which the mean return is 0.
    pub break_even_bps: Known,
    /// NAV at which the excess over the benchmark is 0.
    pub capacity: Known,
    /// Lowest rolling Sharpe ratio of active returns within a window.
    pub worst_rolling_sharpe: Known,
    /// Decay of the ratio after the in-sample windows.
    pub decay: Known<Decay>,
    /// Calibration of stated confidence.
    pub calibration: Known<Calibration>,
}

impl Diagnostics {
    pub(super) fn of(agent: &Agent<'_>, config: &ScoreConfig, selection: &Selection) -> Self {
        Self {
            delayed_sharpe: delayed(agent, config),
            delay: ExecutionDelay::under(agent, config),
            dsr_at_common_cost: at_common_cost(agent, config, selection),
            break_even_bps: break_even(agent),
            capacity: agent.submission.capacity.ok_or(Unknown::NotMeasured),
            worst_rolling_sharpe: rolling(agent, &config.gates),
            decay: decayed(agent, config.gates.n_in_sample),
            calibration: calibrated(agent),
        }
    }
}

fn traced<'a>(agent: &'a Agent<'_>, of: impl Fn(&SubmittedRun, &Trace) -> Vec<f64> + 'a) -> Known<Vec<f64>> {
    let series = agent.tracks.series(None, |run| run.trace.as_ref().map(|trace| of(run, trace)));
    series.ok_or(Unknown::NoTrace)
}

fn delayed(agent: &Agent<'_>, config: &ScoreConfig) -> Known {
    let late = traced(agent, |_, trace| trace.delayed.clone())?;
    Ok(sharpe(&active(&agent.tracks, None, &late, config.edition).cash, agent.tracks.periods_per_year)?)
}

/// Returns trading costs per bar, over NAV.
fn cost_of(agent: &Agent<'_>) -> Known<Vec<f64>> {
    traced(agent, |run, trace| {
        let paid = |bar: usize| OF_TRADING.iter().map(|kind| trace.paid[*kind][bar]).sum();
        let paid: Vec<f64> = (0..run.returns.len()).map(paid).collect();
        share_of_nav(&paid, &trace.nav)
    })
}

fn at_common_cost(agent: &Agent<'_>, config: &ScoreConfig, selection: &Selection) -> Known {
    let (cost, turnover) = (cost_of(agent)?, traced(agent, |_, trace| trace.turnover.clone())?);
    let returns = at_cost(&agent.returns, &cost, &turnover, config.gates.common_cost_bps)?;
    dsr_of(&active(&agent.tracks, None, &returns, config.edition), selection)
}

fn break_even(agent: &Agent<'_>) -> Known {
    let (cost, turnover) = (cost_of(agent)?, traced(agent, |_, trace| trace.turnover.clone())?);
    Ok(break_even_bps(&agent.returns, &cost, &turnover)?)
}

fn rolling(agent: &Agent<'_>, gates: &Gates) -> Known {
    let (series, periods_per_year) = (agent.average.own(), agent.tracks.periods_per_year);
    let mut ratios: Vec<Statistic> = Vec::new();
    for (from, to) in crate::bootstrap::edges(&agent.tracks.lengths()) {
        if to - from >= gates.rolling_bars {
            year(periods_per_year)?;
            // Of each window alone, not by `rolling_sharpe`: the bits of earlier scores.
            ratios.extend(series[from..to].windows(gates.rolling_bars).map(|window| sharpe(window, periods_per_year)));
        }
    }
    Ok(worst(ratios)?.0)
}

fn decayed(agent: &Agent<'_>, n_in_sample: usize) -> Known<Decay> {
    let (mut inside, mut outside) = (Vec::new(), Vec::new());
    let (mut market, mut place) = (None, 0);
    let series = agent.average.own();
    for (window, (from, to)) in agent.tracks.windows.iter().zip(crate::bootstrap::edges(&agent.tracks.lengths())) {
        place = if market == Some(window.key.dataset) { place + 1 } else { 0 };
        market = Some(window.key.dataset);
        if place < n_in_sample { &mut inside } else { &mut outside }.extend_from_slice(&series[from..to]);
    }
    if inside.is_empty() || outside.is_empty() {
        return Err(Unknown::NoSample);
    }
    Ok(decay(&inside, &outside, agent.tracks.periods_per_year)?)
}

fn calibrated(agent: &Agent<'_>) -> Known<Calibration> {
    let traces: Option<Vec<_>> = agent.tracks.runs().map(|run| run.trace.as_ref()).collect();
    let orders = traces.ok_or(Unknown::NoTrace)?;
    let orders = orders.into_iter().flat_map(|trace| &trace.stated).map(|order| Stated {
        confidence: order.confidence,
        weight: order.weight,
        fill: order.fill,
        close: order.close,
    });
    Ok(calibrate(&orders.collect::<Vec<_>>(), N_BINS)?)
}
