//! Conversion of errors to Python exceptions.

use openoutcry::readable_text::readable_message;
use openoutcry::{DecisionError, StepError};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

pyo3::create_exception!(
    openoutcry.openoutcry_py,
    OpenOutcryError,
    PyValueError,
    "A refused argument or step: `slug: <what is required>; received <value>`."
);

/// An error of the core with its slug.
pub(crate) trait Slugged: std::fmt::Display {
    fn slug(&self) -> &'static str;
}

macro_rules! slugged {
    ($($error:path),*) => { $(impl Slugged for $error { fn slug(&self) -> &'static str { <$error>::slug(self) } })* };
}

slugged!(
    openoutcry::batch::BatchError,
    openoutcry::BacktestError,
    openoutcry::ConfigError,
    openoutcry::DataError,
    openoutcry::DecisionError,
    openoutcry::ReplayError,
    openoutcry::record::RecordError,
    openoutcry::StepError,
    openoutcry::StepJsonError,
    openoutcry_score::verdict::ScoreError,
    openoutcry_score::BadSetup,
    openoutcry_score::TestError
);

/// Returns the Python exception of an error of the core.
///
/// Its text is `slug: message`, and it has the slug as an attribute.
pub(crate) fn to_py(error: impl Slugged) -> PyErr {
    raise(error.slug(), &error.to_string())
}

pub(crate) fn raise(slug: &'static str, message: &str) -> PyErr {
    let raised = OpenOutcryError::new_err(readable_message(&format!("{slug}: {message}")));
    Python::attach(|py| match raised.value(py).setattr("slug", slug) {
        Ok(()) => raised,
        Err(error) => error,
    })
}

/// An error while a Python agent runs: of the agent itself, or of a step.
pub(crate) enum AgentFault {
    Python(PyErr),
    Step(StepError),
}

impl From<StepError> for AgentFault {
    fn from(error: StepError) -> Self {
        Self::Step(error)
    }
}

impl From<DecisionError> for AgentFault {
    fn from(error: DecisionError) -> Self {
        Self::Python(to_py(error))
    }
}

impl From<AgentFault> for PyErr {
    fn from(fault: AgentFault) -> Self {
        match fault {
            AgentFault::Python(error) => error,
            AgentFault::Step(error) => to_py(error),
        }
    }
}
