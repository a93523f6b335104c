use serde_json::error::Category;
use thiserror::Error;

/// A decision that was refused whole; nothing has moved.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{message}")]
pub struct DecisionError {
    slug: &'static str,
    message: String,
}

impl DecisionError {
    /// Returns the stable name of this error in `contract/errors.json`.
    #[must_use]
    pub fn slug(&self) -> &'static str {
        self.slug
    }
}

/// Faults that the parser of decisions names itself.
///
/// serde's own faults of type carry no such name.
pub(crate) const NAMED: [&str; 5] =
    ["missing_field", "unknown_field", "duplicate_field", "unknown_action", "confidence_out_of_range"];

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
            None => Self { slug: "wrong_type", message: turned(&message) },
        }
    }
}

/// Returns serde's words for a wrong type in the contract's.
///
/// `invalid type: X, expected Y at line ...` becomes `expected Y; received X at line ...`.
fn turned(message: &str) -> String {
    let parts = || {
        let (_, rest) = message.split_once(": ")?;
        let (received, rest) = rest.rsplit_once(", expected ")?;
        let (expected, position) = rest.rsplit_once(" at line ")?;
        Some(format!("expected {expected}; received {received} at line {position}"))
    };
    parts().unwrap_or_else(|| message.to_owned())
}
