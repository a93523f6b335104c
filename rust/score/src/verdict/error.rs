use thiserror::Error;

use crate::TestError;

/// Why agents cannot be scored at all.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum ScoreError {
    /// The configuration makes no sense.
    #[error("a configuration of the scorer is required; received one with {problem}")]
    Config {
        /// What is wrong with it.
        problem: String,
    },
    /// There is nobody to score, or two have one name.
    #[error("agents with names of their own are required, at least one; received {received}")]
    Agents {
        /// What came, in words.
        received: String,
    },
    /// A submission is none that can be scored.
    #[error("runs of finite returns over windows apart and in order are required; received {problem} of {agent:?}")]
    Submission {
        /// The agent.
        agent: String,
        /// What is wrong.
        problem: String,
    },
    /// Agents did not play by one set of rules.
    #[error(
        "runs under the same costs, limits, benchmarks and bars a year are required; received {agent:?} and {other:?}"
    )]
    Rules {
        /// An agent.
        agent: String,
        /// One with other rules.
        other: String,
    },
    /// A test cannot be set up.
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
