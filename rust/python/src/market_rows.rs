//! Markets of files and frames that are read in parts.

use std::borrow::Cow;
use std::mem;
use std::str::{self, Utf8Error};
use std::thread;

use numpy::{PyReadonlyArray1, PyReadwriteArray1};
use openoutcry::{
    CsvReader as CoreReader, CsvRows, DataError, Dataset as CoreDataset, LongRows as CoreRows, TextColumns,
};
use pyo3::exceptions::PyUnicodeDecodeError;
use pyo3::prelude::*;

use crate::arguments::{self, Text, strings};
use crate::dataset::Dataset;
use crate::error::{raise, to_py};
use crate::huge_pages::reserve_in_huge_pages;

/// A reader of a CSV text that arrives in parts.
///
/// `size` is the length of the text in bytes, 0 if unknown.
#[pyclass(module = "openoutcry.openoutcry_py")]
pub struct CsvReader {
    reader: CoreReader,
    n_threads: usize,
    /// Readers of the rest of a part, one per other thread.
    ///
    /// They are kept for the names and the room that they have.
    beside: Vec<CsvRows>,
    /// The start of a character that the next part completes.
    cut: Vec<u8>,
    /// Whether a value is missing; known after `dataset`.
    #[pyo3(get)]
    has_missing: bool,
}

#[pymethods]
impl CsvReader {
    #[new]
    #[pyo3(signature = (size=0))]
    fn new(size: usize) -> Self {
        let reader = CoreReader::with_room(size, reserve_in_huge_pages);
        let n_threads = thread::available_parallelism().map_or(1, usize::from).min(MOST_THREADS);
        Self { reader, n_threads, beside: Vec::new(), cut: Vec::new(), has_missing: false }
    }

    /// Read the next part of the text, in UTF-8.
    fn push(&mut self, py: Python<'_>, part: &[u8]) -> PyResult<()> {
        let whole = if self.cut.is_empty() { Cow::Borrowed(part) } else { Cow::Owned([&self.cut, part].concat()) };
        let text = match str::from_utf8(&whole) {
            Ok(text) => text,
            Err(error) if error.error_len().is_some() => return Err(undecodable(py, &whole, error)),
            // All but the last character is whole.
            Err(error) => str::from_utf8(&whole[..error.valid_up_to()]).unwrap_or_default(),
        };
        self.cut = whole[text.len()..].to_vec();
        py.detach(|| push_in_threads(self, text)).map_err(to_py)
    }

    /// Return the market of the text, and forget the text.
    #[pyo3(signature = (*, periods_per_year=None))]
    fn dataset(&mut self, py: Python<'_>, periods_per_year: Option<&Bound<'_, PyAny>>) -> PyResult<Dataset> {
        let periods_per_year = periods_per_year.map(arguments::periods_per_year).transpose()?;
        // The readers beside know the columns and the names of this text: another text has its own.
        self.beside.clear();
        let (mut reader, cut) = (mem::take(&mut self.reader), mem::take(&mut self.cut));
        if let Err(error) = str::from_utf8(&cut) {
            return Err(undecodable(py, &cut, error));
        }
        let data = py.detach(|| {
            self.has_missing = reader.finish()?;
            CoreDataset::with_periods_per_year(reader.columns()?, periods_per_year)
        });
        data.map(Dataset::from).map_err(to_py)
    }
}

/// Bytes that are worth a thread, and the most threads of a reader.
const THREAD_BYTES: usize = 1 << 18;
const MOST_THREADS: usize = 4;

