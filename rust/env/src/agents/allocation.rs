use openoutcry_contract::{Decision, MarketObservation, SymbolHistory};

use super::Agent;
use crate::agents::agent::{equal_share, weigh};

/// Holds cash only.
#[derive(Clone, Copy, Debug, Default)]
pub struct HoldCash;

impl Agent for HoldCash {
    fn decide(&mut self, _: &MarketObservation) -> Decision {
        Decision::hold()
    }

    fn only_holds(&self) -> bool {
        true
    }
}

/// Buys all listed symbols in equal parts on the first bar and never trades again.
#[derive(Clone, Copy, Debug, Default)]
pub struct BuyAndHold {
    bought: bool,
}

impl Agent for BuyAndHold {
    fn decide(&mut self, observation: &MarketObservation) -> Decision {
        if self.bought || observation.symbols.is_empty() {
            return Decision::hold();
        }
        self.bought = true;
        let share = equal_share(observation);
        weigh(observation, |_| share)
    }

    fn only_holds(&self) -> bool {
        self.bought
    }
}

/// Rebalances all listed symbols to equal parts on every bar.
#[derive(Clone, Copy, Debug, Default)]
pub struct EqualWeight;

impl Agent for EqualWeight {
    fn decide(&mut self, observation: &MarketObservation) -> Decision {
        let share = equal_share(observation);
        weigh(observation, |_| share)
    }
}

/// Weighs each symbol by one over the volatility of its close history.
#[derive(Clone, Copy, Debug, Default)]
pub struct InverseVolatility;

impl Agent for InverseVolatility {
    fn decide(&mut self, observation: &MarketObservation) -> Decision {
        let total: f64 = observation.symbols.iter().map(inverse_volatility).sum();
        weigh(observation, |symbol| if total > 0.0 { inverse_volatility(symbol) / total } else { 0.0 })
    }
}

/// Returns one over the standard deviation of the returns of the close history.
///
/// It is 0 for a constant price.
fn inverse_volatility(symbol: &SymbolHistory) -> f64 {
    let returns: Vec<f64> = symbol.close_history.windows(2).map(|pair| pair[1] / pair[0] - 1.0).collect();
    let n = returns.len() as f64;
    let mean = returns.iter().sum::<f64>() / n;
    let variance = returns.iter().map(|r| (r - mean) * (r - mean)).sum::<f64>() / (n - 1.0);
    if variance > 0.0 { 1.0 / variance.sqrt() } else { 0.0 }
}
