use openoutcry_contract::{DecisionError, MarketObservation, Refusal};
use openoutcry_engine::{Event, StepCosts, StepError, Stepped};
use thiserror::Error;

/// The result of a step.
#[derive(Clone, Debug, PartialEq)]
pub struct StepResult {
    /// Observation at the close of the fill bar.
    pub observation: MarketObservation,
    /// Simple return of NAV from close to close.
    pub reward: f64,
    /// Whether the episode has ended.
    pub done: bool,
    /// Diagnostics for the harness, not for the agent.
    pub info: Info,
}

/// Diagnostics of a step.
#[derive(Clone, Debug, PartialEq)]
pub struct Info {
    /// NAV at the close of the fill bar.
    pub nav: f64,
    /// Costs of the decision by kind.
    pub costs: StepCosts,
    /// Events in the order of the timeline.
    pub events: Vec<Event>,
    /// Orders with unknown names.
    pub refusals: Vec<Refusal>,
    /// The numbers of the step.
    pub stepped: Stepped,
}

/// The result of a step with JSON observation and info.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct JsonStep {
    /// Simple return of NAV from close to close.
    pub reward: f64,
    /// Whether the episode has ended.
    pub done: bool,
}

/// A refused step: the text is not a decision, or the step is invalid.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum StepJsonError {
    /// The text is not a decision.
    #[error(transparent)]
    Decision(#[from] DecisionError),
    /// The step was refused.
    #[error(transparent)]
    Step(#[from] StepError),
}

impl StepJsonError {
    /// Returns the stable name of this error in `contract/errors.json`.
    #[must_use]
    pub fn slug(&self) -> &'static str {
        match self {
            Self::Decision(error) => error.slug(),
            Self::Step(error) => error.slug(),
        }
    }
}
