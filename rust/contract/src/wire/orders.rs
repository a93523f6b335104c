use openoutcry_engine::{AsOf, DayOrder, RefusalReason};

use crate::wire::action::Action;
use crate::wire::canonical_json;
use crate::wire::decision::{Decision, Order};
use crate::wire::decision_error::DecisionError;
use crate::wire::order_conditions::{FillTime, OrderConditions};

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

/// Writes a decision into dense `orders` and `conditions`.
///
/// Returns the refused orders.
///
/// `orders` has one weight per symbol; NaN is a hold. `conditions` has the orders with conditions, sorted by symbol.
///
/// A symbol that has not closed yet is refused like an unknown name, whatever the order. Any difference would reveal
/// future listings.
///
/// # Panics
///
/// Panics if `orders` does not have one element per symbol.
pub fn to_orders(
    decision: &Decision,
    as_of: AsOf<'_>,
    orders: &mut [f64],
    conditions: &mut Vec<DayOrder>,
) -> Vec<Refusal> {
    assert_eq!(orders.len(), as_of.n_symbols(), "one element per symbol");
    place_orders(decision, |name| as_of.index_of(name), orders, conditions)
}

/// Writes a decision as [`to_orders`] does, at the indices of `index_of`.
///
/// It returns the refused orders. Use [`to_orders`] for the names of an agent: it knows no later bar.
///
/// # Panics
///
/// Panics if `index_of` returns an index outside of `orders`.
pub fn place_orders(
    decision: &Decision,
    index_of: impl Fn(&str) -> Option<usize>,
    orders: &mut [f64],
    conditions: &mut Vec<DayOrder>,
) -> Vec<Refusal> {
    orders.fill(f64::NAN);
    conditions.clear();
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
                };
                let stated = order.conditions.as_deref().map(|of| day_order(symbol, of));
                conditions.extend(stated.filter(DayOrder::is_conditional));
            }
        }
    }
    conditions.sort_by_key(|order| order.symbol);
    refusals
}

/// Returns the conditions of an order in the form of the engine.
fn day_order(symbol: usize, conditions: &OrderConditions) -> DayOrder {
    let price = |price: Option<f64>| price.unwrap_or(f64::NAN);
    DayOrder {
        symbol,
        limit: price(conditions.limit_price),
        stop: price(conditions.stop_price),
        stop_loss: price(conditions.stop_loss),
        take_profit: price(conditions.take_profit),
        at_close: conditions.at == FillTime::Close,
    }
}

/// Returns the conditions of an order in the form of the wire.
fn wire_conditions(order: &DayOrder) -> OrderConditions {
    let price = |price: f64| (!price.is_nan()).then_some(price);
    OrderConditions {
        limit_price: price(order.limit),
        stop_price: price(order.stop),
        stop_loss: price(order.stop_loss),
        take_profit: price(order.take_profit),
        at: if order.at_close { FillTime::Close } else { FillTime::Open },
    }
}

/// Checks the conditions of an order that did not come from a text.
///
/// The weight of a hold is NaN.
///
/// # Errors
///
/// Returns the first invalid price, else the first conflict.
pub fn check_day_order(order: &DayOrder, weight: f64) -> Result<(), DecisionError> {
    let action = if weight.is_nan() { Action::Hold } else { Action::Buy };
    wire_conditions(order).validate(action, weight)
}

/// Appends a row of orders as the canonical JSON of a decision.
///
/// It has one order per weight that is not NaN or has conditions, named by `symbols`. A weight of 0 or a hold for a
/// symbol that has not closed yet has no order.
///
/// # Panics
///
/// Panics if a weight is infinite.
pub fn write_orders(
    text: &mut String,
    symbols: &[String],
    (weights, conditions): (&[f64], &[DayOrder]),
    as_of: AsOf<'_>,
) {
    text.push_str("{\"orders\":");
    let mut conditions = conditions.iter().peekable();
    let orders = symbols.iter().zip(weights).enumerate().filter_map(|(i, (symbol, weight))| {
        let conditions = conditions.next_if(|order| order.symbol == i);
        let is_order = !weight.is_nan() || conditions.is_some();
        let does_nothing = (*weight == 0.0 || weight.is_nan()) && !as_of.has_closed(i);
        (is_order && !does_nothing).then_some((symbol, *weight, conditions))
    });
    canonical_json::push_array(text, orders, |text, (symbol, weight, conditions)| {
        let Some(conditions) = conditions else { return push_plain(text, symbol, weight) };
        let mut order = Order::new(symbol, if weight.is_nan() { 0.0 } else { weight });
        if weight.is_nan() {
            order.action = Action::Hold;
        }
        order.conditions = Some(Box::new(wire_conditions(conditions)));
        order.push_json(text);
    });
    text.push('}');
}

/// Appends an order without conditions.
fn push_plain(text: &mut String, symbol: &str, weight: f64) {
    let action = if weight < 0.0 { Action::Sell } else { Action::Buy };
    text.push_str("{\"action\":");
    canonical_json::push_string(text, action.name());
    canonical_json::push_key(text, "symbol");
    canonical_json::push_string(text, symbol);
    canonical_json::push_key(text, "target_weight");
    canonical_json::push_number(text, weight);
    text.push('}');
}
