//! Binds the fast reader of run records in a ledger log, as rows of the index.

use openoutcry::ledger::{LedgerSegment, Link, PlainRun, Vocabulary, read_runs};
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};

/// A link of the hash chain.
type Place = (u64, String);

/// Rows, their end, the ends of their chain, and its breaks.
type Read<'py> = (Vec<Bound<'py, PyTuple>>, usize, Option<Place>, Option<Place>, usize);

/// Fast reader of run records in the form that a ledger writes.
#[pyclass(frozen, module = "openoutcry.openoutcry_py")]
pub struct RunReader(Vocabulary);

#[pymethods]
impl RunReader {
    #[new]
    fn new(numbers: Vec<String>, kinds: Vec<String>, states: Vec<String>) -> Self {
        Self(Vocabulary { numbers, kinds, states })
    }

    /// Return the runs of the lines from a byte on, up to the first unusual line.
    ///
    /// Leave unusual lines to the general reader: they may be valid records.
    ///
    /// Args:
    ///     content: Whole lines.
    ///     start: The byte of `content` to begin at.
    ///     segment: The number of their segment.
    ///     offset: The position of `content` in the segment.
    ///
    /// Returns:
    ///     Rows; the byte of their end; number and hash that the first line continues, and those that continue the last
    ///     line; and the number of lines that do not continue the line before.
    #[pyo3(signature = (content, start, *, segment, offset))]
    fn read<'py>(
        &self,
        py: Python<'py>,
        content: &[u8],
        start: usize,
        segment: u64,
        offset: usize,
    ) -> PyResult<Read<'py>> {
        let LedgerSegment { runs, starts, end, first, last, n_broken } =
            py.detach(|| read_runs(content, start, &self.0));
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
    let there: Vec<u8> = columns.iter().map(|column| u8::from(!column.is_none())).collect();
    let present: Vec<_> = columns.iter().filter(|column| !column.is_none()).collect();
    let (present, columns) = (PyTuple::new(py, present)?, PyTuple::new(py, &columns)?);
    let returns = run.returns.as_ref().map(|returns| (&run.first, PyBytes::new(py, returns)));
    let strategy = (&run.strategy, &run.source, &run.source_sha, &run.description);
    let there = PyBytes::new(py, &there);
    (&run.strategy_id, &run.market, &run.session, columns, there, present, returns, strategy).into_pyobject(py)
}

fn object<'py, T: IntoPyObjectExt<'py>>(py: Python<'py>, value: T) -> PyResult<Bound<'py, PyAny>> {
    value.into_bound_py_any(py)
}

/// Returns a number as Python reads it from JSON: a whole number as an integer.
///
/// Above 2^53 a float skips integers, and stays a float.
fn number(py: Python<'_>, value: Option<f64>) -> PyResult<Bound<'_, PyAny>> {
    match value {
        Some(value) if value.fract() == 0.0 && value.abs() <= 9_007_199_254_740_992.0 => object(py, value as i64),
        value => object(py, value),
    }
}
