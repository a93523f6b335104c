use thiserror::Error;

/// A record that was refused.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum RecordError {
    /// The text is not a record.
    #[error("a record must be the JSON of `record.schema.json`; received {problem}")]
    Invalid {
        /// The fault and its position.
        problem: String,
    },
    /// The text is not the canonical form of its record.
    #[error("a record must be canonical JSON (RFC 8785); received a difference at byte {byte} of {place}")]
    NotCanonical {
        /// The first byte that differs, counted from 0.
        byte: usize,
        /// The text, or the line in it.
        place: String,
    },
    /// The version of the record is unknown.
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
    /// The record is unfinished, and the operation needs its end.
    #[error("a finished record is required; received one {problem}")]
    Unfinished {
        /// The missing part.
        problem: String,
    },
    /// The record has no signature.
    #[error("a signed record is required; received one without a signature")]
    Unsigned,
    /// The bytes are not an Ed25519 key.
    #[error("an Ed25519 key of 32 bytes is required; received {problem}")]
    Key {
        /// Received bytes.
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