/// Reads the next part of a text, a piece of it in each thread.
///
/// The rows are added in their order, so that the result is that of one thread.
fn push_in_threads(reader: &mut CsvReader, text: &str) -> Result<(), DataError> {
    let CsvReader { reader, beside, n_threads, .. } = reader;
    let n_threads = (*n_threads).min(text.len() / THREAD_BYTES);
    while beside.len() + 1 < n_threads
        && let Some(rows) = reader.beside()
    {
        beside.push(rows);
    }
    let n_threads = n_threads.clamp(1, beside.len() + 1);
    let pieces = pieces(text, n_threads);
    let mut rest: Vec<_> = pieces[1..].iter().zip(beside).collect();
    thread::scope(|scope| {
        for (piece, rows) in &mut rest {
            // Without the thread the reader reads the piece.
            drop(thread::Builder::new().spawn_scoped(scope, || rows.read(piece)));
        }
        reader.push(pieces[0])
    })?;
    rest.into_iter().try_for_each(|(piece, rows)| reader.push_rows(piece, rows))
}

/// Returns about equal pieces of a text, cut at ends of lines.
fn pieces(text: &str, n_pieces: usize) -> Vec<&str> {
    let (mut rest, mut found) = (text, Vec::new());
    for n_left in (2..=n_pieces).rev() {
        let wanted = rest.len() / n_left;
        let end =
            rest.as_bytes()[wanted..].iter().position(|byte| *byte == b'\n').map_or(rest.len(), |at| wanted + at + 1);
        let (piece, others) = rest.split_at(end);
        found.push(piece);
        rest = others;
    }
    found.push(rest);
    found
}

fn undecodable(py: Python<'_>, bytes: &[u8], error: Utf8Error) -> PyErr {
    PyUnicodeDecodeError::new_err_from_utf8(py, bytes, error)
}

/// Numbers of a column that arrive in parts.
#[pyclass(module = "openoutcry.openoutcry_py")]
pub struct NumberColumn {
    values: Vec<f64>,
    /// Whether a value is missing.
    #[pyo3(get)]
    has_missing: bool,
}

#[pymethods]
impl NumberColumn {
    #[new]
    #[pyo3(signature = (n_rows=0))]
    fn new(n_rows: usize) -> Self {
        let mut values = Vec::new();
        // Room to pad the rows of a table.
        reserve_in_huge_pages(&mut values, n_rows.saturating_add(n_rows / 16));
        Self { values, has_missing: false }
    }

    /// Add the next values.
    fn push(&mut self, py: Python<'_>, values: Numbers<'_>) -> PyResult<()> {
        let refused = || raise("shape_mismatch", "contiguous values of a column are required; received others");
        match values {
            Numbers::Floats(part) => {
                let part = part.as_slice().map_err(|_| refused())?;
                py.detach(|| {
                    self.has_missing |= part.iter().fold(false, |any, value| any | value.is_nan());
                    self.values.extend_from_slice(part);
                });
            }
            Numbers::Integers(part) => {
                let part = part.as_slice().map_err(|_| refused())?;
                py.detach(|| self.values.extend(part.iter().map(|value| *value as f64)));
            }
        }
        Ok(())
    }
}

