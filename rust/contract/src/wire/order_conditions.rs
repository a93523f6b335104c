use serde::de::{Deserialize, Deserializer, MapAccess};

use crate::wire::action::Action;
use crate::wire::decision_error::DecisionError;
use crate::wire::fields::{Name, read};

/// Prices and time of a day order; all of them end with bar `t+1`.
///
/// Prices are on the share basis of close `t`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct OrderConditions {
    /// Highest price of a purchase, lowest price of a sale.
    pub limit_price: Option<f64>,
    /// Price that makes the order active.
    pub stop_price: Option<f64>,
    /// Exit of the position at a loss.
    pub stop_loss: Option<f64>,
    /// Exit of the position at a profit.
    pub take_profit: Option<f64>,
    /// Time of the fill.
    pub at: FillTime,
}

/// The time of a fill in bar `t+1`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FillTime {
    /// From the open on.
    #[default]
    Open,
    /// At the close.
    Close,
}

impl FillTime {
    /// All times with their names on the wire.
    pub const NAMES: [(&'static str, Self); 2] = [("open", Self::Open), ("close", Self::Close)];

    /// Returns the name on the wire.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Close => "close",
        }
    }
}

impl OrderConditions {
    /// Returns whether this order is a plain one: no price, filled at the open.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Checks the prices, and that no field excludes another or the action.
    ///
    /// A weight of 0 closes the position, whatever the label.
    ///
    /// # Errors
    ///
    /// Returns the first invalid price, else the first conflict.
    pub fn validate(&self, action: Action, target_weight: f64) -> Result<(), DecisionError> {
        for (name, price) in [
            ("limit_price", self.limit_price),
            ("stop_price", self.stop_price),
            ("stop_loss", self.stop_loss),
            ("take_profit", self.take_profit),
        ] {
            check_price(name, price)?;
        }
        self.check_conflicts(action, target_weight, self.at == FillTime::Close)
    }

    /// Checks the fields against each other and the action.
    ///
    /// `at_given` states whether the text has an `at`.
    fn check_conflicts(&self, action: Action, target_weight: f64, at_given: bool) -> Result<(), DecisionError> {
        let stop = self.stop_price.map(|_| "stop_price");
        if action == Action::Hold {
            let limit = self.limit_price.map(|_| "limit_price");
            if let Some(field) = limit.or(stop).or(at_given.then_some("at")) {
                let required = "`hold` must have no `limit_price`, `stop_price` or `at`";
                return Err(DecisionError::conflict(required, &format!("`{field}`")));
            }
            return Ok(());
        }
        let at_close = self.at == FillTime::Close;
        if at_close && stop.is_some() {
            let required = "an order `at` the close must have no `stop_price`";
            return Err(DecisionError::conflict(required, "`stop_price`"));
        }
        let stop_loss = self.stop_loss.map(|_| "stop_loss");
        let Some(exit) = stop_loss.or(self.take_profit.map(|_| "take_profit")) else { return Ok(()) };
        let closes = action == Action::Close || target_weight == 0.0;
        let order = match (closes, at_close) {
            (true, _) => "an order that closes the position",
            (false, true) => "an order `at` the close",
            (false, false) => return Ok(()),
        };
        let required = format!("{order} must have no `stop_loss` or `take_profit`");
        Err(DecisionError::conflict(&required, &format!("`{exit}`")))
    }
}

/// Checks an order price: the range of prices of a dataset.
fn check_price(field: &str, price: Option<f64>) -> Result<(), DecisionError> {
    match price {
        Some(price) if !(1e-15..=1e15).contains(&price) => Err(DecisionError::order_price(field, price)),
        _ => Ok(()),
    }
}

/// The condition fields of an order object while it is read.
#[derive(Default)]
pub(crate) struct ConditionFields {
    conditions: OrderConditions,
    at: Option<FillTime>,
}

