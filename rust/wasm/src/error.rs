//! Conversion of errors to JavaScript exceptions.

use openoutcry::readable_text::readable_message;
use openoutcry::{ConfigError, DecisionError, StepError};
use wasm_bindgen::JsValue;

/// Returns the exception: an `Error` named `OpenOutcryError`, with its slug.
pub(crate) fn raise(slug: &str, message: &str) -> JsValue {
    let error = js_sys::Error::new(&readable_message(&format!("{slug}: {message}")));
    error.set_name("OpenOutcryError");
    let _ = js_sys::Reflect::set(&error, &"slug".into(), &slug.into());
    error.into()
}

/// An error of the core with its slug.
pub(crate) trait Slugged: std::fmt::Display {
    fn slug(&self) -> &'static str;

    /// Returns the message, with the names of options in JavaScript.
    fn message(&self) -> String {
        self.to_string()
    }
}

macro_rules! slugged {
    ($($error:path),*) => { $(impl Slugged for $error { fn slug(&self) -> &'static str { <$error>::slug(self) } })* };
}

slugged!(
    openoutcry::BacktestError,
    openoutcry::DataError,
    openoutcry::DecisionError,
    openoutcry::ReplayError,
    openoutcry::record::RecordError,
    openoutcry::scenario::ScenarioError,
    openoutcry::StepError,
    openoutcry::StepJsonError,
    openoutcry_score::verdict::ScoreError
);

impl Slugged for ConfigError {
    fn slug(&self) -> &'static str {
        Self::slug(self)
    }

    fn message(&self) -> String {
        let Self::AnnualRate { name, value } = self else { return self.to_string() };
        format!(
            "`periodsPerYear` is required for annual rates; received `{name}` {value} and dates that do not show it; \
             hint: state `periodsPerYear` in `fromCsv` or `periods_per_year` in `fromColumns`, or costs with annual \
             rates of 0"
        )
    }
}

pub(crate) fn to_js(error: impl Slugged) -> JsValue {
    raise(error.slug(), &error.message())
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
