use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::error::DataError;
use crate::market::columns::{Columns, Origin};
use crate::market::date::is_iso;
use crate::market::size_limits::check_rows;

/// The optional columns of a long file, in the order of [`Cells::optional`].
const OPTIONAL: [&str; 7] = ["open", "high", "low", "volume", "dividend", "split", "delisting_return"];

/// A record of a file: its line, and its fields without the surrounding quotes.
struct Record<'a> {
    line: usize,
    fields: Vec<Cow<'a, str>>,
}

/// Returns the columns of a CSV text, long or wide.
pub(crate) fn parse(text: &str) -> Result<Columns, DataError> {
    let records = records(text.strip_prefix('\u{feff}').unwrap_or(text))?;
    let Some((header, rows)) = records.split_first() else {
        return Err(missing("a header line", "an empty file"));
    };
    let names: Vec<String> = header.fields.iter().map(|name| name.trim().to_ascii_lowercase()).collect();
    if names.iter().any(|name| name == "symbol") { long(&names, header, rows) } else { wide(&names, header, rows) }
}

/// Refuses a first line that is not a header.
///
/// It runs before the other lines are compared with the header.
fn check_header(header: &Record<'_>) -> Result<(), DataError> {
    let first = &header.fields[0];
    let separator = [';', '\t', '|'].into_iter().find(|separator| first.contains(*separator));
    if let (Some(separator), 1) = (separator, header.fields.len()) {
        let hint = format!("hint: separate the columns with commas instead of {separator:?}");
        return Err(missing("a comma-separated header", &format!("{first:?}; {hint}")));
    }
    if first.len() >= 10 && first.is_char_boundary(10) && is_iso(&first[..10]) {
        let hint = "hint: the first line must name the columns";
        return Err(missing("column `date`", &format!("{:?}; {hint}", written(header))));
    }
    Ok(())
}

/// Returns a header as written.
fn written(header: &Record<'_>) -> String {
    header.fields.join(",")
}

fn missing(wanted: &str, received: &str) -> DataError {
    DataError::new("missing_column", format!("{wanted} is required; received {received}"))
}

/// Column positions of a long file.
struct Places {
    date: usize,
    symbol: usize,
    close: usize,
    optional: [Option<usize>; OPTIONAL.len()],
}

impl Places {
    fn of(names: &[String], header: &Record<'_>) -> Result<Self, DataError> {
        let received = format!("{:?}", written(header));
        let place = |wanted: &str| names.iter().position(|name| name == wanted);
        let required = |wanted: &str| place(wanted).ok_or_else(|| missing(&format!("column `{wanted}`"), &received));
        let (date, symbol, close) = (required("date")?, required("symbol")?, required("close")?);
        for (index, name) in names.iter().enumerate() {
            if !["date", "symbol", "close"].contains(&name.as_str()) && !OPTIONAL.contains(&name.as_str()) {
                let message = format!("columns must be date,symbol,close[,{}]; received {name:?}", OPTIONAL.join(","));
                return Err(DataError::new("unknown_column", message));
            }
            if names[..index].contains(name) {
                let message = format!("columns must be unique; received {name:?} twice");
                return Err(DataError::new("unknown_column", message));
            }
        }
        Ok(Self { date, symbol, close, optional: OPTIONAL.map(place) })
    }
}

/// The cells of a long file, by (date, symbol).
struct Cells {
    close: Vec<f64>,
    optional: [Option<Vec<f64>>; OPTIONAL.len()],
    line: Vec<usize>,
}

fn long(names: &[String], header: &Record<'_>, rows: &[Record<'_>]) -> Result<Columns, DataError> {
    let places = Places::of(names, header)?;
    let dates = ordered(rows.iter().map(|row| &*row.fields[places.date]));
    let symbols = ordered(rows.iter().map(|row| &*row.fields[places.symbol]));
    check_rows(rows.len(), symbols.len(), dates.len(), 1 + places.optional.iter().flatten().count())?;
    let size = dates.len() * symbols.len();
    let mut cells = Cells {
        close: vec![f64::NAN; size],
        optional: places.optional.map(|place| place.map(|_| vec![f64::NAN; size])),
        line: vec![Origin::NOWHERE; size],
    };
    let mut of_bar = vec![Origin::NOWHERE; dates.len()];
    for row in rows {
        let (day, name) = (&*row.fields[places.date], &*row.fields[places.symbol]);
        let cell = dates[day] * symbols.len() + symbols[name];
        let first = std::mem::replace(&mut cells.line[cell], row.line);
        if first != Origin::NOWHERE {
            let received = format!("{day} {name:?} on lines {first} and {}", row.line);
            let message = format!("a date and symbol must occur once; received {received}");
            return Err(DataError::new("duplicate_row", message));
        }
        of_bar[dates[day]] = row.line.min(of_bar[dates[day]]);
        cells.close[cell] = number(row, places.close, "close")?;
        for ((name, place), table) in OPTIONAL.iter().zip(places.optional).zip(&mut cells.optional) {
            if let (Some(place), Some(table)) = (place, table) {
                table[cell] = number(row, place, name)?;
            }
        }
    }
    Ok(filled(owned(&dates), owned(&symbols), cells, of_bar))
}