impl ConditionFields {
    /// Reads the value of a field of conditions.
    ///
    /// Returns whether `name` is one.
    pub(crate) fn read<'de, A: MapAccess<'de>>(&mut self, map: &mut A, name: &str) -> Result<bool, A::Error> {
        let OrderConditions { limit_price, stop_price, stop_loss, take_profit, .. } = &mut self.conditions;
        let slot = match name {
            "limit_price" => limit_price,
            "stop_price" => stop_price,
            "stop_loss" => stop_loss,
            "take_profit" => take_profit,
            "at" => return read(map, "at", &mut self.at).map(|()| true),
            _ => return Ok(false),
        };
        read(map, name, slot)?;
        check_price(name, *slot).map_err(|error| error.in_text())?;
        Ok(true)
    }

    /// Returns the conditions at the closing brace.
    ///
    /// `None` without a field of conditions.
    pub(crate) fn finish<E: serde::de::Error>(
        mut self,
        action: Action,
        target_weight: f64,
    ) -> Result<Option<Box<OrderConditions>>, E> {
        let is_given = self.at.is_some() || !self.conditions.is_empty();
        self.conditions.at = self.at.unwrap_or_default();
        let checked = self.conditions.check_conflicts(action, target_weight, self.at.is_some());
        checked.map_err(|error| error.in_text())?;
        Ok(is_given.then(|| Box::new(self.conditions)))
    }
}

impl<'de> Deserialize<'de> for FillTime {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Name(name) = Name::deserialize(deserializer)?;
        let known = Self::NAMES.iter().find(|(known, _)| *known == name);
        known.map(|(_, at)| *at).ok_or_else(|| DecisionError::fill_time(&name).in_text())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::decision::{Decision, Order};

    fn parsed(fields: &str) -> Result<Order, DecisionError> {
        let text = format!(r#"{{"orders":[{{"symbol":"A",{fields}}}]}}"#);
        Decision::from_json(&text).map(|decision| decision.orders.into_iter().next().unwrap())
    }

    fn slug(fields: &str) -> &'static str {
        parsed(fields).unwrap_err().slug()
    }

    const BUY: &str = r#""action":"buy","target_weight":0.5"#;

    #[test]
    fn every_field_of_a_bracket_is_read_and_printed_in_canonical_order() {
        let text = concat!(
            r#"{"orders":[{"action":"buy","confidence":0.7,"limit_price":99.5,"rationale":"r","stop_loss":90,"#,
            r#""stop_price":101,"symbol":"A","take_profit":120,"target_weight":0.5}]}"#
        );
        let decision = Decision::from_json(text).unwrap();
        let conditions = decision.orders[0].conditions.as_deref().unwrap();
        let expected = OrderConditions {
            limit_price: Some(99.5),
            stop_price: Some(101.0),
            stop_loss: Some(90.0),
            take_profit: Some(120.0),
            at: FillTime::Open,
        };
        assert_eq!(*conditions, expected);
        assert_eq!(decision.to_json(), text);
    }

