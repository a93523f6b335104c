use openoutcry_contract::{Decision, MarketObservation, Order, SymbolHistory};

use crate::agents::allocation::{BuyAndHold, EqualWeight, HoldCash, InverseVolatility};
use crate::agents::random_weights::RandomWeights;
use crate::agents::trend::{MeanReversion, Momentum};

/// An agent: a function of the observation that returns a decision.
pub trait Agent {
    /// Returns the target weights from the next bar on.
    fn decide(&mut self, observation: &MarketObservation) -> Decision;
}

impl<F: FnMut(&MarketObservation) -> Decision> Agent for F {
    fn decide(&mut self, observation: &MarketObservation) -> Decision {
        self(observation)
    }
}

/// The names of the baselines, in display order.
pub const BASELINES: [&str; 7] =
    ["hold-cash", "buy-and-hold", "equal-weight", "momentum", "mean-reversion", "inverse-volatility", "random"];

/// Returns a baseline by its name in [`BASELINES`].
///
/// Only `random` uses `seed`.
#[must_use]
pub fn baseline(name: &str, seed: u64) -> Option<Box<dyn Agent + Send + Sync>> {
    Some(match name {
        "hold-cash" => Box::new(HoldCash),
        "buy-and-hold" => Box::new(BuyAndHold::default()),
        "equal-weight" => Box::new(EqualWeight),
        "momentum" => Box::new(Momentum),
        "mean-reversion" => Box::new(MeanReversion),
        "inverse-volatility" => Box::new(InverseVolatility),
        "random" => Box::new(RandomWeights::new(seed)),
        _ => return None,
    })
}

/// Returns the decision with weight `weight(symbol)` for each symbol.
pub(crate) fn weigh(observation: &MarketObservation, mut weight: impl FnMut(&SymbolHistory) -> f64) -> Decision {
    let orders = observation.symbols.iter().map(|symbol| Order::new(&symbol.symbol, weight(symbol)));
    Decision { orders: orders.collect(), reasoning: String::new() }
}

/// Returns one over the number of listed symbols.
pub(crate) fn equal_share(observation: &MarketObservation) -> f64 {
    1.0 / observation.symbols.len().max(1) as f64
}
