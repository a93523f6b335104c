use openoutcry_engine::{AsOf, RefusalReason};

use crate::wire::action::Action;
use crate::wire::canonical_json;
use crate::wire::decision::Decision;

/// An order with an unknown name, refused before the engine.
#[derive(Clone, Debug, PartialEq)]
pub struct Refusal {
    /// The name in the decision.
    pub symbol: String,
    /// The weight in the decision.
    pub weight: f64,
    /// The reason.
    pub reason: RefusalReason,
}

/// Writes a decision into dense `orders` and returns the refused orders.
///
/// `orders` has one weight per symbol; NaN is a hold.
///
/// A symbol that has not closed yet is refused like an unknown name, whatever the order. Any difference would reveal
/// future listings.
///
/// # Panics
///
/// Panics if `orders` does not have one element per symbol.
pub fn to_orders(decision: &Decision, as_of: AsOf<'_>, orders: &mut [f64]) -> Vec<Refusal> {
    assert_eq!(orders.len(), as_of.n_symbols(), "one element per symbol");
    place_orders(decision, |name| as_of.index_of(name), orders)
}

/// Writes a decision into dense `orders`, at the indices of `index_of`.
///
/// It returns the refused orders. Use [`to_orders`] for the names of an agent: it knows no later bar.
///
/// # Panics
///
/// Panics if `index_of` returns an index outside of `orders`.
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

/// Appends a row of weights as the canonical JSON of a decision.
///
/// It has one order per weight that is not NaN, named by `symbols`. A weight of 0 for a symbol that has not closed yet
/// has no order.
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
