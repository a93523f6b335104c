//! The rows of a long CSV text.

use crate::error::DataError;
use crate::market::columns::Columns;
use crate::market::csv_grammar::{Field, missing, number};
use crate::market::csv_plain::{Kind, PlainRows};
use crate::market::csv_rows::CsvRows;
use crate::market::long_rows::{LongRows, OPTIONAL};
use crate::market::row_lines::RowLines;

/// The rows of a long file.
#[derive(Debug)]
pub(super) struct Long {
    date: usize,
    symbol: usize,
    /// The position of each column of `rows`, and its name.
    places: Vec<(usize, &'static str)>,
    plain: PlainRows,
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
        let plain = PlainRows::new(fields);
        Ok(Self { date, symbol, places, plain, rows, lines: RowLines::default(), fault: None })
    }

    /// Reads the first rows of a text up to one that the grammar must read.
    ///
    /// That is a row with quotes or a rare form of a number. Returns the length of their lines and the number of lines.
    pub(super) fn take_plain(&mut self, text: &str, first_line: usize) -> (usize, usize) {
        let (mut length, mut n_lines) = (0, 0);
        while let Some(row) = self.plain.row(text, length) {
            self.lines.push(self.rows.len(), first_line + n_lines);
            self.rows.push(row.date, row.symbol, &row.values[..self.places.len()]);
            (length, n_lines) = (row.end, n_lines + 1);
        }
        (length, n_lines)
    }

    /// Returns a reader of rows of later parts.
    pub(super) fn beside(&self) -> CsvRows {
        CsvRows::new(self.plain.fields.clone(), self.places.len())
    }

    /// Adds rows on consecutive lines, and returns their number.
    pub(super) fn append(&mut self, found: &mut CsvRows, first_line: usize) -> usize {
        found.renumber(&mut self.plain);
        if !found.dates.is_empty() {
            self.lines.push(self.rows.len(), first_line);
        }
        self.rows.append(&found.dates, &found.symbols, &found.columns);
        found.dates.len()
    }

    /// Returns whether a field of a value was empty.
    pub(super) fn has_missing(&self) -> bool {
        self.plain.has_missing
    }

    pub(super) fn take(&mut self, fields: &[Field<'_>], line: usize) {
        let (row, mut values) = (self.rows.len(), [f64::NAN; 1 + OPTIONAL.len()]);
        for (value, (place, name)) in values.iter_mut().zip(&self.places) {
            match number(&fields[*place].text(), line, name) {
                Ok(number) => {
                    self.plain.has_missing |= number.is_nan();
                    *value = number;
                }
                Err(error) => {
                    self.fault.get_or_insert((row, error));
                }
            }
        }
        let (date, symbol) = (&fields[self.date].text(), &fields[self.symbol].text());
        self.lines.push(row, line);
        let (date, symbol) = (self.plain.dates.number(date), self.plain.symbols.number(symbol));
        self.rows.push(date, symbol, &values[..self.places.len()]);
    }

    /// Makes room for the rows of a text of `size` bytes after its first `n_bytes`.
    pub(super) fn expect(&mut self, size: usize, n_bytes: usize, reserve: fn(&mut Vec<f64>, usize)) {
        let n_rows = self.rows.len().saturating_mul(size) / n_bytes.max(1);
        // Rows of other parts may be shorter.
        let n_rows = (n_rows + n_rows / 16).min(size);
        self.rows.columns_mut().for_each(|column| reserve(column, n_rows));
    }

    pub(super) fn columns(self) -> Result<Columns, DataError> {
        let (dates, symbols) = (self.plain.dates.into_names(), self.plain.symbols.into_names());
        self.rows.of_text(dates, symbols, Some(self.lines), self.fault)
    }
}
