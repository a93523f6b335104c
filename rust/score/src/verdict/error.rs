use thiserror::Error;

use crate::TestError;

/// A configuration or submission that cannot be scored.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum ScoreError {
    /// The configuration is invalid.
    #[error("a valid scorer configuration is required; received {problem}")]
    Config {
        /// The fault.
        problem: String,
    },
    /// There is no agent, or two have one name.
    #[error("at least one agent and unique names are required; received {received}")]
    Agents {
        /// Received agents, in words.
        received: String,
    },
    /// A submission is invalid.
    #[error("finite returns over disjoint windows in order are required; received {problem} of {agent:?}")]
    Submission {
        /// The agent.
        agent: String,
        /// The fault.
        problem: String,
    },
    /// Agents have different rules.
    #[error(
        "runs with the same costs, limits, benchmarks and bars per year are required; received {agent:?} and {other:?}"
    )]
    Rules {
        /// An agent.
        agent: String,
        /// An agent with other rules.
        other: String,
    },
    /// A test has an invalid setting.
    #[error(transparent)]
    Test(#[from] TestError),
}

impl ScoreError {
    /// Returns the stable name of this error in `contract/errors.json`.
    #[must_use]
    pub fn slug(&self) -> &'static str {
        match self {
            Self::Config { .. } | Self::Agents { .. } => "argument_invalid",
            Self::Submission { .. } => "submission_invalid",
            Self::Rules { .. } => "rules_differ",
            Self::Test(error) => error.slug(),
        }
    }
}
