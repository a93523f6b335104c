use std::collections::BTreeMap;

use crate::columns::Columns;
use crate::dataset::check_size;
use crate::error::DataError;

/// The optional columns of a long file, in the order of [`Cells::optional`].
const OPTIONAL: [&str; 7] = ["open", "high", "low", "volume", "dividend", "split", "delisting_return"];

/// A record of a file: its line, and its fields without the surrounding quotes.
struct Record {
    line: u64,
    fields: Vec<String>,
}

/// Returns the columns of a CSV text, long or wide.
pub(crate) fn parse(text: &str, periods_per_year: f64) -> Result<Columns, DataError> {
    let records = records(text.strip_prefix('\u{feff}').unwrap_or(text))?;
    let Some((header, rows)) = records.split_first() else {
        return Err(missing("a header line", "an empty file"));
    };
    let names: Vec<String> = header.fields.iter().map(|name| name.trim().to_ascii_lowercase()).collect();
    let mut columns =
        if names.iter().any(|name| name == "symbol") { long(&names, rows)? } else { wide(&names, header, rows)? };
    columns.periods_per_year = periods_per_year;
    Ok(columns)
}

fn missing(wanted: &str, received: &str) -> DataError {
    DataError::new("missing_column", format!("{wanted} is required; received {received}"))
}

/// The cells of a long file, found by (date, symbol).
struct Cells {
    close: Vec<f64>,
    optional: [Option<Vec<f64>>; OPTIONAL.len()],
}

fn long(names: &[String], rows: &[Record]) -> Result<Columns, DataError> {
    let received = names.join(",");
    let place = |wanted: &str| names.iter().position(|name| name == wanted);
    let required = |wanted: &str| place(wanted).ok_or_else(|| missing(&format!("column `{wanted}`"), &received));
    let (date, symbol, close) = (required("date")?, required("symbol")?, required("close")?);
    for (index, name) in names.iter().enumerate() {
        if !["date", "symbol", "close"].contains(&name.as_str()) && !OPTIONAL.contains(&name.as_str()) {
            let message = format!("columns must be date,symbol,close[,{}]; received {name:?}", OPTIONAL.join(","));
            return Err(DataError::new("unknown_column", message));
        }
        if names[..index].contains(name) {
            return Err(DataError::new("unknown_column", format!("columns must be unique; received {name:?} twice")));
        }
    }
    let dates = ordered(rows.iter().map(|row| row.fields[date].as_str()));
    let symbols = ordered(rows.iter().map(|row| row.fields[symbol].as_str()));
    check_size(symbols.len(), dates.len())?;
    let size = dates.len() * symbols.len();
    let mut cells =
        Cells { close: vec![f64::NAN; size], optional: OPTIONAL.map(|name| place(name).map(|_| vec![f64::NAN; size])) };
    let mut line_of = vec![0; size];
    for row in rows {
        let (day, name) = (row.fields[date].as_str(), row.fields[symbol].as_str());
        let cell = dates[day] * symbols.len() + symbols[name];
        if line_of[cell] > 0 {
            let message = format!(
                "a date and symbol must occur once; received {day} {name:?} on lines {} and {}",
                line_of[cell], row.line
            );
            return Err(DataError::new("duplicate_row", message));
        }
        line_of[cell] = row.line;
        cells.close[cell] = number(row, close, "close")?;
        for (name, table) in OPTIONAL.iter().zip(&mut cells.optional) {
            if let (Some(index), Some(table)) = (place(name), table) {
                table[cell] = number(row, index, name)?;
            }
        }
    }
    let [open, high, low, volume, dividends, splits, delistings] = cells.optional;
    let (dates, symbols) = (owned(&dates), owned(&symbols));
    Ok(Columns {
        dates,
        symbols,
        close: cells.close,
        open,
        high,
        low,
        volume,
        dividends,
        splits,
        delistings,
        ..Columns::default()
    })
}

fn wide(names: &[String], header: &Record, rows: &[Record]) -> Result<Columns, DataError> {
    if names.first().is_none_or(|name| name != "date") {
        return Err(missing("column `date`, first,", &format!("{:?}", names.join(","))));
    }
    let is_reserved = |name: &String| name == "close" || OPTIONAL.contains(&name.as_str());
    // LOW and OPEN are tickers too; beside `close`, or alone, they are columns of one symbol.
    let one_symbol = names.iter().any(|name| name == "close") || names[1..].iter().all(is_reserved);
    if let Some(name) = names.iter().find(|name| one_symbol && is_reserved(name)) {
        let message = format!(
            "column `symbol` is required beside {name:?}; received {}; hint: a wide file has one column of closes a symbol",
            names.join(",")
        );
        return Err(DataError::new("missing_column", message));
    }
    if names[1..].iter().any(|name| name == "date") {
        let message = format!("columns must be unique; received \"date\" twice in {}", names.join(","));
        return Err(DataError::new("unknown_column", message));
    }
    let mut by_date = BTreeMap::new();
    for row in rows {
        if let Some(first) = by_date.insert(row.fields[0].as_str(), row) {
            let message =
                format!("a date must occur once; received {} on lines {} and {}", row.fields[0], first.line, row.line);
            return Err(DataError::new("duplicate_row", message));
        }
    }
    let mut columns = Columns {
        symbols: header.fields[1..].iter().map(|name| name.trim().to_owned()).collect(),
        ..Columns::default()
    };
    for (date, row) in by_date {
        columns.dates.push(date.to_owned());
        for (index, name) in header.fields.iter().enumerate().skip(1) {
            columns.close.push(number(row, index, name)?);
        }
    }
    Ok(columns)
}

