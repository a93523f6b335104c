use openoutcry_engine::DayOrder;

use crate::backtest::condition_table::ConditionTable;

/// Numbers in the rows of holds that stand for all others.
const HOLDS: usize = 4096;

/// Most stored rows that are searched for the end of a stretch.
const AHEAD: usize = 256;

/// The orders of a run: one row per decision, one weight per symbol; NaN is a hold.
///
/// A table in which most rows only hold stores the others alone.
#[derive(Clone, Debug)]
pub struct OrderTable {
    n_symbols: usize,
    rows: Rows,
    /// Whether every weight is known to be finite or NaN.
    is_checked: bool,
    /// Absent without a condition: most tables have none, and are moved often.
    conditions: Option<Box<ConditionTable>>,
}

#[derive(Clone, Debug)]
enum Rows {
    All(Vec<f64>),
    Some(SparseRows),
}

/// Rows with an order, and the decision of each.
///
/// `holds` are rows of holds to read in place of the others.
#[derive(Clone, Debug)]
struct SparseRows {
    n_rows: usize,
    at: Vec<usize>,
    stored: Vec<f64>,
    holds: Vec<f64>,
}

impl SparseRows {
    fn rows_from(&self, decision: usize, n: usize) -> &[f64] {
        let Self { n_rows, at, stored, holds } = self;
        let first = at.partition_point(|index| *index < decision);
        let next = at.get(first).copied().unwrap_or(*n_rows);
        assert!(decision < *n_rows, "one row per decision");
        if next > decision {
            return &holds[..((next - decision) * n).min(holds.len())];
        }
        let follows = |(place, index): (usize, &usize)| *index == decision + place;
        let n_stored = at[first..].iter().take(AHEAD).enumerate().take_while(|of| follows(*of)).count();
        &stored[first * n..(first + n_stored) * n]
    }
}

impl OrderTable {
    /// Returns a table of rows one after the other.
    #[must_use]
    pub fn new(rows: Vec<f64>, n_symbols: usize) -> Self {
        Self { n_symbols, rows: Rows::All(rows), is_checked: false, conditions: None }
    }

    /// Returns a table of weights that are known to be finite or NaN.
    pub(crate) fn finite(rows: Vec<f64>, n_symbols: usize) -> Self {
        Self { is_checked: true, ..Self::new(rows, n_symbols) }
    }

    /// Returns a copy of rows one after the other, without rows of holds if most are.
    #[must_use]
    pub fn copy(rows: &[f64], n_symbols: usize) -> Self {
        Self::copy_in(Vec::new(), rows, n_symbols)
    }

    /// Returns a copy as [`OrderTable::copy`] does, in the memory of other rows.
    #[must_use]
    pub fn copy_in(mut memory: Vec<f64>, rows: &[f64], n_symbols: usize) -> Self {
        let n_rows = rows.len() / n_symbols;
        let (mut at, mut is_sparse) = (Vec::new(), rows.len() == n_rows * n_symbols);
        for (index, row) in rows.chunks_exact(n_symbols).enumerate() {
            if !row.iter().all(|order| order.is_nan()) {
                is_sparse &= at.len() < n_rows / 8;
                if !is_sparse {
                    break;
                }
                at.push(index);
            }
        }
        if !is_sparse {
            memory.clear();
            memory.reserve_exact(rows.len());
            let mut is_checked = true;
            // Checked while they are near: a pass of its own would read all from memory again.
            for part in rows.chunks(1024) {
                is_checked &= !has_infinite(part);
                memory.extend_from_slice(part);
            }
            return Self { is_checked, ..Self::new(memory, n_symbols) };
        }
        let stored = at.iter().flat_map(|index| &rows[index * n_symbols..][..n_symbols]).copied().collect();
        let holds = vec![f64::NAN; (HOLDS / n_symbols).clamp(1, n_rows.max(1)) * n_symbols];
        let rows = Rows::Some(SparseRows { n_rows, at, stored, holds });
        Self { n_symbols, rows, is_checked: false, conditions: None }
    }

    /// Returns the number of weights in all rows.
    #[must_use]
    pub fn n_weights(&self) -> usize {
        match &self.rows {
            Rows::All(rows) => rows.len(),
            Rows::Some(rows) => rows.n_rows * self.n_symbols,
        }
    }

