//! Reads a CSV text, long or wide, as it arrives in parts.

use std::mem;

use crate::counted_nouns::counted;
use crate::error::DataError;
use crate::market::columns::Columns;
use crate::market::csv_grammar::{Field, Grammar, Stop, missing, unparsable};
use crate::market::csv_long::Long;
use crate::market::csv_rows::CsvRows;
use crate::market::csv_wide::Wide;
use crate::market::date::is_iso;

/// A reader of a CSV text that arrives in parts.
///
/// It holds the numbers of the rows and no text, so that a file needs not be in memory.
#[derive(Debug)]
pub struct CsvReader {
    /// The start of a record that a later part completes.
    rest: String,
    /// The length of `rest` at which it is read again.
    wanted: usize,
    line: usize,
    has_started: bool,
    /// Length of the text in bytes, 0 if unknown.
    size: usize,
    reserve: Reserve,
    n_fields: usize,
    body: Body,
}

/// Makes room for so many more numbers, if there is any.
type Reserve = fn(&mut Vec<f64>, usize);

/// The rows after a header.
#[derive(Debug)]
enum Body {
    NoHeader,
    Long(Box<Long>),
    Wide(Wide),
    /// The header is refused, after the grammar of the whole text.
    Refused(DataError),
}

impl Default for CsvReader {
    fn default() -> Self {
        Self::new(0)
    }
}

impl CsvReader {
    /// Returns a reader of a text of about `size` bytes, 0 if unknown.
    #[must_use]
    pub fn new(size: usize) -> Self {
        // Without the room the rows grow as usual, or fail there.
        Self::with_room(size, |numbers, n_more| drop(numbers.try_reserve_exact(n_more)))
    }

    /// Returns a reader with another way to make room for its rows.
    #[must_use]
    pub fn with_room(size: usize, reserve: fn(&mut Vec<f64>, usize)) -> Self {
        let (rest, body) = (String::new(), Body::NoHeader);
        Self { rest, wanted: 0, line: 1, has_started: false, size, reserve, n_fields: 0, body }
    }

    /// Reads the next part of the text.
    ///
    /// # Errors
    ///
    /// Returns an error if the text is not CSV with the same number of fields on each line.
    pub fn push(&mut self, part: &str) -> Result<(), DataError> {
        let text = if self.has_started { part } else { part.strip_prefix('\u{feff}').unwrap_or(part) };
        self.has_started |= !part.is_empty();
        if self.rest.is_empty() {
            self.read(text, false)?;
            if let Body::Long(long) = &mut self.body {
                long.expect(mem::take(&mut self.size), text.len(), self.reserve);
            }
            return Ok(());
        }
        let mut others = text;
        // Most records end with their line, so that the others need no copy.
        if let Some(end) = text.find('\n').filter(|_| self.rest.len() <= text.len()) {
            let (line, later) = text.split_at(end + 1);
            let record = mem::take(&mut self.rest) + line;
            self.read(&record, false)?;
            if self.rest.is_empty() {
                return self.read(later, false);
            }
            others = later;
        }
        self.rest.push_str(others);
        // A record of many parts is read again only when its length has doubled.
        if self.rest.len() < self.wanted {
            return Ok(());
        }
        let text = mem::take(&mut self.rest);
        self.read(&text, false)
    }

    /// Returns a reader of rows of later parts, `None` unless the text is long.
    ///
    /// It can read a part while this one reads the part before it.
    #[must_use]
    pub fn beside(&self) -> Option<CsvRows> {
        if let Body::Long(long) = &self.body { Some(long.beside()) } else { None }
    }

    /// Reads the next part of the text, of which `rows` has read the first rows.
    ///
    /// They are read again if the part does not begin with a line.
    ///
    /// # Errors
    ///
    /// Returns an error as [`CsvReader::push`] does.
    pub fn push_rows(&mut self, part: &str, rows: &mut CsvRows) -> Result<(), DataError> {
        let mut n_bytes = 0;
        if let Body::Long(long) = &mut self.body
            && self.rest.is_empty()
        {
            self.line += long.append(rows, self.line);
            n_bytes = rows.n_bytes;
        }
        rows.forget();
        self.push(&part[n_bytes..])
    }

