//! Rows of a long source, and the tables that they fill.

use crate::counted_nouns::counted;
use crate::error::DataError;
use crate::market::columns::{Columns, Origin};
use crate::market::row_keys::RowKeys;
use crate::market::row_lines::RowLines;
use crate::market::size_limits::check_rows;

/// The optional columns of a long source, in the order of their refusals.
pub(crate) const OPTIONAL: [&str; 7] = ["open", "high", "low", "volume", "dividend", "split", "delisting_return"];

/// Rows of one date, one symbol and a value per column.
///
/// Dates and symbols are numbers of names, which are known at the end.
#[derive(Debug, Default)]
pub struct LongRows {
    keys: RowKeys,
    /// The columns and their values by row; `close` is the first.
    values: Vec<(&'static str, Vec<f64>)>,
}

impl LongRows {
    /// Returns rows of `close` and of the optional columns among `names`.
    #[must_use]
    pub fn new(names: &[String]) -> Self {
        let is_named = |name: &&str| names.iter().any(|known| known == name);
        let columns = ["close"].into_iter().chain(OPTIONAL.into_iter().filter(is_named));
        Self { values: columns.map(|name| (name, Vec::new())).collect(), ..Self::default() }
    }

    /// Returns the names of the columns, in the order of the values of a row.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.values.iter().map(|(name, _)| *name)
    }

    /// Returns the number of rows.
    #[must_use]
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// Returns whether there is no row.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the values of each column.
    pub(crate) fn columns_mut(&mut self) -> impl Iterator<Item = &mut Vec<f64>> {
        self.values.iter_mut().map(|(_, column)| column)
    }

    /// Adds a row with a value per column.
    pub(crate) fn push(&mut self, date: u32, symbol: u32, values: &[f64]) {
        self.keys.push(date, symbol);
        for ((_, column), value) in self.values.iter_mut().zip(values) {
            column.push(*value);
        }
    }

    /// Adds rows: the number of each date and symbol, and the values by column.
    pub(crate) fn append(&mut self, dates: &[u32], symbols: &[u32], columns: &[Vec<f64>]) {
        self.keys.extend(dates, symbols);
        for ((_, column), values) in self.values.iter_mut().zip(columns) {
            column.extend_from_slice(values);
        }
    }

    /// Adds rows without values: the number of each date and symbol.
    ///
    /// # Panics
    ///
    /// Panics if the slices differ in length.
    pub fn push_keys(&mut self, dates: &[u32], symbols: &[u32]) {
        assert_eq!(dates.len(), symbols.len(), "a date and a symbol per row");
        self.keys.extend(dates, symbols);
    }

    /// Replaces the values of a column.
    ///
    /// # Panics
    ///
    /// Panics if there is no such column.
    pub fn set_values(&mut self, column: usize, values: Vec<f64>) {
        self.values[column].1 = values;
    }

    /// Returns the columns of a market.
    ///
    /// `dates` and `symbols` are the names of the numbers.
    ///
    /// # Errors
    ///
    /// Returns an error if a number has no name or a column has not a value per row, if the tables would be much larger
    /// than the rows, or if a date and symbol occur twice.
    pub fn columns(self, dates: Vec<String>, symbols: Vec<String>) -> Result<Columns, DataError> {
        if !self.keys.are_below(dates.len(), symbols.len()) {
            let message = "dates and symbols must name every number; received a number without a name".to_owned();
            return Err(DataError::new("shape_mismatch", message));
        }
        if let Some((name, values)) = self.values.iter().find(|(_, values)| values.len() != self.len()) {
            let message =
                format!("`{name}` must have {}, one per row; received {}", counted(self.len(), "value"), values.len());
            return Err(DataError::new("shape_mismatch", message));
        }
        self.of_text(dates, symbols, None, None)
    }

