use serde::de::Error;
use serde_json::error::Category;

/// A refused decision; the account has not moved.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
#[error("{message}")]
pub struct DecisionError {
    slug: &'static str,
    message: String,
}

impl DecisionError {
    /// Returns the error of a confidence outside [0, 1] that did not come from a text.
    #[must_use]
    pub fn confidence(value: f64) -> Self {
        let message = format!("`confidence` must be in [0, 1]; received {value}");
        Self { slug: "confidence_out_of_range", message }
    }

    /// Returns the error of an order price that did not come from a text.
    ///
    /// `field` is the name of the price: `limit_price`, `stop_price`, `stop_loss` or `take_profit`.
    #[must_use]
    pub fn order_price(field: &str, value: f64) -> Self {
        let message = format!("`{field}` must be between 1e-15 and 1e15; received {value:?}");
        Self { slug: "order_price_invalid", message }
    }

    /// Returns the error of fields of one order that exclude each other.
    pub(crate) fn conflict(required: &str, received: &str) -> Self {
        Self { slug: "conflicting_fields", message: format!("{required}; received {received}") }
    }

    /// Returns the error of a fill time that did not come from a text.
    #[must_use]
    pub fn fill_time(value: &str) -> Self {
        let message = format!("`at` must be one of `open`, `close`; received {value:?}");
        Self { slug: "unknown_time", message }
    }

    /// Returns this error as one of the parser, which keeps the slug.
    pub(crate) fn in_text<E: Error>(&self) -> E {
        E::custom(format_args!("{}: {}", self.slug, self.message))
    }

    /// Returns the stable name of this error in `contract/errors.json`.
    #[must_use]
    pub fn slug(&self) -> &'static str {
        self.slug
    }
}

/// Faults that the decision parser itself names.
///
/// The type faults of serde have no such name.
pub(crate) const NAMED: [&str; 8] = [
    "missing_field",
    "unknown_field",
    "duplicate_field",
    "unknown_action",
    "confidence_out_of_range",
    "order_price_invalid",
    "unknown_time",
    "conflicting_fields",
];

impl From<serde_json::Error> for DecisionError {
    fn from(error: serde_json::Error) -> Self {
        let message = error.to_string();
        if error.classify() != Category::Data {
            let message = format!("a decision must be one JSON object; received text that is not JSON: {message}");
            return Self { slug: "bad_json", message };
        }
        match message.split_once(": ").and_then(|(name, rest)| Some((NAMED.iter().find(|slug| **slug == name)?, rest)))
        {
            Some((slug, rest)) => Self { slug, message: rest.to_owned() },
            None => Self { slug: "wrong_type", message: contract_message(&message) },
        }
    }
}

/// The start of the message of serde for a wrong type, after any field name.
pub(crate) const WRONG_TYPE: &str = "invalid type: ";

/// Returns the message of serde for a wrong type in the words of the contract.
///
/// `invalid type: map, expected f64 at line ...` becomes `expected a number; received an object at line ...`.
fn contract_message(message: &str) -> String {
    let parts = || {
        let (field, rest) = message.split_once(WRONG_TYPE)?;
        let (received, rest) = rest.rsplit_once(", expected ")?;
        let (expected, position) = rest.rsplit_once(" at line ")?;
        let place = field.strip_suffix(": ").map(|field| format!(" in {field}")).unwrap_or_default();
        Some(format!(
            "expected {}{place}; received {} at line {position}",
            expected_words(expected),
            received_words(received)
        ))
    };
    parts().unwrap_or_else(|| message.to_owned())
}

/// Returns the JSON word for a Rust type.
fn expected_words(expected: &str) -> &str {
    match expected {
        "f64" => "a number",
        "a sequence" => "a list",
        "a string" => "a text",
        other => other,
    }
}

/// Returns the JSON words for a value of the data model of serde.
fn received_words(received: &str) -> String {
    match received {
        "map" => return "an object".to_owned(),
        "sequence" => return "a list".to_owned(),
        _ => {}
    }
    if let Some(text) = received.strip_prefix("string ") {
        return format!("the text {text}");
    }
    let bare = ["integer `", "floating point `", "boolean `"].iter().find_map(|kind| received.strip_prefix(kind));
    bare.and_then(|value| value.strip_suffix('`')).unwrap_or(received).to_owned()
}
