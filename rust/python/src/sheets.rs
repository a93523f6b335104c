//! Sheets of workbooks: their XML arrives in parts.

use std::iter;

use numpy::{IntoPyArray, PyArray1};
use openoutcry::{
    CellText, NumberKind, SheetFault, SheetLimits, SheetReader as CoreReader, SheetStrings as CoreStrings,
};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyString};

fn refused(fault: SheetFault) -> PyErr {
    PyValueError::new_err(fault.to_string())
}

/// Texts that the cells of a workbook share.
#[pyclass(module = "openoutcry.openoutcry_py")]
#[derive(Default)]
pub struct SheetStrings {
    strings: CoreStrings,
}

#[pymethods]
impl SheetStrings {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    /// Read the next part of the XML.
    fn push(&mut self, py: Python<'_>, part: &[u8]) -> PyResult<()> {
        py.detach(|| self.strings.push(part)).map_err(refused)
    }

    /// Refuse a text that is not complete.
    fn finish(&self) -> PyResult<()> {
        self.strings.finish().map_err(refused)
    }
}

/// Reader of the cells of a sheet.
///
/// `kinds` has a letter for each style: `d` for a date, `t` for a duration. `limits` are the most rows, the most
/// cells, the cells above which a sheet must not be sparse, and of how many cells one must have a value there.
#[pyclass(module = "openoutcry.openoutcry_py")]
pub struct SheetReader {
    reader: CoreReader,
    strings: Py<SheetStrings>,
}

/// The numbers of each column; `None` for a column of texts.
type Numbers<'py> = Vec<Option<Bound<'py, PyArray1<f64>>>>;

/// Fields by column, numbers of the rows, and rows that end early.
type Sheet<'py> = (Vec<Bound<'py, PyList>>, Vec<u32>, Vec<(usize, bool)>);

#[pymethods]
impl SheetReader {
    #[new]
    fn new(strings: Py<SheetStrings>, kinds: &[u8], is_1904: bool, limits: (u64, u64, u64, u64)) -> Self {
        let kinds = kinds.iter().map(|kind| match kind {
            b'd' => NumberKind::Date,
            b't' => NumberKind::Duration,
            _ => NumberKind::Number,
        });
        let (rows, cells, small, sparseness) = limits;
        let limits = SheetLimits { rows, cells, small, sparseness };
        Self { reader: CoreReader::new(kinds.collect(), is_1904, limits), strings }
    }

    /// Read the next part of the XML.
    ///
    /// Returns the number of values, cells and rows if the sheet is too large.
    fn push(&mut self, py: Python<'_>, part: &[u8]) -> PyResult<Option<(u64, u64, u64)>> {
        let strings = self.strings.borrow(py);
        let strings = &strings.strings;
        let found = py.detach(|| self.reader.push(part, strings)).map_err(refused)?;
        Ok(found.map(|size| (size.n_values, size.n_cells, size.n_rows)))
    }

    /// Whether no cell has a value.
    #[getter]
    fn is_empty(&self) -> bool {
        self.reader.cells().lines().next().is_none()
    }

    /// Refuse a text that is not complete.
    fn finish(&self) -> PyResult<()> {
        self.reader.finish().map_err(refused)
    }

    /// Return the columns from the first to the last one with a value.
    ///
    /// They are the fields of each column in the rows with values, the numbers of these rows, and the places of the
    /// rows that end before the widest one, each with whether it has a number.
    fn columns<'py>(&self, py: Python<'py>) -> PyResult<Sheet<'py>> {
        let lines: Vec<u32> = self.reader.cells().lines().collect();
        let (first, end) = self.reader.cells().columns();
        let empty = PyString::new(py, "");
        let strings = self.strings.borrow(py);
        let shared: Vec<Bound<'py, PyString>> = strings.strings.texts().map(|text| PyString::new(py, text)).collect();
        let columns: Vec<Bound<'py, PyList>> =
            (first..end).map(|_| PyList::new(py, iter::repeat_n(&empty, lines.len()))).collect::<PyResult<_>>()?;
        for (row, column, text) in self.reader.cells().cells() {
            match text {
                CellText::Shared(place) => columns[column - first].set_item(row, &shared[place])?,
                CellText::Own(text) => columns[column - first].set_item(row, PyString::new(py, text))?,
            }
        }
        Ok((columns, lines, self.reader.cells().short_rows().collect()))
    }

    /// Return the numbers of each column in a range of rows, by their places.
    ///
    /// An empty cell is NaN. None for a column with another value than numbers, or without a value.
    fn numbers<'py>(&self, py: Python<'py>, start: usize, end: usize) -> Numbers<'py> {
        let found = py.detach(|| self.reader.cells().numbers(start..end));
        found.into_iter().map(|numbers| numbers.map(|numbers| numbers.into_pyarray(py))).collect()
    }
}
