use std::fmt;

use super::error::RecordError;

/// The fault of an answer that the harness replaced by a hold: a slug.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Fault(String);

/// The party that caused a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// The agent.
    Agent,
    /// The infrastructure between the harness and the agent.
    Infrastructure,
}

impl Fault {
    /// The answer is not a decision; a replay verifies it.
    pub const MALFORMED: &'static str = "malformed";

    /// The faults of `contract/errors.json`.
    pub const KNOWN: [(&'static str, FaultKind); 12] = [
        ("agent_died", FaultKind::Agent),
        ("agent_late", FaultKind::Agent),
        ("answer_too_early", FaultKind::Agent),
        ("answer_too_long", FaultKind::Agent),
        ("answer_not_text", FaultKind::Agent),
        ("answer_cut_short", FaultKind::Agent),
        ("answer_status", FaultKind::Agent),
        ("agent_given_up", FaultKind::Agent),
        ("agent_unreachable", FaultKind::Infrastructure),
        ("agent_unavailable", FaultKind::Infrastructure),
        ("agent_not_started", FaultKind::Infrastructure),
        ("agent_lost", FaultKind::Infrastructure),
    ];

    /// Returns the fault of a slug: words of lower-case letters joined by `_`.
    ///
    /// # Errors
    ///
    /// Returns an error for any other text.
    pub fn new(slug: &str) -> Result<Self, RecordError> {
        let is_slug =
            slug.split('_').all(|word| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_lowercase()));
        if is_slug {
            return Ok(Self(slug.to_owned()));
        }
        Err(RecordError::invalid(format!("`fault` {slug:?}, expected a slug such as `malformed`")))
    }

    /// Returns the fault of an answer that is not a decision.
    #[must_use]
    pub fn malformed() -> Self {
        Self(Self::MALFORMED.to_owned())
    }

    /// Returns the slug.
    #[must_use]
    pub fn slug(&self) -> &str {
        &self.0
    }
}

impl FaultKind {
    /// Returns the kind of a slug; unknown slugs are faults of the agent.
    #[must_use]
    pub fn of(slug: &str) -> Self {
        Fault::KNOWN.iter().find(|(known, _)| *known == slug).map_or(Self::Agent, |(_, kind)| *kind)
    }

    /// Returns its name in `contract/errors.json`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Agent => "agent",
            Self::Infrastructure => "infrastructure",
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}
