use thiserror::Error;

/// A record that was refused.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum RecordError {
    /// The text is not a record.
    #[error("a record must be the JSON of `record.schema.json`; received {problem}")]
    Invalid {
        /// What the text holds instead, and where.
        problem: String,
    },
    /// The text says the same as the canonical one in other bytes.
    #[error("a record must be canonical JSON (RFC 8785); received other bytes from byte {byte} on of {place}")]
    NotCanonical {
        /// The first byte that differs, counted from 0.
        byte: usize,
        /// The text or the line of it.
        place: String,
    },
    /// The record is of a form that this engine does not know.
    #[error("`record_version` must be {}; received {received:?}", super::RECORD_VERSION)]
    Version {
        /// The version of the text.
        received: String,
    },
    /// The name of the agent is too long.
    #[error("`agent_id` must have at most {} characters; received {received}", super::MAX_AGENT_ID)]
    AgentId {
        /// Characters of the name.
        received: usize,
    },
    /// The record has no end, and what was asked needs one.
    #[error("a finished record is required; received one {problem}")]
    Unfinished {
        /// What it lacks.
        problem: String,
    },
    /// The record holds no signature.
    #[error("a signed record is required; received one without a signature")]
    Unsigned,
    /// The bytes are no key of Ed25519.
    #[error("a key of Ed25519 is required, 32 bytes; received {problem}")]
    Key {
        /// What came.
        problem: String,
    },
}

impl RecordError {
    /// Returns the stable name of this error in `contract/errors.json`.
    #[must_use]
    pub fn slug(&self) -> &'static str {
        match self {
            Self::Invalid { .. } | Self::AgentId { .. } => "record_invalid",
            Self::NotCanonical { .. } => "record_not_canonical",
            Self::Version { .. } => "record_version_unknown",
            Self::Unfinished { .. } => "record_unfinished",
            Self::Unsigned => "record_unsigned",
            Self::Key { .. } => "key_invalid",
        }
    }

    pub(super) fn invalid(problem: impl Into<String>) -> Self {
        Self::Invalid { problem: problem.into() }
    }
}
