//! The date and the symbol of each row of a long source.

/// Numbers of dates and symbols by row.
///
/// Rows in the order of a table, with each symbol on each date, are only counted.
#[derive(Debug)]
pub(crate) struct RowKeys {
    /// The rows, as long as they have the order of a table.
    order: Option<TableOrder>,
    dates: Vec<u32>,
    symbols: Vec<u32>,
}

/// Rows in the order of a table.
///
/// Row r has the date r / n and the symbol r % n.
#[derive(Clone, Copy, Debug, Default)]
struct TableOrder {
    /// Number of symbols; until a second date begins, that of the first so far.
    n_symbols: u32,
    /// The date and the symbol of the next row.
    next: (u32, u32),
}

impl Default for RowKeys {
    fn default() -> Self {
        Self { order: Some(TableOrder::default()), dates: Vec::new(), symbols: Vec::new() }
    }
}

impl TableOrder {
    fn len(self) -> usize {
        self.next.0 as usize * self.n_symbols as usize + self.next.1 as usize
    }

    fn n_dates(self) -> usize {
        self.next.0 as usize + usize::from(self.next.1 > 0)
    }

    /// Adds a row and returns whether it has its place.
    #[inline]
    fn accepts(&mut self, date: u32, symbol: u32) -> bool {
        if (date, symbol) == self.next {
            // The first date shows how many symbols there are.
            self.n_symbols = if date == 0 { symbol + 1 } else { self.n_symbols };
            self.next = if date > 0 && symbol + 1 == self.n_symbols { (date + 1, 0) } else { (date, symbol + 1) };
            return true;
        }
        let begins_second = (date, symbol) == (1, 0) && self.next.0 == 0 && self.n_symbols > 0;
        if begins_second {
            self.next = if self.n_symbols == 1 { (2, 0) } else { (1, 1) };
        }
        begins_second
    }

    /// Adds rows up to the first without its place, and returns how many.
    fn accepts_first(&mut self, dates: &[u32], symbols: &[u32]) -> usize {
        let mut n_placed = 0;
        while n_placed < dates.len() {
            // The rows that are left of one date need no branch each.
            let (date, symbol) = self.next;
            let n_rows = (self.n_symbols.saturating_sub(symbol) as usize).min(dates.len() - n_placed);
            let (of_date, of_symbol) = (&dates[n_placed..n_placed + n_rows], &symbols[n_placed..n_placed + n_rows]);
            let differ = |differ, row: ((u32, &u32), &u32)| differ | (*row.0.1 ^ row.0.0) | (*row.1 ^ date);
            let is_placed = (symbol..).zip(of_symbol).zip(of_date).fold(0, differ) == 0;
            if date > 0 && n_rows > 1 && is_placed {
                let end = symbol + n_rows as u32;
                self.next = if end == self.n_symbols { (date + 1, 0) } else { (date, end) };
                n_placed += n_rows;
            } else if self.accepts(dates[n_placed], symbols[n_placed]) {
                n_placed += 1;
            } else {
                break;
            }
        }
        n_placed
    }

    /// Returns the dates and the symbols of the rows.
    fn keys(self) -> (Vec<u32>, Vec<u32>) {
        let n_symbols = self.n_symbols.max(1) as usize;
        let rows = 0..self.len();
        (rows.clone().map(|row| (row / n_symbols) as u32).collect(), rows.map(|row| (row % n_symbols) as u32).collect())
    }
}

impl RowKeys {
    pub(crate) fn len(&self) -> usize {
        self.order.map_or(self.dates.len(), TableOrder::len)
    }

    #[inline]
    pub(crate) fn push(&mut self, date: u32, symbol: u32) {
        if !self.order.as_mut().is_some_and(|order| order.accepts(date, symbol)) {
            self.write_keys();
            self.dates.push(date);
            self.symbols.push(symbol);
        }
    }

    /// Adds a row for each date and symbol; the slices have one length.
    pub(crate) fn extend(&mut self, dates: &[u32], symbols: &[u32]) {
        let n_placed = self.order.as_mut().map_or(0, |order| order.accepts_first(dates, symbols));
        if n_placed < dates.len() {
            self.write_keys();
            self.dates.extend_from_slice(&dates[n_placed..]);
            self.symbols.extend_from_slice(&symbols[n_placed..]);
        }
    }

    /// Returns whether the rows are a whole table of so many dates and symbols.
    pub(crate) fn are_table(&self, n_dates: usize, n_symbols: usize) -> bool {
        let is_whole = |order: TableOrder| order.n_symbols as usize == n_symbols && order.len() == n_dates * n_symbols;
        self.order.is_some_and(is_whole)
    }

    /// Returns whether every date and symbol is below these counts.
    pub(crate) fn are_below(&self, n_dates: usize, n_symbols: usize) -> bool {
        let are_below = |keys: &[u32], count: usize| keys.iter().all(|key| (*key as usize) < count);
        match self.order {
            Some(order) => order.n_dates() <= n_dates && order.n_symbols as usize <= n_symbols,
            None => are_below(&self.dates, n_dates) && are_below(&self.symbols, n_symbols),
        }
    }

    /// Returns the dates and the symbols.
    pub(crate) fn into_keys(mut self) -> (Vec<u32>, Vec<u32>) {
        self.write_keys();
        (self.dates, self.symbols)
    }

    /// Writes the keys of rows that were only counted.
    fn write_keys(&mut self) {
        if let Some(order) = self.order.take() {
            (self.dates, self.symbols) = order.keys();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the keys after rows that arrive in two ways, which must agree.
    fn keys(rows: &[(u32, u32)], cut: usize) -> RowKeys {
        let (dates, symbols): (Vec<u32>, Vec<u32>) = rows.iter().copied().unzip();
        let (mut single, mut whole) = (RowKeys::default(), RowKeys::default());
        for (date, symbol) in rows {
            single.push(*date, *symbol);
        }
        whole.extend(&dates[..cut], &symbols[..cut]);
        whole.extend(&dates[cut..], &symbols[cut..]);
        assert_eq!(whole.len(), rows.len());
        assert_eq!(format!("{single:?}"), format!("{whole:?}"));
        single
    }

    #[test]
    fn rows_in_any_order_keep_their_keys() {
        // All rows of up to two dates and two symbols, up to length 5.
        for length in 0..6_u32 {
            for code in 0..4_u32.pow(length) {
                let rows: Vec<(u32, u32)> =
                    (0..length).map(|at| (code >> (2 * at) & 1, code >> (2 * at + 1) & 1)).collect();
                for cut in 0..=rows.len() {
                    let (dates, symbols) = keys(&rows, cut).into_keys();
                    assert_eq!(dates.into_iter().zip(symbols).collect::<Vec<_>>(), rows);
                }
            }
        }
    }

    #[test]
    fn whole_tables_are_only_counted() {
        for (n_dates, n_symbols) in [(1, 1), (1, 3), (3, 1), (2, 2), (4, 3)] {
            let rows: Vec<(u32, u32)> =
                (0..n_dates * n_symbols).map(|row| (row / n_symbols, row % n_symbols)).collect();
            let found = keys(&rows, rows.len() / 2);
            assert!(found.are_table(n_dates as usize, n_symbols as usize), "{found:?}");
            assert!(!keys(&rows[1..], 0).are_table(n_dates as usize, n_symbols as usize));
            let (dates, symbols) = found.into_keys();
            assert_eq!(dates.into_iter().zip(symbols).collect::<Vec<_>>(), rows);
        }
    }
}
