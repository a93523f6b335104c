//! A CSV text in parts gives the columns, or the error, of the whole text.

use openoutcry_engine::{Columns, CsvReader, DataError, Dataset, LongRows};

const TEXTS: [&str; 16] = [
    "\u{feff}Date,Symbol,Close,Volume\r\n2020-01-03,\"B, Inc\",2.5,\r\n\r\n2020-01-02,A,1,10\r\n2020-01-03,A,1.5,20",
    "date,symbol,close\n2020-01-02,\"A \"\"b\"\"\",1\n2020-01-03,\"A\n\r\nb\",2\n",
    "date,symbol,open,close\r2020-01-02,A,,1\r2020-01-03,A,2,1e3\r",
    "date,A,B\n2020-01-03,1,2\n2020-01-02,,3\n",
    "date,symbol,close\n2020-01-02,A,x\n2020-01-02,A,1\n2020-01-02,A,2\n",
    "date,symbol,close\n2020-01-02,A,1\n2020-01-02,A,x\n",
    "date,symbol,close\n2020-01-02,A,1\n\n2020-01-02,A,2\n2020-01-03,A,x\n",
    "date,symbol,close\n2020-01-02,A,x\n2020-01-03,A\n",
    "date,symbol,closing\n2020-01-02,A,1\n2020-01-03,A,\"1\"2\n",
    "date,A\n2020-01-03,x\n2020-01-02,y\n",
    "date,A\n2020-01-03,x\n2020-01-03,1\n",
    "date,A\n2020-01-02,\"1\"2 and a rest of more than twenty characters\n",
    "date,A\n2020-01-02,\"1\n",
    "date,A\n2020-01-02,1\"\n",
    "2020-01-02,A,1\n2020-01-03,A,1\n",
    "",
];

fn read<'a>(parts: impl IntoIterator<Item = &'a str>) -> Result<Columns, DataError> {
    let mut reader = CsvReader::new(100);
    for part in parts {
        reader.push(part)?;
    }
    reader.columns()
}

/// Returns what was read as text: NaN is not equal to itself.
fn shown(found: &Result<Columns, DataError>) -> String {
    format!("{found:?}")
}

#[test]
fn a_text_in_two_parts_is_the_whole_text() {
    for text in TEXTS {
        let whole = shown(&read([text]));
        for (place, _) in text.char_indices() {
            let (first, second) = text.split_at(place);
            assert_eq!(shown(&read([first, second])), whole, "{first:?} and {second:?}");
        }
    }
}

#[test]
fn a_text_in_single_characters_is_the_whole_text() {
    for text in TEXTS {
        assert_eq!(shown(&read(text.split_inclusive(|_| true))), shown(&read([text])), "{text:?}");
    }
}

/// Returns what is read if another reader has the rows of each later part before.
fn read_beside(parts: &[&str]) -> Result<Columns, DataError> {
    let mut reader = CsvReader::new(100);
    reader.push(parts[0])?;
    let Some(mut rows) = reader.beside() else {
        parts[1..].iter().try_for_each(|part| reader.push(part))?;
        return reader.columns();
    };
    for part in &parts[1..] {
        rows.read(part);
        reader.push_rows(part, &mut rows)?;
    }
    reader.columns()
}

#[test]
fn rows_that_are_read_beside_are_those_of_the_whole_text() {
    let later = "date,symbol,close,volume\n2020-01-02,B,1,2\n2020-01-02,A,1,\n2020-01-03,A,1.5,3\n2020-01-03,C,1,4\n\n2020-01-06,B,2,5\n";
    for text in TEXTS.into_iter().chain([later]) {
        let whole = shown(&read([text]));
        let places: Vec<usize> = text.char_indices().map(|(place, _)| place).collect();
        for (number, first) in places.iter().enumerate() {
            let (start, rest) = text.split_at(*first);
            assert_eq!(shown(&read_beside(&[start, rest])), whole, "{start:?} and {rest:?}");
            for second in places[number..].iter().step_by(3) {
                let (middle, end) = rest.split_at(second - first);
                assert_eq!(shown(&read_beside(&[start, middle, end])), whole, "{start:?}, {middle:?} and {end:?}");
            }
        }
    }
}

#[test]
fn a_missing_value_is_known_at_the_end_and_a_cut_row_has_none() {
    let has_missing = |text: &str, place: usize| {
        let mut reader = CsvReader::new(0);
        let (first, second) = text.split_at(place);
        reader.push(first).and_then(|()| reader.push(second)).and_then(|()| reader.finish()).unwrap()
    };
    let whole = ["date,symbol,close\n2020-01-02,A,1\n2020-01-02,\"B\",2\n", "date,A,B\n2020-01-02,1,2\n"];
    let holes = [
        "date,symbol,volume,close\n2020-01-02,A,,1\n",
        "date,symbol,close\n2020-01-02,\"A\",\n",
        "date,symbol,close\n2020-01-02,A,1\n2020-01-03,A,",
        "date,A,B\n2020-01-02,,2\n",
    ];
    for (texts, expected) in [(&whole[..], false), (&holes[..], true)] {
        for text in texts {
            assert!((0..text.len()).all(|place| has_missing(text, place) == expected), "{text:?}");
        }
    }
}

