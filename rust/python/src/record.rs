use openoutcry::record::{
    AgentTrajectory, DatasetName, Digest, Divergence, Fault, RunTrajectory, SettingDifference, compare_runs, public_key,
};
use openoutcry::{Difference, FillKey, Terms, integrity_differences, replay_run};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyString};

use crate::arguments::{self, JsonText, Text};
use crate::costs::CostModel;
use crate::dataset::Dataset;
use crate::error::to_py;
use crate::limits::Limits;

/// The settings in which two runs differ, and their first divergence.
type Compared<'py> = (Vec<(&'static str, String, String)>, Option<Bound<'py, PyDict>>);

/// The native record behind `openoutcry.RunRecord`.
#[pyclass(frozen, eq, module = "openoutcry.openoutcry_py")]
#[derive(Clone, PartialEq)]
pub struct Record {
    core: AgentTrajectory,
    torn_bytes: usize,
}

impl Record {
    pub(crate) fn of_run(name: &str, run: RunTrajectory) -> Self {
        Self { core: AgentTrajectory::new(name, vec![run], 0), torn_bytes: 0 }
    }

    pub(crate) fn core(&self) -> &AgentTrajectory {
        &self.core
    }
}

#[pymethods]
impl Record {
    /// Return the record in the bytes of a JSON text.
    ///
    /// Raises:
    ///     OpenOutcryError: the text is not a record, or not canonical.
    #[staticmethod]
    fn from_json(py: Python<'_>, content: &[u8]) -> PyResult<Self> {
        let core = py.detach(|| AgentTrajectory::from_bytes(content)).map_err(to_py)?;
        Ok(Self { core, torn_bytes: 0 })
    }

    /// Return the record in lines, without a truncated last line.
    ///
    /// Raises:
    ///     OpenOutcryError: a line is not canonical, or out of place.
    #[staticmethod]
    fn from_lines(py: Python<'_>, content: &[u8]) -> PyResult<Self> {
        let lines = py.detach(|| AgentTrajectory::from_lines(content)).map_err(to_py)?;
        Ok(Self { core: lines.record, torn_bytes: lines.torn_bytes })
    }

    /// Return one record with the runs of several records.
    #[staticmethod]
    fn join(agent_id: Text, in_sample_trials: u64, records: Vec<PyRef<'_, Self>>) -> PyResult<Self> {
        arguments::check_agent_id(&agent_id)?;
        let runs = records.iter().flat_map(|record| record.core.runs.iter().cloned()).collect();
        Ok(Self { core: AgentTrajectory::new(&agent_id, runs, in_sample_trials), torn_bytes: 0 })
    }

    /// Return one run of the record as a separate unsigned record.
    fn only(&self, run: usize) -> Self {
        let AgentTrajectory { agent_id, in_sample_trials, runs, .. } = &self.core;
        Self { core: AgentTrajectory::new(agent_id, vec![runs[run].clone()], *in_sample_trials), torn_bytes: 0 }
    }

    /// Digest of each run, None for an unfinished run.
    #[getter]
    fn run_digests(&self) -> Vec<Option<String>> {
        self.core.runs.iter().map(|run| run.digest().map(|digest| digest.to_string())).collect()
    }

    /// Return the canonical JSON.
    fn to_json(&self, py: Python<'_>) -> String {
        py.detach(|| self.core.to_json())
    }

    /// Return the record as lines of canonical JSON.
    fn to_lines(&self, py: Python<'_>) -> String {
        py.detach(|| self.core.to_lines())
    }

    /// Name of the agent.
    #[getter]
    fn agent_id(&self) -> &str {
        &self.core.agent_id
    }

    /// Trials declared by the author of the agent.
    #[getter]
    fn in_sample_trials(&self) -> u64 {
        self.core.in_sample_trials
    }

    /// Recorded digest, None for an unfinished record.
    #[getter]
    fn digest(&self) -> Option<String> {
        self.core.digest.map(|digest| digest.to_string())
    }

    /// Return whether the record is finished and every hash follows from its contents.
    fn is_intact(&self, py: Python<'_>) -> bool {
        py.detach(|| self.core.intact_digest().is_some())
    }

    /// Computed digest of the agent and the recorded last links of its runs.
    #[getter]
    fn computed_digest(&self) -> Option<String> {
        self.core.computed_digest().map(|digest| digest.to_string())
    }

    /// Bytes after the last line end, which were dropped.
    #[getter]
    fn torn_bytes(&self) -> usize {
        self.torn_bytes
    }

    /// The missing part of an unfinished record, else None.
    #[getter]
    fn unfinished(&self) -> Option<String> {
        self.core.unfinished()
    }

    /// Public key of the signature, None without one.
    #[getter]
    fn public_key<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyBytes>> {
        self.core.signature.as_ref().map(|signature| PyBytes::new(py, &signature.public_key))
    }

