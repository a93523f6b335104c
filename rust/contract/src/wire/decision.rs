use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};

use crate::wire::action::Action;
use crate::wire::canonical_json;
use crate::wire::decision_error::DecisionError;
use crate::wire::fields::{Name, read, required, unknown};
use crate::wire::order_conditions::{ConditionFields, FillTime, OrderConditions};

/// The decision of an agent: target weights from the next bar on.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Decision {
    /// One order per symbol to change; other symbols are held.
    pub orders: Vec<Order>,
    /// The reason, for people and records; the engine ignores it.
    pub reasoning: String,
}

/// The target weight of one symbol.
#[derive(Clone, Debug, PartialEq)]
pub struct Order {
    /// Name of the symbol.
    pub symbol: String,
    /// The action; `Buy` and `Sell` are labels of the weight.
    pub action: Action,
    /// Signed fraction of NAV.
    pub target_weight: f64,
    /// Stated probability of being right, in [0, 1].
    ///
    /// Absent if not stated, which reads as 0.5.
    pub confidence: Option<f64>,
    /// The reason, for people and records.
    pub rationale: String,
    /// Prices and time of a day order; `None` without a field of contract 1.1.
    pub conditions: Option<Box<OrderConditions>>,
}

impl Order {
    /// Returns an order for a weight, labelled by its sign.
    #[must_use]
    pub fn new(symbol: &str, target_weight: f64) -> Self {
        let action = if target_weight < 0.0 { Action::Sell } else { Action::Buy };
        Self {
            symbol: symbol.to_owned(),
            action,
            target_weight,
            confidence: None,
            rationale: String::new(),
            conditions: None,
        }
    }

    /// Returns the stated probability of being right, 0.5 if not stated.
    #[must_use]
    pub fn confidence_or_default(&self) -> f64 {
        self.confidence.unwrap_or(0.5)
    }

    pub(crate) fn push_json(&self, text: &mut String) {
        let plain = OrderConditions::default();
        let conditions = self.conditions.as_deref().unwrap_or(&plain);
        text.push('{');
        canonical_json::push_key(text, "action");
        canonical_json::push_string(text, self.action.name());
        if conditions.at == FillTime::Close {
            canonical_json::push_key(text, "at");
            canonical_json::push_string(text, conditions.at.name());
        }
        push_optional(text, "confidence", self.confidence);
        push_optional(text, "limit_price", conditions.limit_price);
        if !self.rationale.is_empty() {
            canonical_json::push_key(text, "rationale");
            canonical_json::push_string(text, &self.rationale);
        }
        push_optional(text, "stop_loss", conditions.stop_loss);
        push_optional(text, "stop_price", conditions.stop_price);
        canonical_json::push_key(text, "symbol");
        canonical_json::push_string(text, &self.symbol);
        push_optional(text, "take_profit", conditions.take_profit);
        canonical_json::push_key(text, "target_weight");
        canonical_json::push_number(text, self.target_weight);
        text.push('}');
    }
}

fn push_optional(text: &mut String, name: &str, value: Option<f64>) {
    if let Some(value) = value {
        canonical_json::push_key(text, name);
        canonical_json::push_number(text, value);
    }
}

impl Decision {
    /// Returns a decision with no orders, which holds everything.
    #[must_use]
    pub fn hold() -> Self {
        Self::default()
    }

    /// Returns whether an order has a field of contract 1.1.
    #[must_use]
    pub fn has_day_orders(&self) -> bool {
        self.orders.iter().any(|order| order.conditions.is_some())
    }

    /// Returns the decision in a JSON text.
    ///
    /// # Errors
    ///
    /// Returns the slug and position of the first fault: bad JSON, a missing, unknown or repeated field, a wrong type,
    /// an unknown action or time, a confidence outside [0, 1], an invalid price, or fields that exclude each other.
    pub fn from_json(text: &str) -> Result<Self, DecisionError> {
        Ok(serde_json::from_str(text)?)
    }

    /// Returns the canonical JSON of this decision.
    ///
    /// Optional fields with default values are left out.
    ///
    /// # Panics
    ///
    /// Panics if a weight, confidence or price is not finite.
    #[must_use]
    pub fn to_json(&self) -> String {
        let mut text = String::from("{");
        canonical_json::push_key(&mut text, "orders");
        canonical_json::push_array(&mut text, &self.orders, |text, order| {
            order.push_json(text);
        });
        if !self.reasoning.is_empty() {
            canonical_json::push_key(&mut text, "reasoning");
            canonical_json::push_string(&mut text, &self.reasoning);
        }
        text.push('}');
        text
    }
}

// The derive of serde would also read a struct from an array, with fields by position.
impl<'de> Deserialize<'de> for Decision {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Fields;
        impl<'de> Visitor<'de> for Fields {
            type Value = Decision;