    /// Returns all rows, one after the other.
    #[must_use]
    pub fn to_vec(&self) -> Vec<f64> {
        match &self.rows {
            Rows::All(rows) => rows.clone(),
            Rows::Some(sparse) => {
                let mut rows = vec![f64::NAN; self.n_weights()];
                for (index, row) in sparse.at.iter().zip(sparse.stored.chunks_exact(self.n_symbols)) {
                    rows[index * self.n_symbols..][..self.n_symbols].copy_from_slice(row);
                }
                rows
            }
        }
    }

    /// Returns the memory of the rows, to be used again.
    #[must_use]
    pub fn into_memory(self) -> Vec<f64> {
        match self.rows {
            Rows::All(rows) => rows,
            Rows::Some(sparse) => sparse.stored,
        }
    }

    /// Returns this table with conditions of its orders.
    #[must_use]
    pub fn with_conditions(mut self, conditions: ConditionTable) -> Self {
        self.conditions = (!conditions.is_empty()).then(|| Box::new(conditions));
        self
    }

    /// Returns whether a decision has a condition.
    #[inline]
    pub(crate) fn is_conditional(&self, decision: usize) -> bool {
        self.conditions.as_ref().is_some_and(|of| of.next_from(decision) == Some(decision))
    }

    /// Returns the conditions of the orders.
    #[must_use]
    pub fn conditions(&self) -> &ConditionTable {
        static NONE: ConditionTable = ConditionTable::new();
        self.conditions.as_deref().unwrap_or(&NONE)
    }

    /// Returns the weights of a decision, and the conditions of its orders.
    ///
    /// # Panics
    ///
    /// Panics if the table has no such row.
    #[must_use]
    #[inline]
    pub fn decision(&self, decision: usize) -> (&[f64], &[DayOrder]) {
        let conditions = self.conditions.as_ref().map_or(&[][..], |of| of.of(decision));
        (&self.rows_from(decision)[..self.n_symbols], conditions)
    }

    /// Returns rows as [`OrderTable::rows_from`] does, before the next condition.
    ///
    /// There are none if `decision` itself has one.
    #[must_use]
    #[inline]
    pub fn plain_rows_from(&self, decision: usize) -> &[f64] {
        let rows = self.rows_from(decision);
        match self.conditions.as_ref().and_then(|of| of.next_from(decision)) {
            Some(next) => &rows[..rows.len().min((next - decision) * self.n_symbols)],
            None => rows,
        }
    }

    /// Returns the row of a decision, and some or all rows that follow it.
    ///
    /// # Panics
    ///
    /// Panics if the table has no such row.
    #[must_use]
    #[inline]
    pub fn rows_from(&self, decision: usize) -> &[f64] {
        match &self.rows {
            Rows::All(rows) => &rows[decision * self.n_symbols..],
            Rows::Some(sparse) => sparse.rows_from(decision, self.n_symbols),
        }
    }

    /// Returns the first weight that is infinite, after its place among all.
    pub(crate) fn infinite(&self) -> Option<(usize, f64)> {
        let stored = match &self.rows {
            Rows::All(rows) => rows,
            Rows::Some(sparse) => &sparse.stored,
        };
        if self.is_checked || !has_infinite(stored) {
            return None;
        }
        let place = stored.iter().position(|weight| weight.is_infinite())?;
        let row = match &self.rows {
            Rows::All(_) => place / self.n_symbols,
            Rows::Some(sparse) => sparse.at[place / self.n_symbols],
        };
        Some((row * self.n_symbols + place % self.n_symbols, stored[place]))
    }

    /// Adds a decision: its weights, and the conditions of its orders.
    pub(crate) fn push(&mut self, (row, conditions): (&[f64], &[DayOrder])) {
        let decision = self.n_weights() / self.n_symbols;
        self.is_checked = false;
        if !conditions.is_empty() {
            self.conditions.get_or_insert_default().push(decision, conditions);
        }
        self.all_rows().extend_from_slice(row);
    }

    /// Replaces the rows from `decision` on by holds, up to `n_rows` rows.
    pub(crate) fn hold_from(&mut self, decision: usize, n_rows: usize) {
        let n = self.n_symbols;
        if let Some(conditions) = &mut self.conditions {
            conditions.truncate(decision);
        }
        match &mut self.rows {
            Rows::All(rows) => {
                rows.truncate(decision * n);
                rows.resize(n_rows * n, f64::NAN);
            }
            Rows::Some(sparse) => {
                sparse.n_rows = n_rows;
                sparse.at.truncate(sparse.at.partition_point(|index| *index < decision));
                sparse.stored.truncate(sparse.at.len() * n);
            }
        }
    }

