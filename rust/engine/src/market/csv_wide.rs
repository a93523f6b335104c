//! The rows of a wide CSV text.

use std::collections::BTreeMap;

use crate::error::DataError;
use crate::market::bar_fields::are_one_bar;
use crate::market::columns::{Columns, Origin};
use crate::market::csv_grammar::{Field, missing, number};
use crate::market::long_rows::OPTIONAL;

/// The rows of a wide file.
#[derive(Debug)]
pub(super) struct Wide {
    /// The name of each column as written.
    names: Vec<String>,
    /// The row of each date.
    rows: BTreeMap<String, usize>,
    lines: Vec<usize>,
    close: Vec<f64>,
    duplicate: Option<DataError>,
    /// The first invalid number by date.
    fault: Option<(String, DataError)>,
}

impl Wide {
    pub(super) fn of(names: &[String], header: &[String]) -> Result<Self, DataError> {
        let written = header.join(",");
        if names.first().is_none_or(|name| name != "date") {
            return Err(missing("a first column `date`", &format!("{written:?}")));
        }
        let is_reserved = |name: &String| name == "close" || OPTIONAL.contains(&name.as_str());
        // LOW and OPEN are tickers too. Next to `close`, or without other columns, they are columns of one symbol.
        let one_symbol = names.iter().any(|name| name == "close") || names[1..].iter().all(is_reserved);
        if let Some(name) = names.iter().find(|name| one_symbol && is_reserved(name)) {
            let message = format!(
                "column `symbol` is required with {name:?}; received {written:?}; hint: add it, or name each column of closes by its symbol"
            );
            return Err(DataError::new("missing_column", message));
        }
        if are_one_bar(&names[1..]) {
            let message = format!(
                "it must be clear which column is the `close`; received {written:?}; hint: name it `close` and add a column `symbol`, or name each column of closes by its symbol"
            );
            return Err(DataError::new("missing_column", message));
        }
        if names[1..].iter().any(|name| name == "date") {
            let message = format!("columns must be unique; received \"date\" twice in {written:?}");
            return Err(DataError::new("unknown_column", message));
        }
        Ok(Self {
            names: header.to_vec(),
            rows: BTreeMap::new(),
            lines: Vec::new(),
            close: Vec::new(),
            duplicate: None,
            fault: None,
        })
    }

    pub(super) fn take(&mut self, fields: &[Field<'_>], line: usize) {
        let (date, row) = (&*fields[0].text(), self.lines.len());
        self.lines.push(line);
        if let Some(first) = self.rows.insert(date.to_owned(), row) {
            let received = format!("{date} on lines {} and {line}", self.lines[first]);
            let message = format!("a date must occur once; received {received}");
            self.duplicate.get_or_insert_with(|| DataError::new("duplicate_row", message));
        }
        for (field, name) in fields.iter().zip(&self.names).skip(1) {
            let value = number(&field.text(), line, name).unwrap_or_else(|error| {
                if self.fault.as_ref().is_none_or(|(first, _)| date < first.as_str()) {
                    self.fault = Some((date.to_owned(), error));
                }
                f64::NAN
            });
            self.close.push(value);
        }
    }

    /// Returns whether a field of a close was empty.
    pub(super) fn has_missing(&self) -> bool {
        self.close.iter().any(|close| close.is_nan())
    }

    pub(super) fn columns(self) -> Result<Columns, DataError> {
        if let Some(error) = self.duplicate.or(self.fault.map(|(_, error)| error)) {
            return Err(error);
        }
        let symbols: Vec<String> = self.names[1..].iter().map(|name| name.trim().to_owned()).collect();
        let (dates, rows): (Vec<String>, Vec<usize>) = self.rows.into_iter().unzip();
        let close = if rows.is_sorted() {
            self.close
        } else {
            let row = |row: &usize| &self.close[row * symbols.len()..(row + 1) * symbols.len()];
            rows.iter().flat_map(row).copied().collect()
        };
        let of_bar = rows.iter().map(|row| self.lines[*row]).collect();
        let origin = Origin { is_text: true, of_bar, ..Origin::default() };
        Ok(Columns { dates: dates.into(), symbols, close, origin, ..Columns::default() })
    }
}
