//! Cells of a sheet of a workbook: texts and numbers by row and column.

use std::ops::Range;

/// Text of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CellText<'a> {
    /// The place of a shared text.
    Shared(usize),
    /// A text of its own.
    Own(&'a str),
}

/// A cell: its column, counted from 1, and a range of the texts.
///
/// A shared text has its place as the start.
#[derive(Debug)]
struct Cell {
    column: u32,
    start: u32,
    end: u32,
    content: Content,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    Shared,
    Text,
    /// A date, a time or a duration.
    Time,
    Number,
}

/// Cells of a sheet that have values.
#[derive(Debug, Default)]
pub struct SheetCells {
    pub(crate) texts: String,
    cells: Vec<Cell>,
    rows: Vec<Row>,
    width: u32,
}

/// A row with values.
#[derive(Debug)]
struct Row {
    number: u32,
    /// The end of its cells.
    end: usize,
    has_number: bool,
}

impl SheetCells {
    /// Adds a cell; its text begins at `start` of the texts.
    ///
    /// `None` if the texts are too long.
    pub(crate) fn add(&mut self, column: u32, start: usize, content: Content) -> Option<()> {
        let (start, end) = (u32::try_from(start).ok()?, u32::try_from(self.texts.len()).ok()?);
        self.cells.push(Cell { column, start, end, content });
        Some(())
    }

    /// Adds a cell with the shared text of a place.
    pub(crate) fn share(&mut self, column: u32, place: u32) {
        self.cells.push(Cell { column, start: place, end: place, content: Content::Shared });
    }

    /// Ends a row, which is left out if it has no cell.
    pub(crate) fn end_row(&mut self, number: u32, has_number: bool) {
        let start = self.rows.last().map_or(0, |row| row.end);
        if let Some(last) = self.cells[start..].last() {
            self.width = self.width.max(last.column);
            self.rows.push(Row { number, end: self.cells.len(), has_number });
        }
    }

    /// Returns the number of values, and of cells.
    ///
    /// Every row counts as wide as the widest one.
    pub(crate) fn size(&self) -> (u64, u64) {
        (self.cells.len() as u64, self.rows.len() as u64 * u64::from(self.width))
    }

    /// Returns the numbers of the rows with values, in ascending order.
    pub fn lines(&self) -> impl Iterator<Item = u32> {
        self.rows.iter().map(|row| row.number)
    }

    /// Returns the first column with a value and the one after the last, from 0.
    #[must_use]
    pub fn columns(&self) -> (usize, usize) {
        let first = self.cells.iter().map(|cell| cell.column).min().unwrap_or(1);
        (first as usize - 1, self.width as usize)
    }

    /// Returns the places of the rows that end before the widest one.
    ///
    /// Each comes with whether it has a number.
    pub fn short_rows(&self) -> impl Iterator<Item = (usize, bool)> {
        self.rows
            .iter()
            .enumerate()
            .filter_map(|(place, row)| (self.cells[row.end - 1].column < self.width).then_some((place, row.has_number)))
    }

    /// Returns the numbers of each column in a range of rows, by their places.
    ///
    /// An empty cell is NaN. A column with another value, or with none, has no numbers.
    #[must_use]
    pub fn numbers(&self, rows: Range<usize>) -> Vec<Option<Vec<f64>>> {
        let (first, end) = self.columns();
        let mut found: Vec<Option<Vec<f64>>> = vec![Some(Vec::new()); end - first];
        for (row, cell) in self.placed_cells().filter(|(row, _)| rows.contains(row)) {
            let column = &mut found[cell.column as usize - 1 - first];
            match (column.as_mut(), self.number(cell)) {
                (Some(numbers), Some(number)) => {
                    if numbers.is_empty() {
                        numbers.resize(rows.len(), f64::NAN);
                    }
                    numbers[row - rows.start] = number;
                }
                _ => *column = None,
            }
        }
        found.into_iter().map(|numbers| numbers.filter(|numbers| !numbers.is_empty())).collect()
    }

    /// Returns the row, the column and the text of each cell, counted from 0.
    pub fn cells(&self) -> impl Iterator<Item = (usize, usize, CellText<'_>)> {
        self.placed_cells().map(|(row, cell)| (row, cell.column as usize - 1, self.text(cell)))
    }

    fn placed_cells(&self) -> impl Iterator<Item = (usize, &Cell)> {
        let starts = [0].into_iter().chain(self.rows.iter().map(|row| row.end));
        let rows = starts.zip(&self.rows).enumerate();
        rows.flat_map(move |(place, (start, row))| self.cells[start..row.end].iter().map(move |cell| (place, cell)))
    }

    fn text(&self, cell: &Cell) -> CellText<'_> {
        let (start, end) = (cell.start as usize, cell.end as usize);
        if cell.content == Content::Shared { CellText::Shared(start) } else { CellText::Own(&self.texts[start..end]) }
    }

    fn number(&self, cell: &Cell) -> Option<f64> {
        let is_number = cell.content == Content::Number;
        if is_number { self.texts[cell.start as usize..cell.end as usize].parse().ok() } else { None }
    }
}
