//! Conversion of errors to JavaScript exceptions.

use openoutcry::{DecisionError, StepError};
use wasm_bindgen::JsValue;

/// Returns the exception: an `Error` named `OpenOutcryError`, with its slug.
pub(crate) fn raise(slug: &str, message: &str) -> JsValue {
    let error = js_sys::Error::new(&format!("{slug}: {message}"));
    error.set_name("OpenOutcryError");
    let _ = js_sys::Reflect::set(&error, &"slug".into(), &slug.into());
    error.into()
}

/// An error of the core with its slug.
pub(crate) trait Slugged: std::fmt::Display {
    fn slug(&self) -> &'static str;
}

macro_rules! slugged {
    ($($error:path),*) => { $(impl Slugged for $error { fn slug(&self) -> &'static str { <$error>::slug(self) } })* };
}

slugged!(
    openoutcry::BacktestError,
    openoutcry::ConfigError,
    openoutcry::DataError,
    openoutcry::DecisionError,
    openoutcry::ReplayError,
    openoutcry::record::RecordError,
    openoutcry::scenario::ScenarioError,
    openoutcry::StepError,
    openoutcry::StepJsonError,
    openoutcry_score::verdict::ScoreError
);

pub(crate) fn to_js(error: impl Slugged) -> JsValue {
    raise(error.slug(), &error.to_string())
}

/// An error while a JavaScript agent runs: its exception, or an error of a step.
pub(crate) struct AgentFault(pub(crate) JsValue);

impl From<StepError> for AgentFault {
    fn from(error: StepError) -> Self {
        Self(to_js(error))
    }
}

impl From<DecisionError> for AgentFault {
    fn from(error: DecisionError) -> Self {
        Self(to_js(error))
    }
}