    #[test]
    fn an_order_at_the_close_prints_its_time_and_one_at_the_open_is_plain() {
        let text = r#"{"orders":[{"action":"close","at":"close","limit_price":7,"symbol":"A","target_weight":0}]}"#;
        assert_eq!(Decision::from_json(text).unwrap().to_json(), text);
        let order = parsed(&format!(r#"{BUY},"at":"open""#)).unwrap();
        assert!(order.conditions.as_deref().unwrap().is_empty());
        assert_eq!(
            Decision { orders: vec![order], ..Decision::hold() }.to_json(),
            format!(r#"{{"orders":[{{{}}}]}}"#, r#""action":"buy","symbol":"A","target_weight":0.5"#)
        );
    }

    #[test]
    fn a_price_outside_the_prices_of_a_dataset_is_refused_by_field() {
        for field in ["limit_price", "stop_price", "stop_loss", "take_profit"] {
            for bound in ["1e-15", "1e15"] {
                parsed(&format!(r#"{BUY},"{field}":{bound}"#)).unwrap();
            }
            for price in ["0", "-0.0", "-1", "9.99e-16", "1.0000000000000001e15", "5e-324", "1e308"] {
                assert_eq!(slug(&format!(r#"{BUY},"{field}":{price}"#)), "order_price_invalid", "{field} {price}");
            }
        }
        let error = parsed(&format!(r#"{BUY},"stop_loss":1e300"#)).unwrap_err().to_string();
        assert_eq!(error, "`stop_loss` must be between 1e-15 and 1e15; received 1e300 at line 1 column 78");
    }

    #[test]
    fn a_fault_at_its_place_comes_before_one_at_the_closing_brace() {
        assert_eq!(slug(r#""action":"hold","limit_price":1,"at":"noon""#), "unknown_time");
        assert_eq!(slug(r#""action":"hold","limit_price":1"#), "missing_field");
        assert_eq!(slug(r#""action":"hold","limit_price":1,"limit_price":1"#), "duplicate_field");
        assert_eq!(slug(r#""action":"hold","limit_price":1,"target_weight":0,"limit":1"#), "unknown_field");
    }

    #[test]
    fn a_condition_of_another_type_is_a_wrong_type() {
        for field in [r#""limit_price":null"#, r#""stop_loss":"90""#, r#""at":null"#, r#""at":1"#, r#""at":["open"]"#] {
            assert_eq!(slug(&format!("{BUY},{field}")), "wrong_type", "{field}");
        }
        let error = parsed(&format!(r#"{BUY},"at":true"#)).unwrap_err().to_string();
        assert!(error.starts_with("expected a text in `at`; received true at line 1"), "{error}");
    }

    #[test]
    fn fields_that_exclude_each_other_are_refused() {
        let conflicts = [
            r#""action":"buy","target_weight":0.5,"stop_price":1,"at":"close""#,
            r#""action":"buy","target_weight":0.5,"stop_loss":1,"at":"close""#,
            r#""at":"close","take_profit":1,"action":"sell","target_weight":-0.5"#,
            r#""action":"close","target_weight":0.5,"stop_loss":1"#,
            r#""action":"buy","target_weight":0,"take_profit":1"#,
            r#""action":"sell","target_weight":-0.0,"take_profit":1"#,
            r#""action":"hold","target_weight":0,"limit_price":1"#,
            r#""action":"hold","target_weight":0,"stop_price":1"#,
            r#""action":"hold","target_weight":0,"at":"open""#,
            r#""action":"hold","target_weight":0,"at":"close","stop_loss":1"#,
        ];
        for fields in conflicts {
            assert_eq!(slug(fields), "conflicting_fields", "{fields}");
        }
    }

    #[test]
    fn a_hold_takes_exits_and_a_close_takes_prices_and_a_time() {
        for fields in [
            r#""action":"hold","target_weight":0,"stop_loss":1,"take_profit":2"#,
            r#""action":"close","target_weight":0,"limit_price":1,"stop_price":2"#,
            r#""action":"close","target_weight":0,"limit_price":1,"at":"close""#,
            r#""action":"sell","target_weight":0,"at":"open","stop_price":2"#,
        ] {
            assert!(parsed(fields).unwrap().conditions.is_some(), "{fields}");
        }
    }

    #[test]
    fn conditions_that_came_from_no_text_have_the_slugs_of_a_text() {
        let conditions = OrderConditions { stop_loss: Some(f64::INFINITY), ..OrderConditions::default() };
        let error = conditions.validate(Action::Buy, 0.5).unwrap_err();
        assert_eq!(error.slug(), "order_price_invalid");
        assert_eq!(error.to_string(), "`stop_loss` must be between 1e-15 and 1e15; received inf");
        let conditions = OrderConditions { stop_loss: Some(90.0), ..OrderConditions::default() };
        let error = conditions.validate(Action::Buy, 0.0).unwrap_err();
        let required = "an order that closes the position must have no `stop_loss` or `take_profit`";
        assert_eq!(error.to_string(), format!("{required}; received `stop_loss`"));
        assert_eq!(conditions.validate(Action::Hold, 0.0), Ok(()));
    }
}
