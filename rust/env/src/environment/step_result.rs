use openoutcry_contract::{DecisionError, MarketObservation, Refusal};
use openoutcry_engine::{Event, StepCosts, StepError, Stepped};
use thiserror::Error;

/// What a step gave.
#[derive(Clone, Debug, PartialEq)]
pub struct StepResult {
    /// What the agent may see at the close of the fill bar.
    pub observation: MarketObservation,
    /// Simple return of NAV from close to close.
    pub reward: f64,
    /// Whether the episode has ended.
    pub done: bool,
    /// What the harness may know.
    pub info: Info,
}

/// What a step had to say beside the observation.
#[derive(Clone, Debug, PartialEq)]
pub struct Info {
    /// NAV at the close of the fill bar.
    pub nav: f64,
    /// What the decision cost, by kind.
    pub costs: StepCosts,
    /// What happened, in the order of the timeline.
    pub events: Vec<Event>,
    /// Orders refused by their name.
    pub refusals: Vec<Refusal>,
    /// The numbers of the step.
    pub stepped: Stepped,
}

/// The outcome of a step through the JSON door.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct JsonStep {
    /// Simple return of NAV from close to close.
    pub reward: f64,
    /// Whether the episode has ended.
    pub done: bool,
}

/// A step that was refused: the decision's text, or the step itself.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum StepJsonError {
    /// The text is not a decision.
    #[error(transparent)]
    Decision(#[from] DecisionError),
    /// The step cannot be made.
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
