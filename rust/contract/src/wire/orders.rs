use openoutcry_engine::{AsOf, RefusalReason};

use crate::wire::canonical_json;
use crate::wire::decision::{Action, Decision};

/// An order that was refused by its name before the engine saw it.
#[derive(Clone, Debug, PartialEq)]
pub struct Refusal {
    /// The name as the agent gave it.
    pub symbol: String,
    /// The weight asked for.
    pub weight: f64,
    /// Why.
    pub reason: RefusalReason,
}

/// Writes a decision into dense `orders` and returns the orders refused.
///
/// `orders` has one weight per symbol, NaN for a hold.
///
/// A symbol that has not closed yet is refused exactly as a name that does not exist, whatever the order says: any
/// difference would tell the agent about the future universe.
///
/// # Panics
///
/// Panics if `orders` has not one element per symbol.
pub fn to_orders(decision: &Decision, as_of: AsOf<'_>, orders: &mut [f64]) -> Vec<Refusal> {
    assert_eq!(orders.len(), as_of.n_symbols(), "one element per symbol");
    place_orders(decision, |name| as_of.index_of(name), orders)
}

/// Writes a decision into dense `orders`, each where `index_of` finds its name.
///
/// It returns the orders refused. An agent's names are looked up by [`to_orders`], which knows no later bar.
///
/// # Panics
///
/// Panics if `index_of` finds a name outside `orders`.
pub fn place_orders(decision: &Decision, index_of: impl Fn(&str) -> Option<usize>, orders: &mut [f64]) -> Vec<Refusal> {
    orders.fill(f64::NAN);
    let mut refusals = Vec::new();
    let places: Vec<Option<usize>> = decision.orders.iter().map(|order| index_of(&order.symbol)).collect();
    let mut named = vec![0_u32; orders.len()];
    for place in places.iter().flatten() {
        named[*place] += 1;
    }
    for (order, place) in decision.orders.iter().zip(places) {
        let mut refuse = |reason| {
            refusals.push(Refusal { symbol: order.symbol.clone(), weight: order.target_weight, reason });
        };
        match place {
            None => refuse(RefusalReason::UnknownSymbol),
            Some(symbol) if named[symbol] > 1 => refuse(RefusalReason::DuplicateOrder),
            Some(symbol) => {
                orders[symbol] = match order.action {
                    Action::Hold => f64::NAN,
                    Action::Close => 0.0,
                    Action::Buy | Action::Sell => order.target_weight,
                }
            }
        }
    }
    refusals
}

/// Appends the canonical JSON of the decision that a row of weights is.
///
/// It has one order for each weight that is not NaN, named by `symbols`; a weight of 0 for a symbol that has not closed
/// yet is nothing, and has none.
///
/// # Panics
///
/// Panics if a weight is infinite.
pub fn write_orders(text: &mut String, symbols: &[String], weights: &[f64], as_of: AsOf<'_>) {
    text.push_str("{\"orders\":");
    let orders = symbols.iter().zip(weights).enumerate();
    let orders = orders.filter(|(i, (_, weight))| !(weight.is_nan() || **weight == 0.0 && !as_of.has_closed(*i)));
    canonical_json::push_array(text, orders, |text, (_, (symbol, weight))| {
        let action = if *weight < 0.0 { Action::Sell } else { Action::Buy };
        text.push_str("{\"action\":");
        canonical_json::push_string(text, action.name());
        canonical_json::push_key(text, "symbol");
        canonical_json::push_string(text, symbol);
        canonical_json::push_key(text, "target_weight");
        canonical_json::push_number(text, *weight);
        text.push('}');
    });
    text.push('}');
}