    /// Returns the columns of rows that stand on lines of a text.
    ///
    /// `fault` is the first invalid value and its row. A duplicate up to that row is refused before it.
    pub(crate) fn of_text(
        mut self,
        dates: Vec<String>,
        symbols: Vec<String>,
        lines: Option<RowLines>,
        fault: Option<(usize, DataError)>,
    ) -> Result<Columns, DataError> {
        check_rows(self.len(), symbols.len(), dates.len(), self.values.len())?;
        let mut origin = Origin { is_text: lines.is_some(), lines: lines.unwrap_or_default(), ..Origin::default() };
        if self.keys.are_table(dates.len(), symbols.len()) && dates.is_sorted() && symbols.is_sorted() {
            // Each row is the next cell: no value moves, and no cell occurs twice.
            origin.n_placed = self.len();
            let columns = Columns { dates: dates.into(), symbols, origin, ..Columns::default() };
            return fault.map_or_else(|| Ok(self.tables(columns, |values| values)), |(_, fault)| Err(fault));
        }
        let size = dates.len() * symbols.len();
        let (dates, bar_of) = sorted(dates);
        let (symbols, column_of) = sorted(symbols);
        // The numbers of dates become cells in place: there may be as many rows as cells.
        let (mut cells, symbol_of) = std::mem::take(&mut self.keys).into_keys();
        for (cell, symbol) in cells.iter_mut().zip(symbol_of) {
            *cell = bar_of[*cell as usize] * symbols.len() as u32 + column_of[symbol as usize];
        }
        let twice = first_duplicate(&cells, size);
        origin.cells = cells;
        if let Some((first, row)) = twice
            && fault.as_ref().is_none_or(|(place, _)| row <= *place)
        {
            let cell = origin.cells[row] as usize;
            let (day, name) = (&dates[cell / symbols.len()], &symbols[cell % symbols.len()]);
            let name = if origin.is_text { format!("{name:?}") } else { format!("'{name}'") };
            let received = format!("{day} {name} {}", origin.pair(first, row));
            let message = format!("a date and symbol must occur once; received {received}");
            return Err(DataError::new("duplicate_row", message));
        }
        if let Some((_, fault)) = fault {
            return Err(fault);
        }
        let cells = std::mem::take(&mut origin.cells);
        let columns = self.tables(Columns { dates: dates.into(), symbols, ..Columns::default() }, |values| {
            table(values, &cells, size)
        });
        Ok(Columns { origin: Origin { cells, ..origin }, ..columns })
    }

    /// Returns `columns` with the table of each column of values.
    fn tables(self, mut columns: Columns, table: impl Fn(Vec<f64>) -> Vec<f64>) -> Columns {
        for (name, values) in self.values {
            *table_of(&mut columns, name) = table(values);
        }
        columns
    }
}

/// Returns names in ascending order, and the rank of each number.
fn sorted(names: Vec<String>) -> (Vec<String>, Vec<u32>) {
    let mut order: Vec<(String, usize)> = names.into_iter().enumerate().map(|(number, name)| (name, number)).collect();
    order.sort_unstable();
    let mut ranks = vec![0; order.len()];
    for (rank, (_, number)) in order.iter().enumerate() {
        ranks[*number] = rank as u32;
    }
    (order.into_iter().map(|(name, _)| name).collect(), ranks)
}

/// Returns the two rows of the first cell that occurs twice.
fn first_duplicate(cells: &[u32], size: usize) -> Option<(usize, usize)> {
    let mut seen = vec![0_u64; size.div_ceil(64)];
    let row = cells.iter().position(|cell| {
        let (word, bit) = (&mut seen[*cell as usize / 64], 1 << (cell % 64));
        let is_seen = *word & bit != 0;
        *word |= bit;
        is_seen
    })?;
    let first = cells.iter().position(|cell| *cell == cells[row])?;
    Some((first, row))
}

/// Returns the table of values by row.
fn table(values: Vec<f64>, cells: &[u32], size: usize) -> Vec<f64> {
    // Rows sorted by date and symbol without a gap are the table.
    if values.len() == size && cells.iter().enumerate().all(|(row, cell)| row == *cell as usize) {
        return values;
    }
    let mut table = vec![f64::NAN; size];
    for (cell, value) in cells.iter().zip(values) {
        table[*cell as usize] = value;
    }
    table
}

fn table_of<'a>(columns: &'a mut Columns, name: &str) -> &'a mut Vec<f64> {
    let column = match name {
        "open" => &mut columns.open,
        "high" => &mut columns.high,
        "low" => &mut columns.low,
        "volume" => &mut columns.volume,
        "dividend" => &mut columns.dividends,
        "split" => &mut columns.splits,
        "delisting_return" => &mut columns.delistings,
        _ => return &mut columns.close,
    };
    column.get_or_insert_default()
}