fn filled(dates: Vec<String>, symbols: Vec<String>, cells: Cells, of_bar: Vec<usize>) -> Columns {
    let [open, high, low, volume, dividends, splits, delistings] = cells.optional;
    let origin = Origin { is_text: true, of_bar, of_cell: cells.line };
    let tables = Columns { close: cells.close, open, high, low, volume, dividends, splits, ..Columns::default() };
    Columns { dates, symbols, delistings, origin, ..tables }
}

fn wide(names: &[String], header: &Record<'_>, rows: &[Record<'_>]) -> Result<Columns, DataError> {
    if names.first().is_none_or(|name| name != "date") {
        return Err(missing("a first column `date`", &format!("{:?}", written(header))));
    }
    let is_reserved = |name: &String| name == "close" || OPTIONAL.contains(&name.as_str());
    // LOW and OPEN are tickers too. Next to `close`, or without other columns, they are columns of one symbol.
    let one_symbol = names.iter().any(|name| name == "close") || names[1..].iter().all(is_reserved);
    if let Some(name) = names.iter().find(|name| one_symbol && is_reserved(name)) {
        let message = format!(
            "column `symbol` is required with {name:?}; received {:?}; hint: add it, or name each column of closes by its symbol",
            written(header)
        );
        return Err(DataError::new("missing_column", message));
    }
    if names[1..].iter().any(|name| name == "date") {
        let message = format!("columns must be unique; received \"date\" twice in {:?}", written(header));
        return Err(DataError::new("unknown_column", message));
    }
    let mut by_date = BTreeMap::new();
    for row in rows {
        if let Some(first) = by_date.insert(&*row.fields[0], row) {
            let message =
                format!("a date must occur once; received {} on lines {} and {}", row.fields[0], first.line, row.line);
            return Err(DataError::new("duplicate_row", message));
        }
    }
    let mut columns = Columns {
        symbols: header.fields[1..].iter().map(|name| name.trim().to_owned()).collect(),
        origin: Origin { is_text: true, ..Origin::default() },
        ..Columns::default()
    };
    for (date, row) in by_date {
        columns.dates.push(date.to_owned());
        columns.origin.of_bar.push(row.line);
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
fn number(row: &Record<'_>, index: usize, column: &str) -> Result<f64, DataError> {
    let text = &*row.fields[index];
    if text.is_empty() {
        return Ok(f64::NAN);
    }
    // `f64::from_str` also reads "nan" and "inf", which are not prices.
    let number = text.parse::<f64>().ok().filter(|number| number.is_finite());
    number.ok_or_else(|| {
        unparsable(&format!("`{column}` on line {} must be a finite number or empty; received {text:?}", row.line))
    })
}

fn unparsable(message: &str) -> DataError {
    DataError::new("field_unparsable", message.to_owned())
}

/// Returns the records of a text, each with as many fields as the first.
///
/// Blank lines are skipped.
fn records(text: &str) -> Result<Vec<Record<'_>>, DataError> {
    let mut reader = Reader { rest: text, line: 1 };
    let mut records: Vec<Record<'_>> = Vec::new();
    while let Some(record) = reader.record()? {
        if records.is_empty() {
            check_header(&record)?;
        }
        let expected = records.first().map_or(record.fields.len(), |first| first.fields.len());
        if record.fields.len() != expected {
            let (line, received) = (record.line, record.fields.len());
            return Err(unparsable(&format!("line {line} must have {expected} fields; received {received}")));
        }
        records.push(record);
    }
    Ok(records)
}

/// A reader of the RFC 4180 grammar.
///
/// It repairs no character.
struct Reader<'a> {
    rest: &'a str,
    line: usize,
}

