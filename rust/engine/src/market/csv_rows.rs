//! Rows of a part of a long CSV text, read while the part before it is read.

use crate::market::csv_plain::{Kind, PlainRows};

/// The number of a name that no row of the reader has so far.
const UNKNOWN: u32 = u32::MAX;

/// The rows of a part of a long text, which another thread can read.
///
/// Its names have numbers of their own. They get those of the reader when the rows are added to it.
#[derive(Debug)]
pub struct CsvRows {
    plain: PlainRows,
    pub(super) dates: Vec<u32>,
    pub(super) symbols: Vec<u32>,
    pub(super) columns: Vec<Vec<f64>>,
    /// Length of the lines that were read.
    pub(super) n_bytes: usize,
    /// The number of each name in the reader.
    date_of: Vec<u32>,
    symbol_of: Vec<u32>,
}

impl CsvRows {
    pub(super) fn new(fields: Vec<Kind>, n_columns: usize) -> Self {
        Self {
            plain: PlainRows::new(fields),
            dates: Vec::new(),
            symbols: Vec::new(),
            columns: vec![Vec::new(); n_columns],
            n_bytes: 0,
            date_of: Vec::new(),
            symbol_of: Vec::new(),
        }
    }

    /// Reads the rows of another part, which begins with a line.
    ///
    /// It stops at a row that the grammar must read. The rows of the part before are forgotten.
    pub fn read(&mut self, part: &str) {
        self.forget();
        while let Some(row) = self.plain.row(part, self.n_bytes) {
            self.dates.push(row.date);
            self.symbols.push(row.symbol);
            self.columns.iter_mut().zip(row.values).for_each(|(column, value)| column.push(value));
            self.n_bytes = row.end;
        }
    }

    /// Forgets the rows, but not their names.
    pub(super) fn forget(&mut self) {
        self.dates.clear();
        self.symbols.clear();
        self.columns.iter_mut().for_each(Vec::clear);
        (self.plain.has_missing, self.n_bytes) = (false, 0);
    }

    /// Replaces the numbers of names by those of the reader.
    pub(super) fn renumber(&mut self, of: &mut PlainRows) {
        of.has_missing |= self.plain.has_missing;
        for (numbers, known, found, names) in [
            (&mut self.dates, &mut self.date_of, &self.plain.dates, &mut of.dates),
            (&mut self.symbols, &mut self.symbol_of, &self.plain.symbols, &mut of.symbols),
        ] {
            known.resize(found.len(), UNKNOWN);
            for number in numbers {
                let of_reader = &mut known[*number as usize];
                if *of_reader == UNKNOWN {
                    *of_reader = names.number(found.name(*number));
                }
                *number = *of_reader;
            }
        }
    }
}
