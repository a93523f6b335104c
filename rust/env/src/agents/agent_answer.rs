//! What a harness hands on of an agent: its text, and what was wrong with it.

use openoutcry_contract::record::Fault;
use openoutcry_contract::{Decision, DecisionError};

/// An answer of an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    pub(crate) text: String,
    reading: Reading,
}

/// What becomes of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Reading {
    /// It must be a decision.
    Strict,
    /// It is a hold where it is no decision.
    Lenient,
    /// It is a hold, whatever it says.
    Held(Fault),
}

impl Answer {
    /// Returns an answer that ends the run where it is no decision.
    #[must_use]
    pub fn strict(text: String) -> Self {
        Self { text, reading: Reading::Strict }
    }

    /// Returns an answer that holds everything where it is no decision.
    ///
    /// It is then recorded as `malformed`.
    #[must_use]
    pub fn lenient(text: String) -> Self {
        Self { text, reading: Reading::Lenient }
    }

    /// Returns an answer that holds everything, whatever it says.
    ///
    /// None for a decision that is said to be `malformed`: a replay would find that it is not.
    #[must_use]
    pub fn held(text: String, fault: Fault) -> Option<Self> {
        let is_false = fault.slug() == Fault::MALFORMED && Decision::from_json(&text).is_ok();
        (!is_false).then_some(Self { text, reading: Reading::Held(fault) })
    }

    /// Returns what the answer decides, and its fault.
    ///
    /// # Errors
    ///
    /// Returns why a strict answer is no decision.
    pub(crate) fn read(&self) -> Result<(Decision, Option<Fault>), DecisionError> {
        match (&self.reading, Decision::from_json(&self.text)) {
            (Reading::Held(fault), _) => Ok((Decision::hold(), Some(fault.clone()))),
            (_, Ok(decision)) => Ok((decision, None)),
            (Reading::Lenient, Err(_)) => Ok((Decision::hold(), Some(Fault::malformed()))),
            (Reading::Strict, Err(error)) => Err(error),
        }
    }
}
