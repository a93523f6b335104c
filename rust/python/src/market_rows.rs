//! Markets of files and frames that are read in parts.

use std::borrow::Cow;
use std::mem;
use std::str::{self, Utf8Error};

use numpy::{PyReadonlyArray1, PyUntypedArrayMethods};
use openoutcry::{CsvReader as CoreReader, Dataset as CoreDataset, LongRows as CoreRows, TextColumns};
use pyo3::exceptions::PyUnicodeDecodeError;
use pyo3::prelude::*;

use crate::arguments;
use crate::dataset::Dataset;
use crate::error::{raise, to_py};

/// A reader of a CSV text that arrives in parts.
///
/// `size` is the length of the text in bytes, 0 if unknown.
#[pyclass(module = "openoutcry.openoutcry_py")]
pub struct CsvReader {
    reader: CoreReader,
    /// The start of a character that the next part completes.
    cut: Vec<u8>,
}

#[pymethods]
impl CsvReader {
    #[new]
    #[pyo3(signature = (size=0))]
    fn new(size: usize) -> Self {
        Self { reader: CoreReader::new(size), cut: Vec::new() }
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
        py.detach(|| self.reader.push(text)).map_err(to_py)
    }

    /// Return the market of the text, and forget the text.
    #[pyo3(signature = (*, periods_per_year=None))]
    fn dataset(&mut self, py: Python<'_>, periods_per_year: Option<&Bound<'_, PyAny>>) -> PyResult<Dataset> {
        if let Err(error) = str::from_utf8(&self.cut) {
            return Err(undecodable(py, &self.cut, error));
        }
        let periods_per_year = periods_per_year.map(arguments::periods_per_year).transpose()?;
        let reader = mem::take(&mut self.reader);
        let data = py.detach(|| CoreDataset::with_periods_per_year(reader.columns()?, periods_per_year));
        data.map(Dataset::from).map_err(to_py)
    }
}

fn undecodable(py: Python<'_>, bytes: &[u8], error: Utf8Error) -> PyErr {
    PyUnicodeDecodeError::new_err_from_utf8(py, bytes, error)
}

/// Rows of a long frame that arrive in parts.
///
/// The columns are `close` and the optional ones among `names`.
#[pyclass(module = "openoutcry.openoutcry_py")]
pub struct LongRows(CoreRows);

#[pymethods]
impl LongRows {
    #[new]
    fn new(names: Vec<String>) -> Self {
        Self(CoreRows::new(&names))
    }

    /// Names of the columns, in the order of the values of a row.
    #[getter]
    fn names(&self) -> Vec<&'static str> {
        self.0.names().collect()
    }

    /// Make room for rows.
    fn reserve(&mut self, n_rows: usize) {
        self.0.reserve(n_rows);
    }

    /// Add rows.
    ///
    /// They are the number of each date and symbol, and the values of each column.
    fn push(
        &mut self,
        dates: PyReadonlyArray1<'_, u32>,
        symbols: PyReadonlyArray1<'_, u32>,
        values: Vec<PyReadonlyArray1<'_, f64>>,
    ) -> PyResult<()> {
        let is_equal = values.iter().all(|column| column.len() == dates.len()) && symbols.len() == dates.len();
        let slices = values.iter().map(PyReadonlyArray1::as_slice).collect::<Result<Vec<_>, _>>();
        match (dates.as_slice(), symbols.as_slice(), slices) {
            (Ok(dates), Ok(symbols), Ok(values)) if is_equal && values.len() == self.0.names().count() => {
                self.0.extend(dates, symbols, &values);
                Ok(())
            }
            _ => Err(raise("shape_mismatch", "contiguous columns of one length are required; received others")),
        }
    }

    /// Return the market of the rows, and forget them.
    ///
    /// `dates` and `symbols` are the names of the numbers.
    #[pyo3(signature = (dates, symbols, *, periods_per_year=None))]
    fn dataset(
        &mut self,
        py: Python<'_>,
        dates: Vec<String>,
        symbols: Vec<String>,
        periods_per_year: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Dataset> {
        let periods_per_year = periods_per_year.map(arguments::periods_per_year).transpose()?;
        let rows = mem::take(&mut self.0);
        let columns = || CoreDataset::with_periods_per_year(rows.columns(dates, symbols)?, periods_per_year);
        py.detach(columns).map(Dataset::from).map_err(to_py)
    }
}

/// Lines before the first row, fields by column, and the line of each row.
type SplitText<'py> = (Vec<&'py str>, Vec<Vec<&'py str>>, Vec<u32>);

/// Return the columns of a delimited text without quotes, blank lines left out.
///
/// They are the lines before the first row, the fields of each column, and the line of each row. None if a later line
/// has another number of fields than `width`, or if the text has quotes or unusual ends of lines.
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