    /// Reads the end of the text, and returns whether a value is missing.
    ///
    /// # Errors
    ///
    /// Returns an error as [`CsvReader::push`] does.
    pub fn finish(&mut self) -> Result<bool, DataError> {
        let text = mem::take(&mut self.rest);
        self.read(&text, true)?;
        Ok(match &self.body {
            Body::Long(long) => long.has_missing(),
            Body::Wide(wide) => wide.has_missing(),
            Body::NoHeader | Body::Refused(_) => false,
        })
    }

    /// Returns the columns of the text.
    ///
    /// # Errors
    ///
    /// Returns the first fault with its line.
    pub fn columns(mut self) -> Result<Columns, DataError> {
        self.finish()?;
        match self.body {
            Body::NoHeader => Err(missing("a header line", "an empty file")),
            Body::Long(long) => long.columns(),
            Body::Wide(wide) => wide.columns(),
            Body::Refused(error) => Err(error),
        }
    }

    fn read(&mut self, text: &str, is_last: bool) -> Result<(), DataError> {
        let mut grammar = Grammar::new(text, self.line, is_last);
        let mut fields = Vec::new();
        loop {
            if let Body::Long(long) = &mut self.body {
                let (n_bytes, n_lines) = long.take_plain(grammar.rest, grammar.line);
                (grammar.rest, grammar.line) = (&grammar.rest[n_bytes..], grammar.line + n_lines);
            }
            let (rest, line) = (grammar.rest, grammar.line);
            match grammar.record(&mut fields) {
                Ok(Some(line)) => self.take(&fields, line)?,
                Ok(None) => return Ok(()),
                Err(Stop::Fault(error)) => return Err(error),
                Err(Stop::Incomplete) => {
                    (self.rest, self.line, self.wanted) = (rest.to_owned(), line, 2 * rest.len());
                    return Ok(());
                }
            }
        }
    }

    fn take(&mut self, fields: &[Field<'_>], line: usize) -> Result<(), DataError> {
        if matches!(self.body, Body::NoHeader) {
            let header: Vec<String> = fields.iter().map(|field| field.text().into_owned()).collect();
            check_header(&header)?;
            self.n_fields = fields.len();
            self.body = body(&header).unwrap_or_else(Body::Refused);
            return Ok(());
        }
        if fields.len() != self.n_fields {
            let (expected, received) = (self.n_fields, fields.len());
            return Err(unparsable(format!(
                "line {line} must have {}; received {received}",
                counted(expected, "field")
            )));
        }
        match &mut self.body {
            Body::Long(long) => long.take(fields, line),
            Body::Wide(wide) => wide.take(fields, line),
            Body::NoHeader | Body::Refused(_) => {}
        }
        Ok(())
    }
}

/// Returns the columns of a CSV text, long or wide.
pub(crate) fn parse(text: &str) -> Result<Columns, DataError> {
    let mut reader = CsvReader::default();
    reader.push(text)?;
    reader.columns()
}

/// Refuses a first line that is not a header.
///
/// It runs before the other lines are compared with the header.
fn check_header(header: &[String]) -> Result<(), DataError> {
    let first = &header[0];
    let separator = [';', '\t', '|'].into_iter().find(|separator| first.contains(*separator));
    if let (Some(separator), 1) = (separator, header.len()) {
        let hint = format!("hint: separate the columns with commas instead of {separator:?}");
        return Err(missing("a comma-separated header", &format!("{first:?}; {hint}")));
    }
    if first.len() >= 10 && first.is_char_boundary(10) && is_iso(&first[..10]) {
        let hint = "hint: the first line must name the columns";
        return Err(missing("column `date`", &format!("{:?}; {hint}", header.join(","))));
    }
    Ok(())
}

fn body(header: &[String]) -> Result<Body, DataError> {
    let names: Vec<String> = header.iter().map(|name| name.trim().to_ascii_lowercase()).collect();
    if names.iter().any(|name| name == "symbol") {
        Long::of(&names, header).map(|long| Body::Long(Box::new(long)))
    } else {
        Wide::of(&names, header).map(Body::Wide)
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
        assert_eq!(columns.dates.texts(0..2), ["2020-01-02", "2020-01-03"]);
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
