//! Line numbers of the rows of a text.

/// The line of each row.
///
/// Rows on consecutive lines share one entry, so that a file of millions of rows has one.
#[derive(Clone, Debug, Default)]
pub struct RowLines {
    /// The first row of each run, and its line.
    runs: Vec<(usize, usize)>,
}

impl RowLines {
    /// Adds the line of the next row, which is `row`.
    pub(crate) fn push(&mut self, row: usize, line: usize) {
        let follows = self.runs.last().is_some_and(|(first, start)| start + (row - first) == line);
        if !follows {
            self.runs.push((row, line));
        }
    }

    /// Returns the line of a row that was added.
    pub(crate) fn of(&self, row: usize) -> usize {
        let run = self.runs.partition_point(|(first, _)| *first <= row);
        self.runs[..run].last().map_or(row, |(first, line)| line + (row - first))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_blank_line_begins_a_run() {
        let mut lines = RowLines::default();
        for (row, line) in [2, 3, 5, 6, 9].into_iter().enumerate() {
            lines.push(row, line);
        }
        assert_eq!((0..5).map(|row| lines.of(row)).collect::<Vec<_>>(), [2, 3, 5, 6, 9]);
        assert_eq!(lines.runs.len(), 3);
    }
}
