use openoutcry::{MarketObservation, agents};
use pyo3::prelude::*;

use crate::arguments::{self, JsonText, Text};
use crate::error::raise;

/// A baseline agent of the core, created anew for every run.
#[pyclass(frozen, from_py_object, module = "openoutcry.openoutcry_py")]
#[derive(Clone)]
pub struct Baseline {
    /// Name of the baseline.
    #[pyo3(get)]
    name: String,
    /// Seed of the baseline `random`; the others ignore it.
    #[pyo3(get)]
    seed: u64,
}

impl Baseline {
    pub(crate) fn make(&self) -> PyResult<Box<dyn openoutcry::Agent + Send + Sync>> {
        agents::baseline(&self.name, self.seed).ok_or_else(|| {
            let known = agents::BASELINES.join(", ");
            raise("unknown_agent", &format!("an agent must be one of {known}; received {:?}", self.name))
        })
    }
}

#[pymethods]
impl Baseline {
    #[new]
    #[pyo3(signature = (name, seed=0))]
    fn new(name: Text, #[pyo3(from_py_with = arguments::seed)] seed: u64) -> PyResult<Self> {
        let baseline = Self { name: name.0, seed };
        baseline.make()?;
        Ok(baseline)
    }

    /// Start one episode of this agent.
    fn session(&self) -> PyResult<Session> {
        Ok(Session(self.make()?))
    }
}

/// One episode of a baseline.
#[pyclass(module = "openoutcry.openoutcry_py")]
pub struct Session(Box<dyn openoutcry::Agent + Send + Sync>);

#[pymethods]
impl Session {
    /// Return the decision on an observation, both JSON.
    fn decide(&mut self, observation: JsonText) -> PyResult<String> {
        let observation = MarketObservation::from_json(&observation).map_err(|error| raise("bad_json", &error))?;
        Ok(self.0.decide(&observation).to_json())
    }
}
