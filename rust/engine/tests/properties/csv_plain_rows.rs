//! Rows without quotes are read as the same rows with quotes.
//!
//! Only the grammar reads quotes.

use openoutcry_engine::{CsvReader, Dataset};
use proptest::prelude::*;

use crate::random_market::config;

const NUMBERS: [&str; 14] = [
    "1",
    "179.18",
    "0.1",
    "1234567.25",
    "0.30000000000000004",
    "12345678901234567890",
    "9007199254740993",
    "1e5",
    ".5",
    "7.",
    "+2",
    "-3.5",
    "",
    "x",
];

/// A table of rows in its order, some moved, left out or with other numbers.
fn rows() -> impl Strategy<Value = Vec<[String; 4]>> {
    let row =
        |number: u32| [format!("2020-01-{:02}", 1 + number / 3), format!("S{}", number % 3), "5".into(), "10".into()];
    let change = (0..60_usize, 0..60_usize, prop_oneof![8 => Just(0_usize), 1 => Just(1), 1 => Just(2)]);
    let changes = prop::collection::vec((change, 0..NUMBERS.len()), 0..6);
    (1..20_u32, changes).prop_map(move |(n_dates, changes)| {
        let mut rows: Vec<[String; 4]> = (0..3 * n_dates).map(row).collect();
        for ((first, second, kind), number) in changes {
            let (first, second) = (first % rows.len(), second % rows.len());
            match kind {
                0 => rows[first][2 + second % 2] = NUMBERS[number].into(),
                1 => rows.swap(first, second),
                _ if rows.len() > 1 => drop(rows.remove(first)),
                _ => {}
            }
        }
        rows
    })
}

/// Returns what is read of a text in two parts, as text.
///
/// NaN is not equal to itself.
fn read(text: &str, cut: usize) -> String {
    let (first, second) = text.split_at(cut % text.len());
    let mut reader = CsvReader::new(text.len());
    let found = reader.push(first).and_then(|()| reader.push(second)).and_then(|()| reader.columns());
    let market = found.clone().and_then(|columns| Dataset::with_periods_per_year(columns, Some(252.0)));
    format!("{found:?} {:?}", market.map(|market| market.fingerprint()))
}

proptest! {
    #![proptest_config(config(400))]

    #[test]
    fn rows_without_quotes_are_those_with_quotes(
        rows in rows(), end in prop_oneof![Just("\n"), Just("\r\n"), Just("\r"), Just("\n\n")], cut in any::<usize>(),
    ) {
        let text = |quote: &str| {
            let line = |row: &[String; 4]| row.iter().map(|field| format!("{quote}{field}{quote}")).collect::<Vec<_>>().join(",");
            let lines: Vec<String> = rows.iter().map(line).collect();
            format!("date,symbol,close,volume{end}{}", lines.join(end))
        };
        let (plain, quoted) = (text(""), text("\""));
        prop_assert_eq!(read(&plain, cut), read(&quoted, 0));
        prop_assert_eq!(read(&plain, 0), read(&(plain.clone() + end), cut));
    }
}
