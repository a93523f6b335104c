//! Runs of a ledger's log, as the index is made of them.

use openoutcry::ledger::{Link, PlainRun, Stretch, Vocabulary, read_runs};
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};

/// A place in a chain.
type Place = (u64, String);

/// What `RunReader.read` returns: rows, where it ended, the chain's ends, and its breaks.
type Read<'py> = (Vec<Bound<'py, PyTuple>>, usize, Option<Place>, Option<Place>, usize);

/// Reads lines of a ledger's log that are as a ledger writes them.
#[pyclass(frozen, module = "openoutcry.openoutcry_py")]
pub struct RunReader(Vocabulary);

#[pymethods]
impl RunReader {
    #[new]
    fn new(numbers: Vec<String>, kinds: Vec<String>, states: Vec<String>) -> Self {
        Self(Vocabulary { numbers, kinds, states })
    }

    /// Return the runs of all lines from a byte on, up to the first that is left to another reader.
    #[pyo3(signature = (content, start, *, segment, offset))]
    fn read<'py>(
        &self,
        py: Python<'py>,
        content: &[u8],
        start: usize,
        segment: u64,
        offset: usize,
    ) -> PyResult<Read<'py>> {
        let Stretch { runs, starts, end, first, last, n_broken } = py.detach(|| read_runs(content, start, &self.0));
        let rows = runs.iter().zip(starts).map(|(run, start)| row(py, run, segment, offset + start));
        Ok((rows.collect::<PyResult<_>>()?, end, first.map(place), last.map(place), n_broken))
    }
}

fn place(link: Link) -> Place {
    (link.seq, link.hash)
}

fn row<'py>(py: Python<'py>, run: &PlainRun, segment: u64, offset: usize) -> PyResult<Bound<'py, PyTuple>> {
    let mut columns = vec![
        object(py, &run.run_id)?,
        object(py, &run.kind)?,
        object(py, &run.status)?,
        object(py, &run.interval)?,
        object(py, &run.window[0])?,
        object(py, &run.window[1])?,
        object(py, &run.rules_sha)?,
        object(py, &run.engine_version)?,
    ];
    for value in &run.numbers {
        columns.push(number(py, *value)?);
    }
    columns.push(object(py, &run.undefined)?);
    for value in run.track {
        columns.push(number(py, value)?);
    }
    columns.extend([
        object(py, &run.isolation)?,
        object(py, &run.error)?,
        PyBytes::new(py, &run.trial).into_any(),
        object(py, run.n_configs)?,
        object(py, u8::from(run.is_touched))?,
        object(py, &run.ts)?,
        object(py, segment)?,
        object(py, offset)?,
    ]);
    let returns = run.returns.as_ref().map(|returns| (&run.first, PyBytes::new(py, returns)));
    let strategy = (&run.strategy, &run.source, &run.source_sha, &run.description);
    (&run.strategy_id, &run.market, &run.session, PyTuple::new(py, columns)?, returns, strategy).into_pyobject(py)
}

fn object<'py, T: IntoPyObjectExt<'py>>(py: Python<'py>, value: T) -> PyResult<Bound<'py, PyAny>> {
    value.into_bound_py_any(py)
}

/// Returns a number as JSON of Python reads it: whole ones as integers, up to where a float skips some.
fn number(py: Python<'_>, value: Option<f64>) -> PyResult<Bound<'_, PyAny>> {
    match value {
        Some(value) if value.fract() == 0.0 && value.abs() <= 9_007_199_254_740_992.0 => object(py, value as i64),
        value => object(py, value),
    }
}