#[test]
fn the_first_fault_is_that_of_the_grammar_then_of_the_rows_in_order() {
    let error = |place: usize| read([TEXTS[place]]).unwrap_err().to_string();
    // A number before the duplicate of its cell, a duplicate before the number of its row.
    assert!(error(4).starts_with("`close` on line 2 "), "{}", error(4));
    assert!(error(5).ends_with("received 2020-01-02 \"A\" on lines 2 and 3"), "{}", error(5));
    assert!(error(6).ends_with("received 2020-01-02 \"A\" on lines 2 and 4"), "{}", error(6));
    assert_eq!(error(7), "line 3 must have 3 fields; received 2");
    assert!(error(8).starts_with("a closing quote on line 3 "), "{}", error(8));
    // The rows of a wide file are in the order of their dates.
    assert!(error(9).starts_with("`A` on line 3 "), "{}", error(9));
}

#[test]
fn a_quote_that_is_not_of_the_grammar_is_refused_with_its_line() {
    let refusals = [
        ("date,A\n2020-01-02,\"1\"2\n", "a closing quote on line 2 must end its field; received \"2\\n\" after it"),
        ("date,A\n2020-01-02,\"1\n", "the quote opened on line 2 must be closed; received the end"),
        ("date,\"A\n\nB\"\n2020-01-02,\"", "the quote opened on line 4 must be closed; received the end"),
        ("date,A\n2020-01-02,1\"\n", "a field with a quote on line 2 must be quoted; received \"1\\\"\""),
    ];
    for (text, message) in refusals {
        assert_eq!(read([text]).unwrap_err().to_string(), message);
    }
    let columns = read(["date,\"A \"\"B\"\"\",\"\"\"\"\n2020-01-02,\"1\",\"\""]).unwrap();
    assert_eq!(columns.symbols, ["A \"B\"", "\""]);
    assert_eq!(format!("{:?}", columns.close), "[1.0, NaN]");
}

#[test]
fn rows_in_any_order_make_one_market() {
    let rows: Vec<(u32, u32)> = (0..60).map(|row| (row / 6, row % 6)).filter(|row| row.0 != row.1).collect();
    let market = |order: &[usize], shift: u32| {
        let mut long = LongRows::new(&["volume".to_owned(), "close".to_owned()]);
        assert_eq!(long.names().collect::<Vec<_>>(), ["close", "volume"]);
        let mut closes = Vec::new();
        for row in order {
            let (date, symbol) = rows[*row];
            let close = f64::from(1 + date * 6 + symbol);
            long.push_keys(&[(date + shift) % 10], &[(symbol + shift) % 6]);
            closes.push(close);
        }
        long.set_values(1, closes.iter().map(|close| 10.0 * close).collect());
        long.set_values(0, closes);
        // Numbers of names are in any order too.
        let dates = (0..10).map(|number| format!("2020-01-{:02}", 1 + (number + 10 - shift) % 10)).collect();
        let symbols = (0..6).map(|number| format!("S{}", (number + 6 - shift % 6) % 6)).collect();
        Dataset::with_periods_per_year(long.columns(dates, symbols).unwrap(), Some(252.0)).unwrap()
    };
    let forward: Vec<usize> = (0..rows.len()).collect();
    let expected = market(&forward, 0);
    let close = expected.column("close").unwrap();
    assert!(close[7].is_nan());
    assert_eq!(close[8], 9.0);
    for (step, shift) in [(7, 3), (53, 9)] {
        let order: Vec<usize> = forward.iter().map(|row| row * step % rows.len()).collect();
        assert_eq!(market(&order, shift).fingerprint(), expected.fingerprint());
    }
}

#[test]
fn a_number_without_a_name_is_refused() {
    let mut long = LongRows::new(&[]);
    long.push_keys(&[0, 1], &[0, 0]);
    long.set_values(0, vec![1.0, 2.0]);
    let error = long.columns(vec!["2020-01-02".to_owned()], vec!["A".to_owned()]).unwrap_err();
    assert_eq!(error.slug(), "shape_mismatch");
}

#[test]
fn a_row_without_a_value_is_refused() {
    let mut long = LongRows::new(&["volume".to_owned()]);
    long.push_keys(&[0, 1], &[0, 0]);
    long.set_values(0, vec![1.0, 2.0]);
    long.set_values(1, vec![1.0]);
    let error = long.columns(vec!["2020-01-02".to_owned(), "2020-01-03".to_owned()], vec!["A".to_owned()]).unwrap_err();
    assert_eq!(error.to_string(), "`volume` must have 2 values, one per row; received 1");
}
