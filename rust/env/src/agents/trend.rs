use openoutcry_contract::{Decision, MarketObservation, SymbolHistory};

use super::Agent;
use crate::agents::agent::{equal_share, weigh};

/// Bars of the return that mean reversion uses: a trading week.
const REVERSION_BARS: usize = 5;

/// Holds an equal part of each symbol that has risen over its close history.
///
/// The rest is cash.
#[derive(Clone, Copy, Debug, Default)]
pub struct Momentum;

impl Agent for Momentum {
    fn decide(&mut self, observation: &MarketObservation) -> Decision {
        let share = equal_share(observation);
        weigh(observation, |symbol| if change(symbol, symbol.close_history.len()) > 0.0 { share } else { 0.0 })
    }
}

/// Holds an equal part of each symbol that has fallen over the last five bars.
///
/// The rest is cash.
#[derive(Clone, Copy, Debug, Default)]
pub struct MeanReversion;

impl Agent for MeanReversion {
    fn decide(&mut self, observation: &MarketObservation) -> Decision {
        let share = equal_share(observation);
        weigh(observation, |symbol| if change(symbol, REVERSION_BARS + 1) < 0.0 { share } else { 0.0 })
    }
}

/// Returns the change of the price over the last `n` closes, or over all of them.
fn change(symbol: &SymbolHistory, n: usize) -> f64 {
    let closes = &symbol.close_history;
    let closes = &closes[closes.len().saturating_sub(n)..];
    match (closes.first(), closes.last()) {
        (Some(first), Some(last)) => last - first,
        _ => 0.0,
    }
}
