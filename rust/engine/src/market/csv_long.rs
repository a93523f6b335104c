//! The rows of a long CSV text.

use crate::error::DataError;
use crate::market::columns::Columns;
use crate::market::csv_grammar::{Field, mark, missing, number};
use crate::market::distinct_names::DistinctNames;
use crate::market::long_rows::{LongRows, OPTIONAL};
use crate::market::plain_number::plain_number;
use crate::market::row_lines::RowLines;

/// The kind of a field.
#[derive(Clone, Copy, Debug)]
enum Kind {
    Date,
    Symbol,
    /// A value of a column of the rows.
    Value(usize),
}

/// The rows of a long file.
#[derive(Debug)]
pub(super) struct Long {
    date: usize,
    symbol: usize,
    fields: Vec<Kind>,
    /// The position of each column of `rows`, and its name.
    places: Vec<(usize, &'static str)>,
    dates: DistinctNames,
    symbols: DistinctNames,
    rows: LongRows,
    lines: RowLines,
    /// The first invalid number, and its row.
    fault: Option<(usize, DataError)>,
}

impl Long {
    pub(super) fn of(names: &[String], header: &[String]) -> Result<Self, DataError> {
        let received = format!("{:?}", header.join(","));
        let place = |wanted: &str| names.iter().position(|name| name == wanted);
        let required = |wanted: &str| place(wanted).ok_or_else(|| missing(&format!("column `{wanted}`"), &received));
        let (date, symbol, _) = (required("date")?, required("symbol")?, required("close")?);
        for (index, name) in names.iter().enumerate() {
            if !["date", "symbol", "close"].contains(&name.as_str()) && !OPTIONAL.contains(&name.as_str()) {
                let message = format!("columns must be date,symbol,close[,{}]; received {name:?}", OPTIONAL.join(","));
                return Err(DataError::new("unknown_column", message));
            }
            if names[..index].contains(name) {
                let message = format!("columns must be unique; received {name:?} twice");
                return Err(DataError::new("unknown_column", message));
            }
        }
        let rows = LongRows::new(names);
        let places: Vec<_> = rows.names().filter_map(|name| Some((place(name)?, name))).collect();
        let mut fields = vec![Kind::Date; names.len()];
        fields[symbol] = Kind::Symbol;
        places.iter().enumerate().for_each(|(column, (place, _))| fields[*place] = Kind::Value(column));
        let (dates, symbols) = (DistinctNames::new(), DistinctNames::new());
        Ok(Self { date, symbol, fields, places, dates, symbols, rows, lines: RowLines::default(), fault: None })
    }

    /// Reads the first rows of a text up to one that the grammar must read.
    ///
    /// That is a row with quotes or a rare form of a number. Returns the length of their lines and the number of lines.
    pub(super) fn take_plain(&mut self, text: &str, first_line: usize) -> (usize, usize) {
        let (mut length, mut n_lines) = (0, 0);
        while let Some(end) = self.take_plain_row(text, length, first_line + n_lines) {
            (length, n_lines) = (end, n_lines + 1);
        }
        (length, n_lines)
    }

    /// Reads the row that starts at `at` and returns its end.
    ///
    /// `None` leaves the row to the grammar.
    fn take_plain_row(&mut self, text: &str, mut at: usize, line: usize) -> Option<usize> {
        let (bytes, mut values) = (text.as_bytes(), [f64::NAN; 1 + OPTIONAL.len()]);
        let (mut date, mut symbol) = (0, 0);
        for (place, kind) in self.fields.iter().enumerate() {
            let end = match kind {
                Kind::Date | Kind::Symbol => mark(bytes, at),
                Kind::Value(column) => {
                    let (value, end) = plain_number(bytes, at)?;
                    values[*column] = value;
                    end
                }
            };
            let next = match (bytes.get(end)?, place + 1 == self.fields.len()) {
                (b',', false) | (b'\n', true) => end + 1,
                (b'\r', true) if bytes.get(end + 1) == Some(&b'\n') => end + 2,
                _ => return None,
            };
            // A name of a row that is left to the grammar has the same number there.
            match kind {
                Kind::Date => date = self.dates.number(&text[at..end]),
                Kind::Symbol => symbol = self.symbols.number(&text[at..end]),
                Kind::Value(_) => {}
            }
            at = next;
        }
        self.lines.push(self.rows.len(), line);
        self.rows.push(date, symbol, &values[..self.places.len()]);
        Some(at)
    }

    pub(super) fn take(&mut self, fields: &[Field<'_>], line: usize) {
        let (row, mut values) = (self.rows.len(), [f64::NAN; 1 + OPTIONAL.len()]);
        for (value, (place, name)) in values.iter_mut().zip(&self.places) {
            match number(&fields[*place].text(), line, name) {
                Ok(number) => *value = number,
                Err(error) => {
                    self.fault.get_or_insert((row, error));
                }
            }
        }
        let (date, symbol) = (&fields[self.date].text(), &fields[self.symbol].text());
        self.lines.push(row, line);
        self.rows.push(self.dates.number(date), self.symbols.number(symbol), &values[..self.places.len()]);
    }

    /// Makes room for the rows of a text of `size` bytes after its first `n_bytes`.
    pub(super) fn expect(&mut self, size: usize, n_bytes: usize) {
        let n_rows = self.rows.len().saturating_mul(size) / n_bytes.max(1);
        // Rows of other parts may be shorter.
        self.rows.reserve((n_rows + n_rows / 16).min(size));
    }

    pub(super) fn columns(self) -> Result<Columns, DataError> {
        self.rows.of_text(self.dates.into_names(), self.symbols.into_names(), Some(self.lines), self.fault)
    }
}
