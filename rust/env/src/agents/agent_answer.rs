//! The answer of an agent to the harness: a text, and how a fault in it is handled.

use openoutcry_contract::record::Fault;
use openoutcry_contract::{Decision, DecisionError};

/// An answer of an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentAnswer {
    pub(crate) text: String,
    reading: Reading,
}

/// The handling of a text that is not a decision.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Reading {
    /// The text must be a decision.
    Strict,
    /// A text that is not a decision is a hold.
    Lenient,
    /// The answer is a hold with this fault, whatever the text.
    Held(Fault),
}

impl AgentAnswer {
    /// Returns an answer that ends the run if it is not a decision.
    #[must_use]
    pub fn strict(text: String) -> Self {
        Self { text, reading: Reading::Strict }
    }

    /// Returns an answer that is a hold if it is not a decision.
    ///
    /// The record then has the fault `malformed`.
    #[must_use]
    pub fn lenient(text: String) -> Self {
        Self { text, reading: Reading::Lenient }
    }

    /// Returns an answer that is a hold, whatever the text.
    ///
    /// `None` for a valid decision with the fault `malformed`: a replay would contradict it.
    #[must_use]
    pub fn held(text: String, fault: Fault) -> Option<Self> {
        let is_false = fault.slug() == Fault::MALFORMED && Decision::from_json(&text).is_ok();
        (!is_false).then_some(Self { text, reading: Reading::Held(fault) })
    }

    /// Returns the decision of the answer, and its fault.
    ///
    /// # Errors
    ///
    /// Returns an error if a strict answer is not a decision.
    pub(crate) fn read(&self) -> Result<(Decision, Option<Fault>), DecisionError> {
        match (&self.reading, Decision::from_json(&self.text)) {
            (Reading::Held(fault), _) => Ok((Decision::hold(), Some(fault.clone()))),
            (_, Ok(decision)) => Ok((decision, None)),
            (Reading::Lenient, Err(_)) => Ok((Decision::hold(), Some(Fault::malformed()))),
            (Reading::Strict, Err(error)) => Err(error),
        }
    }
}
