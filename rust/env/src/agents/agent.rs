use openoutcry_contract::{Decision, MarketObservation, Order, SymbolHistory};

/// An agent: a function of the observation that returns a decision.
pub trait Agent {
    /// Returns the target weights from the next bar on.
    fn decide(&mut self, observation: &MarketObservation) -> Decision;

    /// Returns whether all later decisions are holds, whatever the observations.
    ///
    /// A backtest then makes no further observation.
    fn only_holds(&self) -> bool {
        false
    }
}

impl<F: FnMut(&MarketObservation) -> Decision> Agent for F {
    fn decide(&mut self, observation: &MarketObservation) -> Decision {
        self(observation)
    }
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
