use openoutcry::{MarketObservation, agents};
use pyo3::prelude::*;

use crate::error::raise;

/// A baseline of the core, made anew so that no run remembers another.
#[pyclass(frozen, from_py_object, module = "openoutcry.openoutcry_py")]
#[derive(Clone)]
pub struct Baseline {
    #[pyo3(get)]
    name: String,
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
    fn new(name: String, seed: u64) -> PyResult<Self> {
        let baseline = Self { name, seed };
        baseline.make()?;
        Ok(baseline)
    }

    /// Starts an agent of this kind that decides on observations in JSON.
    fn session(&self) -> PyResult<Session> {
        Ok(Session(self.make()?))
    }
}

/// One episode of a baseline.
#[pyclass(module = "openoutcry.openoutcry_py")]
pub struct Session(Box<dyn openoutcry::Agent + Send + Sync>);

#[pymethods]
impl Session {
    fn decide(&mut self, observation: &str) -> PyResult<String> {
        let observation = MarketObservation::from_json(observation).map_err(|error| raise("bad_json", &error))?;
        Ok(self.0.decide(&observation).to_json())
    }
}