    /// Settings of each run, by the path of the field.
    #[getter]
    fn headers<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let dict = |run: &RunTrajectory| {
            let dict = PyDict::new(py);
            for (field, value) in run.fields() {
                dict.set_item(field, value)?;
            }
            Ok(dict)
        };
        self.core.runs.iter().map(dict).collect()
    }

    /// The decisions of each run with their faults, if any.
    #[getter]
    fn decisions(&self) -> Vec<Vec<(String, Option<String>)>> {
        let answers = |run: &RunTrajectory| {
            let steps = run.steps.iter();
            steps.map(|step| (step.decision.clone(), step.fault.as_ref().map(Fault::to_string))).collect()
        };
        self.core.runs.iter().map(answers).collect()
    }

    /// Return the record signed with a private Ed25519 key.
    fn signed(&self, private_key: [u8; 32]) -> PyResult<Self> {
        let core = self.core.clone().signed(&private_key).map_err(to_py)?;
        Ok(Self { core, torn_bytes: self.torn_bytes })
    }

    /// Return whether the signature is valid for the contents and a key.
    #[pyo3(signature = (public_key=None))]
    fn verify_signature(&self, py: Python<'_>, public_key: Option<[u8; 32]>) -> PyResult<bool> {
        py.detach(|| self.core.verify_signature(public_key.as_ref())).map_err(to_py)
    }

    /// Return the divergences of the digest and the signature.
    ///
    /// With a key, the record must be signed by it.
    #[pyo3(signature = (public_key=None))]
    fn integrity_differences<'py>(
        &self,
        py: Python<'py>,
        public_key: Option<[u8; 32]>,
    ) -> PyResult<Bound<'py, PyList>> {
        let list = PyList::empty(py);
        for difference in integrity_differences(&self.core, public_key.as_ref()).map_err(to_py)? {
            list.append(difference_dict(py, None, &difference)?)?;
        }
        Ok(list)
    }

    /// Replay one run; return the number of steps and the divergences of the record.
    ///
    /// `market_name` is the name of the market, and the commitment of its key; None trusts the record.
    #[pyo3(signature = (run, dataset, costs=None, limits=None, fill_key=None, market_name=None))]
    #[expect(clippy::too_many_arguments, reason = "each is an argument of Python by its name")]
    fn replay<'py>(
        &self,
        py: Python<'py>,
        run: usize,
        dataset: &Dataset,
        costs: Option<CostModel>,
        limits: Option<Limits>,
        fill_key: Option<[u8; 32]>,
        market_name: Option<MarketName>,
    ) -> PyResult<(usize, Bound<'py, PyList>)> {
        let terms = Terms {
            costs: costs.map(|costs| costs.0),
            limits: limits.map(|limits| limits.0),
            fill_key: fill_key.map(FillKey::from_bytes),
            markets: &market_name.map(|name| vec![dataset_name(dataset, name)]).unwrap_or_default(),
        };
        let replay = py.detach(|| replay_run(&dataset.0, &self.core.runs[run], &terms)).map_err(to_py)?;
        let list = PyList::empty(py);
        for difference in &replay.differences {
            list.append(difference_dict(py, Some((run, dataset)), difference)?)?;
        }
        Ok((replay.n_steps, list))
    }

    /// Compare two runs: the settings that differ, and their first divergence.
    fn compare<'py>(&self, py: Python<'py>, run: usize, other: &Self) -> PyResult<Compared<'py>> {
        let (settings, divergence) = compare_runs(&self.core.runs[run], &other.core.runs[run]);
        let settings =
            settings.into_iter().map(|SettingDifference { field, left, right }| (field, left, right)).collect();
        Ok((settings, divergence.map(|each| divergence_dict(py, &each)).transpose()?))
    }
}

/// The name of a market, and the commitment of its key.
pub(crate) type MarketName = (Text, Option<[u8; 32]>);

/// Returns the name of a market in records.
pub(crate) fn dataset_name(dataset: &Dataset, (name, commitment): MarketName) -> DatasetName {
    DatasetName { commitment: commitment.map(Digest), fingerprint: Digest(dataset.0.fingerprint()), name: name.0 }
}

/// Returns a divergence of a run on a market, or of a field outside of the runs.
fn difference_dict<'py>(
    py: Python<'py>,
    run: Option<(usize, &Dataset)>,
    difference: &Difference,
) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    let date = run
        .zip(difference.bar)
        .and_then(|((_, dataset), bar)| (bar < dataset.0.n_bars()).then(|| dataset.0.dates().get(bar).to_string()));
    dict.set_item("run", run.map(|(run, _)| run))?;
    dict.set_item("place", difference.place.to_string())?;
    dict.set_item("step", difference.place.step())?;
    dict.set_item("bar", difference.bar)?;
    dict.set_item("date", date)?;
    dict.set_item("field", difference.field)?;
    dict.set_item("recorded", &difference.recorded)?;
    dict.set_item("replayed", &difference.replayed)?;
    dict.set_item("ulps", difference.ulps)?;
    dict.set_item("cause", difference.cause.slug())?;
    dict.set_item("because", difference.because())?;
    Ok(dict)
}

fn divergence_dict<'py>(py: Python<'py>, divergence: &Divergence) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("place", divergence.place.to_string())?;
    dict.set_item("step", divergence.place.step())?;
    dict.set_item("bar", divergence.bar)?;
    dict.set_item("field", divergence.field)?;
    dict.set_item("left", &divergence.left)?;
    dict.set_item("right", &divergence.right)?;
    dict.set_item("ulps", divergence.ulps)?;
    Ok(dict)
}

/// Return the public key of a private Ed25519 key.
#[pyfunction]
pub(crate) fn record_public_key(py: Python<'_>, private_key: [u8; 32]) -> Bound<'_, PyBytes> {
    PyBytes::new(py, &public_key(&private_key))
}

/// Return the commitment of a fill key, 32 bytes each.
#[pyfunction]
pub(crate) fn fill_commitment(py: Python<'_>, fill_key: [u8; 32]) -> Bound<'_, PyBytes> {
    PyBytes::new(py, &FillKey::from_bytes(fill_key).commitment())
}

/// Return a JSON text in the canonical form of RFC 8785.
///
/// Raises:
///     OpenOutcryError: `bad_json`: it is not JSON, or has a duplicate field.
#[pyfunction]
pub(crate) fn canonicalize(py: Python<'_>, text: JsonText) -> PyResult<Bound<'_, PyString>> {
    let canonical = openoutcry::canonicalize(&text);
    canonical.map(|text| PyString::new(py, &text)).map_err(|error| crate::error::raise("bad_json", &error.to_string()))
}
