use std::sync::Arc;

use openoutcry::scenario::{Key, ScenarioSpec};
use openoutcry::{spec_digest, spec_from_json, spec_to_json};
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;

use crate::arguments::{JsonText, Text};
use crate::dataset::Dataset;
use crate::error::raise;

/// A synthetic market before its generation: its spec and its key.
#[pyclass(frozen, module = "openoutcry.openoutcry_py")]
pub struct Scenario {
    spec: ScenarioSpec,
    key: Key,
}

/// Return the canonical JSON of the spec of a tier or family by its name.
///
/// Raises:
///     KeyError: the name is unknown.
#[pyfunction]
pub fn scenario_spec(name: Text) -> PyResult<String> {
    let spec = ScenarioSpec::named(&name).ok_or_else(|| PyKeyError::new_err(name.0))?;
    Ok(spec_to_json(&spec))
}

/// Return the canonical JSON of a spec and its digest, if it is valid.
#[pyfunction]
pub fn check_scenario_spec(text: JsonText) -> PyResult<(String, [u8; 32])> {
    let spec = parsed(&text)?;
    Ok((spec_to_json(&spec), spec_digest(&spec)))
}

fn parsed(text: &str) -> PyResult<ScenarioSpec> {
    spec_from_json(text).map_err(|error| raise("argument_invalid", &error.to_string()))
}

#[pymethods]
impl Scenario {
    #[new]
    fn new(spec: JsonText, key: [u8; 32]) -> PyResult<Self> {
        Ok(Self { spec: parsed(&spec)?, key: Key::from_bytes(key) })
    }

    /// Return the scenario of the JSON of a spec and a seed in a split.
    #[staticmethod]
    fn seeded(spec: JsonText, split: Text, seed: u64) -> PyResult<Self> {
        Ok(Self { spec: parsed(&spec)?, key: Key::from_seed(&split, seed) })
    }

    /// Return the commitment to the key.
    ///
    /// It is a SHA-256 over the key and the digest of the spec.
    fn commitment(&self) -> [u8; 32] {
        self.key.commitment(&spec_digest(&self.spec))
    }

    /// Return the key, which determines the whole market.
    fn reveal(&self) -> [u8; 32] {
        *self.key.bytes()
    }

    /// Return the market.
    fn dataset(&self, py: Python<'_>) -> PyResult<Dataset> {
        let data = py.detach(|| self.spec.dataset(&self.key));
        data.map(|data| Dataset(Arc::new(data))).map_err(|error| raise(error.slug(), &error.to_string()))
    }
}
