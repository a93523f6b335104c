//! Rows of a long CSV text without quotes, in the usual forms of numbers.

use crate::market::csv_grammar::mark;
use crate::market::distinct_names::DistinctNames;
use crate::market::long_rows::OPTIONAL;
use crate::market::plain_number::plain_number;

/// The values of a row, by the columns of the rows.
pub(super) type Values = [f64; 1 + OPTIONAL.len()];

/// The kind of a field.
#[derive(Clone, Copy, Debug)]
pub(super) enum Kind {
    Date,
    Symbol,
    /// A value of a column of the rows.
    Value(usize),
}

/// A reader of rows without quotes, and the names in them so far.
#[derive(Debug)]
pub(super) struct PlainRows {
    pub(super) fields: Vec<Kind>,
    pub(super) dates: DistinctNames,
    pub(super) symbols: DistinctNames,
    /// Whether a field of a value was empty.
    pub(super) has_missing: bool,
}

/// A row of a text.
pub(super) struct PlainRow {
    pub(super) date: u32,
    pub(super) symbol: u32,
    pub(super) values: Values,
    /// Place in the text after the end of the line.
    pub(super) end: usize,
}

impl PlainRows {
    pub(super) fn new(fields: Vec<Kind>) -> Self {
        Self { fields, dates: DistinctNames::new(), symbols: DistinctNames::new(), has_missing: false }
    }

    /// Reads the row that starts at `at`.
    ///
    /// `None` leaves the row to the grammar.
    #[inline]
    pub(super) fn row(&mut self, text: &str, mut at: usize) -> Option<PlainRow> {
        let (bytes, mut values) = (text.as_bytes(), [f64::NAN; 1 + OPTIONAL.len()]);
        let (mut date, mut symbol, mut has_missing) = (0, 0, false);
        for (place, kind) in self.fields.iter().enumerate() {
            let end = match kind {
                Kind::Date | Kind::Symbol => mark(bytes, at),
                Kind::Value(column) => {
                    let (value, end) = plain_number(bytes, at)?;
                    has_missing |= value.is_nan();
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
        // A row whose end is in a later part is read again.
        self.has_missing |= has_missing;
        Some(PlainRow { date, symbol, values, end: at })
    }
}
