//! Reward schemes of Python, and the figures for a reward of the caller.

use numpy::PyArray1;
use openoutcry::{Reward, RewardTerms, StepFigures, counted};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arguments::Text;
use crate::error::raise;

/// A reward: a name, or a list of terms with weights.
#[derive(FromPyObject)]
pub(crate) enum RewardArgument {
    Scheme(Text),
    Terms(Vec<(Text, f64)>),
}

/// Returns the scheme of a reward with its rate or penalty.
///
/// None is the simple return, for a reward that the caller computes.
pub(crate) fn reward_of(reward: Option<&RewardArgument>, parameter: f64) -> PyResult<Reward> {
    reward.map_or(Ok(Reward::Return), |reward| reward.scheme(parameter))
}

impl RewardArgument {
    fn scheme(&self, parameter: f64) -> PyResult<Reward> {
        match self {
            Self::Scheme(name) => Reward::by_name(name, parameter).ok_or_else(|| {
                let wanted =
                    "one of simple, log, differential-sharpe (0 < rate < 1), drawdown, turnover (penalty >= 0)";
                raise(
                    "argument_invalid",
                    &format!("`reward` must be {wanted}; received {} with {parameter}", name.0.as_str()),
                )
            }),
            Self::Terms(weights) => {
                let pairs = weights.iter().map(|(name, weight)| (name.0.as_str(), *weight));
                RewardTerms::by_names(pairs, parameter).map(Reward::Sum).ok_or_else(|| {
                    let names = RewardTerms::NAMES.join(", ");
                    let wanted = format!("weights of at least 0 of {names}, with a gain above 0");
                    raise(
                        "argument_invalid",
                        &format!("`reward` must be {wanted}; received {}", counted(weights.len(), "term")),
                    )
                })
            }
        }
    }
}

/// The name of a figure, and its value in a step.
type Column = (&'static str, fn(&StepFigures) -> f64);

/// Returns the figures of steps as arrays by name.
pub(crate) fn figure_arrays<'py>(py: Python<'py>, figures: &[StepFigures]) -> PyResult<Bound<'py, PyDict>> {
    let arrays = PyDict::new(py);
    let columns: [Column; 5] = [
        ("return_", |figures| figures.return_),
        ("previous_nav", |figures| figures.previous_nav),
        ("nav", |figures| figures.nav),
        ("turnover", |figures| figures.turnover),
        ("drawdown", |figures| figures.drawdown),
    ];
    for (name, of) in columns {
        arrays.set_item(name, PyArray1::from_iter(py, figures.iter().map(of)))?;
    }
    arrays.set_item("n_steps", PyArray1::from_iter(py, figures.iter().map(|figures| i64::from(figures.n_steps))))?;
    Ok(arrays)
}