    /// Returns these rows one decision later.
    ///
    /// The first is a hold, and the last is dropped.
    ///
    /// `split` returns the ratio of a split of a symbol in the bar of a decision.
    pub(crate) fn delayed(&self, split: impl Fn(usize, usize) -> f64) -> Self {
        let mut delayed = self.clone();
        if let Some(conditions) = &mut delayed.conditions {
            conditions.delay(self.n_weights() / self.n_symbols, split);
        }
        match &mut delayed.rows {
            Rows::All(rows) => {
                let n = self.n_symbols.min(rows.len());
                rows.rotate_right(n);
                rows[..n].fill(f64::NAN);
            }
            Rows::Some(sparse) => {
                sparse.at.iter_mut().for_each(|index| *index += 1);
                let n_rows = sparse.n_rows;
                delayed.hold_from(n_rows, n_rows);
            }
        }
        delayed
    }

    fn all_rows(&mut self) -> &mut Vec<f64> {
        if let Rows::Some(_) = self.rows {
            self.rows = Rows::All(self.to_vec());
        }
        match &mut self.rows {
            Rows::All(rows) => rows,
            Rows::Some(_) => unreachable!("all rows are stored"),
        }
    }
}

/// Returns whether a weight is infinite, in a pass without branches.
fn has_infinite(rows: &[f64]) -> bool {
    rows.iter().fold(false, |found, weight| found | weight.is_infinite())
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOLD: f64 = f64::NAN;

    fn bits(rows: &[f64]) -> Vec<u64> {
        rows.iter().map(|order| order.to_bits()).collect()
    }

    fn copied(rows: &[f64]) -> OrderTable {
        OrderTable::copy(rows, 2)
    }

    /// Rows of two symbols with orders at the given decisions.
    fn rows_at(n_rows: usize, at: &[usize]) -> Vec<f64> {
        let mut rows = vec![HOLD; 2 * n_rows];
        for index in at {
            rows[2 * index + index % 2] = 0.25 + *index as f64;
        }
        rows
    }

    #[test]
    fn a_table_of_holds_reads_as_the_rows_it_was_copied_from() {
        for at in [vec![], vec![0], vec![5, 6, 7, 90], vec![199], (0..200).collect(), vec![0, 40, 41, 120, 199]] {
            let rows = rows_at(200, &at);
            let table = copied(&rows);
            assert_eq!(matches!(table.rows, Rows::Some(_)), at.len() < 25, "{at:?}");
            assert_eq!((bits(&table.to_vec()), table.n_weights()), (bits(&rows), 400));
            let mut decision = 0;
            while decision < 200 {
                for start in decision..200.min(decision + 3) {
                    let read = table.rows_from(start);
                    assert!(!read.is_empty() && read.len().is_multiple_of(2));
                    assert_eq!(bits(read), bits(&rows[2 * start..][..read.len()]));
                }
                decision += table.rows_from(decision).len() / 2;
            }
        }
    }

    #[test]
    fn a_change_is_that_of_the_rows_however_they_are_stored() {
        for at in [vec![0, 3, 99], (0..100).collect::<Vec<_>>()] {
            let rows = rows_at(100, &at);
            let mut table = copied(&rows);
            let late: Vec<f64> = [HOLD, HOLD].into_iter().chain(rows[..198].iter().copied()).collect();
            assert_eq!(bits(&table.delayed(|_, _| 1.0).to_vec()), bits(&late));
            table.hold_from(3, 100);
            let mut held = rows.clone();
            held[6..].fill(HOLD);
            assert_eq!(bits(&table.to_vec()), bits(&held));
            table.push((&[1.0, 2.0], &[]));
            assert_eq!(bits(&table.to_vec()[200..]), bits(&[1.0, 2.0]));
        }
    }

    #[test]
    fn an_infinite_weight_is_found_at_its_place() {
        for n_orders in [1, 10, 90] {
            let mut rows = rows_at(100, &(0..n_orders).collect::<Vec<_>>());
            assert_eq!(copied(&rows).infinite(), None);
            rows[2 * 95 + 1] = f64::INFINITY;
            assert_eq!(copied(&rows).infinite(), Some((191, f64::INFINITY)));
        }
    }
}