            fn expecting(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
                formatter.write_str("a decision object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Decision, A::Error> {
                let (mut orders, mut reasoning) = (None, None);
                while let Some(name) = map.next_key::<Name>()? {
                    match name.0.as_ref() {
                        "orders" => read(&mut map, "orders", &mut orders)?,
                        "reasoning" => read(&mut map, "reasoning", &mut reasoning)?,
                        name => return Err(unknown(name, "`orders`, `reasoning`")),
                    }
                }
                Ok(Decision { orders: required("orders", orders)?, reasoning: reasoning.unwrap_or_default() })
            }
        }
        deserializer.deserialize_map(Fields)
    }
}

const ORDER_FIELDS: &str = "`symbol`, `action`, `target_weight`, `confidence`, `rationale`, `limit_price`, `stop_price`, \
                            `at`, `stop_loss`, `take_profit`";

impl<'de> Deserialize<'de> for Order {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Fields;
        impl<'de> Visitor<'de> for Fields {
            type Value = Order;

            fn expecting(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
                formatter.write_str("an order object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Order, A::Error> {
                let (mut symbol, mut action, mut target_weight) = (None, None, None);
                let (mut confidence, mut rationale) = (None, None);
                let mut conditions = ConditionFields::default();
                while let Some(name) = map.next_key::<Name>()? {
                    match name.0.as_ref() {
                        "symbol" => read(&mut map, "symbol", &mut symbol)?,
                        "action" => read(&mut map, "action", &mut action)?,
                        "target_weight" => read(&mut map, "target_weight", &mut target_weight)?,
                        "confidence" => read(&mut map, "confidence", &mut confidence)?,
                        "rationale" => read(&mut map, "rationale", &mut rationale)?,
                        name if conditions.read(&mut map, name)? => {}
                        name => return Err(unknown(name, ORDER_FIELDS)),
                    }
                    if let Some(value) = confidence.filter(|value| !(0.0..=1.0).contains(value)) {
                        let fault = "confidence_out_of_range: `confidence` must be in [0, 1]; received";
                        return Err(A::Error::custom(format_args!("{fault} {value}")));
                    }
                }
                let symbol = required("symbol", symbol)?;
                let action = required("action", action)?;
                let target_weight = required("target_weight", target_weight)?;
                let conditions = conditions.finish(action, target_weight)?;
                let rationale = rationale.unwrap_or_default();
                Ok(Order { symbol, action, target_weight, confidence, rationale, conditions })
            }
        }
        deserializer.deserialize_map(Fields)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_decision_without_optional_fields_parses_and_prints_back() {
        let text = r#"{"orders":[{"action":"buy","symbol":"A","target_weight":0.5}]}"#;
        let decision = Decision::from_json(text).unwrap();
        assert_eq!(decision.orders[0].confidence_or_default(), 0.5);
        assert_eq!(decision.to_json(), text);
    }

    #[test]
    fn a_fault_is_told_with_its_position() {
        let error = Decision::from_json("{\"orders\":[],\n\"orders\":[]}").unwrap_err();
        assert_eq!(error.slug(), "duplicate_field");
        assert_eq!(error.to_string(), "`orders` must be given once; received it twice at line 2 column 8");
    }

    #[test]
    fn a_wrong_type_is_told_in_words_of_json_with_its_field() {
        let message = |text: &str| {
            let error = Decision::from_json(text).unwrap_err();
            assert_eq!(error.slug(), "wrong_type");
            error.to_string()
        };
        let order = |weight: &str| {
            message(&format!(r#"{{"orders":[{{"target_weight":{weight},"symbol":"A","action":"buy"}}]}}"#))
        };
        assert_eq!(order("{}"), "expected a number in `target_weight`; received an object at line 1 column 28");
        assert_eq!(order("[]"), "expected a number in `target_weight`; received a list at line 1 column 28");
        assert!(order("true").starts_with("expected a number in `target_weight`; received true at line 1"));
        assert!(order("null").starts_with("expected a number in `target_weight`; received null at line 1"));
        let text = order(r#""a, expected b at line 9""#);
        assert!(
            text.starts_with("expected a number in `target_weight`; received the text \"a, expected b at line 9\" at")
        );
        assert!(message(r#"{"orders":null}"#).starts_with("expected a list in `orders`; received null at line 1"));
        assert!(message(r#"{"orders":[3]}"#).starts_with("expected an order object in `orders`; received 3 at"));
        assert!(
            message(r#"{"orders":[],"reasoning":1.5}"#).starts_with("expected a text in `reasoning`; received 1.5")
        );
        assert!(message("[]").starts_with("expected a decision object; received a list at line 1"));
    }

    #[test]
    fn a_field_with_a_line_end_stays_on_its_line() {
        let error = Decision::from_json("{\"a\\nb\":1}").unwrap_err();
        assert!(error.to_string().contains("received `a\\nb` at line 1"), "{error}");
    }

    #[test]
    fn a_message_that_quotes_the_input_cannot_pose_as_another_fault() {
        let error = Decision::from_json(r#"{"missing_field: x": 1}"#).unwrap_err();
        assert_eq!(error.slug(), "unknown_field");
        let error = Decision::from_json(r#"{"orders": "missing_field: x"}"#).unwrap_err();
        assert_eq!(error.slug(), "wrong_type");
    }
}