/// Returns each distinct text with its rank.
fn ordered<'a>(texts: impl Iterator<Item = &'a str>) -> BTreeMap<&'a str, usize> {
    let mut ranks: BTreeMap<&str, usize> = texts.map(|text| (text, 0)).collect();
    for (rank, value) in ranks.values_mut().enumerate() {
        *value = rank;
    }
    ranks
}

fn owned(ranks: &BTreeMap<&str, usize>) -> Vec<String> {
    ranks.keys().map(|text| (*text).to_owned()).collect()
}

/// Returns the number in a field, NaN where it is empty.
fn number(row: &Record, index: usize, column: &str) -> Result<f64, DataError> {
    let text = row.fields[index].as_str();
    if text.is_empty() {
        return Ok(f64::NAN);
    }
    // `f64::from_str` also reads "nan" and "inf", which no price file means.
    let number = text.parse::<f64>().ok().filter(|number| number.is_finite());
    number.ok_or_else(|| {
        let message = format!("`{column}` on line {} must be a finite number or empty; received {text:?}", row.line);
        DataError::new("field_unparsable", message)
    })
}

/// Returns the records of a text, each with as many fields as the first.
///
/// Blank lines are none.
fn records(text: &str) -> Result<Vec<Record>, DataError> {
    use csv_core::{ReadRecordResult, Reader};
    let mut reader = Reader::new();
    let mut input = text.as_bytes();
    let mut output = vec![0; 1 << 10];
    let mut ends = vec![0; 1 << 6];
    let (mut written, mut ended) = (0, 0);
    let mut records: Vec<Record> = Vec::new();
    let (mut line, mut next_line) = (1, 1);
    loop {
        if ended == 0 && written == 0 {
            // Line ends and blank lines before a record are no part of it.
            let blank = input.iter().take_while(|byte| matches!(byte, b'\r' | b'\n')).count();
            line = next_line + newlines(&input[..blank]);
            next_line = line;
            input = &input[blank..];
        }
        let (result, read, wrote, found) = reader.read_record(input, &mut output[written..], &mut ends[ended..]);
        next_line += newlines(&input[..read]);
        input = &input[read..];
        written += wrote;
        ended += found;
        match result {
            ReadRecordResult::InputEmpty => {}
            ReadRecordResult::OutputFull => output.resize(output.len() * 2, 0),
            ReadRecordResult::OutputEndsFull => ends.resize(ends.len() * 2, 0),
            ReadRecordResult::Record => {
                let starts = std::iter::once(0).chain(ends[..ended].iter().copied());
                let fields: Vec<String> = starts
                    .zip(&ends[..ended])
                    .map(|(start, end)| String::from_utf8_lossy(&output[start..*end]).into_owned())
                    .collect();
                let expected = records.first().map_or(fields.len(), |first: &Record| first.fields.len());
                if fields.len() != expected {
                    let message = format!("line {line} must have {expected} fields; received {}", fields.len());
                    return Err(DataError::new("field_unparsable", message));
                }
                records.push(Record { line, fields });
                (written, ended) = (0, 0);
            }
            ReadRecordResult::End => return Ok(records),
        }
    }
}

fn newlines(text: &[u8]) -> u64 {
    text.split(|byte| *byte == b'\n').skip(1).count() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slug(text: &str) -> &'static str {
        parse(text, 252.0).expect_err("must be refused").slug()
    }

    #[test]
    fn a_long_file_with_quotes_bom_and_crlf_makes_the_union_axis() {
        let text = "\u{feff}Date,Symbol,Close,Volume\r\n2020-01-03,\"B, Inc\",2.5,\r\n2020-01-02,A,1,10\r\n\r\n2020-01-03,A,1.5,20\r\n";
        let columns = parse(text, 252.0).unwrap();
        assert_eq!(columns.dates, ["2020-01-02", "2020-01-03"]);
        assert_eq!(columns.symbols, ["A", "B, Inc"]);
        assert_eq!(format!("{:?}", columns.close), "[1.0, NaN, 1.5, 2.5]");
        assert_eq!(format!("{:?}", columns.volume.unwrap()), "[10.0, NaN, 20.0, NaN]");
        assert!(columns.open.is_none());
    }

    #[test]
    fn a_wide_file_has_one_column_of_closes_a_symbol() {
        let columns = parse("date,A,B\n2020-01-02,1,2\n2020-01-03,,3\n", 252.0).unwrap();
        assert_eq!(columns.symbols, ["A", "B"]);
        assert_eq!(format!("{:?}", columns.close), "[1.0, 2.0, NaN, 3.0]");
    }

    #[test]
    fn faults_are_refused_with_their_line() {
        assert_eq!(slug(""), "missing_column");
        assert_eq!(slug("symbol,close\nA,1\n"), "missing_column");
        assert_eq!(slug("date,open,close\n2020-01-02,1,1\n"), "missing_column");
        assert_eq!(slug("date,symbol,close,volumn\n2020-01-02,A,1,1\n"), "unknown_column");
        assert_eq!(slug("date,symbol,close\n2020-01-02,A,nan\n"), "field_unparsable");
        assert_eq!(slug("date,symbol,close\n2020-01-02,A\n"), "field_unparsable");
        assert_eq!(slug("date,A\n2020-01-02,1\n2020-01-02,1\n"), "duplicate_row");
        let error = parse("date,symbol,close\n2020-01-02,A,1\n2020-01-02,A,2\n", 252.0).unwrap_err();
        assert_eq!(error.to_string(), "a date and symbol must occur once; received 2020-01-02 \"A\" on lines 2 and 3");
    }
}