/// Numbers of an array.
#[derive(FromPyObject)]
enum Numbers<'py> {
    Floats(PyReadonlyArray1<'py, f64>),
    Integers(PyReadonlyArray1<'py, i64>),
}

/// Rows of a long frame that arrive in parts.
///
/// The columns are `close` and the optional ones among `names`.
#[pyclass(module = "openoutcry.openoutcry_py")]
pub struct LongRows {
    rows: CoreRows,
    n_dates: u32,
    n_symbols: u32,
}

#[pymethods]
impl LongRows {
    #[new]
    fn new(names: Vec<Text>) -> Self {
        Self { rows: CoreRows::new(&strings(names)), n_dates: 0, n_symbols: 0 }
    }

    /// Names of the columns, in the order of `dataset`.
    #[getter]
    fn names(&self) -> Vec<&'static str> {
        self.rows.names().collect()
    }

    /// Add rows without values.
    ///
    /// A pair has the position of each row among distinct values, and the number of each value, `2**32 - 1` where it
    /// has none. Values get the next number in the order of their first rows. Returns the positions of the dates and
    /// symbols that got one.
    fn push_keys(&mut self, py: Python<'_>, dates: Keys<'_>, symbols: Keys<'_>) -> PyResult<(Vec<u32>, Vec<u32>)> {
        let refused = || raise("shape_mismatch", "contiguous positions, a date and a symbol per row, are required");
        let ((dates, mut days), (symbols, mut names)) = (dates, symbols);
        let (Ok(dates), Ok(days)) = (dates.as_slice(), days.as_slice_mut()) else { return Err(refused()) };
        let (Ok(symbols), Ok(names)) = (symbols.as_slice(), names.as_slice_mut()) else { return Err(refused()) };
        if dates.len() != symbols.len() {
            return Err(refused());
        }
        let push = || {
            let (mut new_days, mut new_names) = (Vec::new(), Vec::new());
            let (mut of_row, mut name_of_row) = (Vec::with_capacity(CACHED), Vec::with_capacity(CACHED));
            for (dates, symbols) in dates.chunks(CACHED).zip(symbols.chunks(CACHED)) {
                number(dates, days, &mut self.n_dates, &mut new_days, &mut of_row)?;
                number(symbols, names, &mut self.n_symbols, &mut new_names, &mut name_of_row)?;
                self.rows.push_keys(&of_row, &name_of_row);
            }
            Some((new_days, new_names))
        };
        py.detach(push).ok_or_else(refused)
    }

    /// Return the market of the rows, and forget them and the columns.
    ///
    /// `dates` and `symbols` are the names of the numbers.
    #[pyo3(signature = (dates, symbols, columns, *, periods_per_year=None))]
    fn dataset(
        &mut self,
        py: Python<'_>,
        dates: Vec<Text>,
        symbols: Vec<Text>,
        mut columns: Vec<PyRefMut<'_, NumberColumn>>,
        periods_per_year: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Dataset> {
        let periods_per_year = periods_per_year.map(arguments::periods_per_year).transpose()?;
        let mut rows = mem::take(&mut self.rows);
        if columns.len() != rows.names().count() {
            return Err(raise("shape_mismatch", "a column per name is required; received others"));
        }
        for (place, column) in columns.iter_mut().enumerate() {
            rows.set_values(place, mem::take(&mut column.values));
        }
        let columns =
            || CoreDataset::with_periods_per_year(rows.columns(strings(dates), strings(symbols))?, periods_per_year);
        py.detach(columns).map(Dataset::from).map_err(to_py)
    }
}

/// The position of each row among distinct values, and the number of each value.
type Keys<'py> = (PyReadonlyArray1<'py, u32>, PyReadwriteArray1<'py, u32>);

/// Rows that stay in the cache while they are numbered.
const CACHED: usize = 1 << 13;

/// Replaces `found` by the number of each row.
///
/// Adds the positions that got a number to `added`.
///
/// `None` for a position without a value.
fn number(
    places: &[u32],
    numbers: &mut [u32],
    n_known: &mut u32,
    added: &mut Vec<u32>,
    found: &mut Vec<u32>,
) -> Option<()> {
    found.resize(places.len(), 0);
    for (number, place) in found.iter_mut().zip(places) {
        *number = *numbers.get(*place as usize)?;
        if *number == u32::MAX {
            numbers[*place as usize] = *n_known;
            *number = *n_known;
            *n_known += 1;
            added.push(*place);
        }
    }
    Some(())
}

/// Lines before the first row, fields by column, and the line of each row.
type SplitText<'py> = (Vec<&'py str>, Vec<Vec<&'py str>>, Vec<u32>);

/// Return the columns of a delimited text, blank lines left out.
///
/// They are the lines before the first row, the fields of each column, and the line of each row. None if a later line
/// has another number of fields than `width`, if a field has a quote or an end of line in it, or if the text has
/// unusual ends of lines.
#[pyfunction]
pub(crate) fn split_columns<'py>(
    py: Python<'_>,
    text: &'py Bound<'_, PyAny>,
    delimiter: char,
    width: usize,
) -> PyResult<Option<SplitText<'py>>> {
    let text = arguments::csv_text(text)?;
    let found = py.detach(|| TextColumns::split(text, delimiter, width));
    Ok(found.map(|found| (found.preamble, found.columns, found.lines)))
}