impl<'a> Reader<'a> {
    fn record(&mut self) -> Result<Option<Record<'a>>, DataError> {
        while self.ends_line() {}
        if self.rest.is_empty() {
            return Ok(None);
        }
        let (line, mut fields) = (self.line, Vec::new());
        loop {
            fields.push(if self.rest.starts_with('"') { self.quoted()? } else { self.bare()? });
            match self.rest.strip_prefix(',') {
                Some(rest) => self.rest = rest,
                None => break,
            }
        }
        self.ends_line();
        Ok(Some(Record { line, fields }))
    }

    /// Consumes a line end if one is next: a line feed, a carriage return, or both.
    fn ends_line(&mut self) -> bool {
        let found = ["\r\n", "\n", "\r"].iter().find_map(|end| self.rest.strip_prefix(end));
        self.rest = found.unwrap_or(self.rest);
        self.line += usize::from(found.is_some());
        found.is_some()
    }

    fn bare(&mut self) -> Result<Cow<'a, str>, DataError> {
        let (field, rest) = self.rest.split_at(self.rest.find([',', '\r', '\n']).unwrap_or(self.rest.len()));
        if field.contains('"') {
            let message = format!("a field with a quote on line {} must be quoted; received {field:?}", self.line);
            return Err(unparsable(&message));
        }
        self.rest = rest;
        Ok(Cow::Borrowed(field))
    }

    fn quoted(&mut self) -> Result<Cow<'a, str>, DataError> {
        let (inner, mut end) = (&self.rest[1..], 0);
        loop {
            let Some(quote) = inner[end..].find('"') else {
                let message = format!("the quote opened on line {} must be closed; received the end", self.line);
                return Err(unparsable(&message));
            };
            end += quote;
            // A doubled quote is an escaped quote.
            if !inner[end + 1..].starts_with('"') {
                break;
            }
            end += 2;
        }
        let (field, rest) = (&inner[..end], &inner[end + 1..]);
        self.line += field.replace("\r\n", "\n").matches(['\r', '\n']).count();
        if !rest.is_empty() && !rest.starts_with([',', '\r', '\n']) {
            let next = rest.chars().take(20).collect::<String>();
            let message =
                format!("a closing quote on line {} must end its field; received {next:?} after it", self.line);
            return Err(unparsable(&message));
        }
        self.rest = rest;
        Ok(if field.contains('"') { Cow::Owned(field.replace("\"\"", "\"")) } else { Cow::Borrowed(field) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slug(text: &str) -> &'static str {
        parse(text).expect_err("must be refused").slug()
    }

    #[test]
    fn a_long_file_with_quotes_bom_and_crlf_makes_the_union_axis() {
        let text = "\u{feff}Date,Symbol,Close,Volume\r\n2020-01-03,\"B, Inc\",2.5,\r\n2020-01-02,A,1,10\r\n\r\n2020-01-03,A,1.5,20\r\n";
        let columns = parse(text).unwrap();
        assert_eq!(columns.dates, ["2020-01-02", "2020-01-03"]);
        assert_eq!(columns.symbols, ["A", "B, Inc"]);
        assert_eq!(format!("{:?}", columns.close), "[1.0, NaN, 1.5, 2.5]");
        assert_eq!(format!("{:?}", columns.volume.unwrap()), "[10.0, NaN, 20.0, NaN]");
        assert!(columns.open.is_none());
    }

    #[test]
    fn a_wide_file_has_one_column_of_closes_a_symbol() {
        let columns = parse("date,A,B\n2020-01-02,1,2\n2020-01-03,,3\n").unwrap();
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
        assert_eq!(slug("date,A\n2020-01-02,\"1\"2\n"), "field_unparsable");
        let error = parse("date,symbol,close\n2020-01-02,A,1\n2020-01-02,A,2\n").unwrap_err();
        assert_eq!(error.to_string(), "a date and symbol must occur once; received 2020-01-02 \"A\" on lines 2 and 3");
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
            assert_eq!(parse(text).unwrap_err().to_string(), message);
        }
        let columns = parse("date,\"A \"\"B\"\"\",\"\"\"\"\n2020-01-02,\"1\",\"\"").unwrap();
        assert_eq!(columns.symbols, ["A \"B\"", "\""]);
        assert_eq!(format!("{:?}", columns.close), "[1.0, NaN]");
    }

    #[test]
    fn a_header_is_told_as_it_was_written() {
        let refused = |text: &str| parse(text).unwrap_err().to_string();
        let semicolons = refused("Date;A\n2020-01-02;1,5\n");
        let hint = "hint: separate the columns with commas instead of ';'";
        assert_eq!(semicolons, format!("a comma-separated header is required; received \"Date;A\"; {hint}"));
        let headless = refused("2020-01-02,A,1\n2020-01-03,A,1\n");
        let hint = "hint: the first line must name the columns";
        assert_eq!(headless, format!("column `date` is required; received \"2020-01-02,A,1\"; {hint}"));
        assert!(refused("Day,AAA\n").ends_with("received \"Day,AAA\""));
        assert!(refused("Symbol,\"Clo\nse\"\n").ends_with("received \"Symbol,Clo\\nse\""));
    }

    #[test]
    fn a_fault_of_data_names_the_line_it_stands_on() {
        let refused = |text: &str| crate::Dataset::from_csv(text, Some(252.0)).unwrap_err().to_string();
        let long = refused("date,symbol,close\n\n2020-01-03,A,1\n2020-01-02,B,1\n2020-01-02,A,-1\n");
        assert!(long.starts_with("`close` on line 5 (2020-01-02), column \"A\""), "{long}");
        let wide = refused("date,A,B\n2020-01-03,1,-1\n2020-01-02,1,1\n");
        assert!(wide.starts_with("`close` on line 2 (2020-01-03), column \"B\""), "{wide}");
        let name = refused("date,symbol,close\n2020-01-02,A,1\n2020-01-03, A,1\n2020-01-02, A,1\n");
        assert!(name.ends_with("received \" A\" on line 3"), "{name}");
        for date in ["2020-02-30", "2020-01-01T00:00:00"] {
            let text = refused(&format!("date,symbol,close\n{date},A,1\n2020-01-01,A,1\n2020-01-01,B,1\n{date},B,1\n"));
            assert!(text.starts_with("`date` on line 2 must be "), "{text}");
        }
    }
}
