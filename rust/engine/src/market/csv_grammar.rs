//! The RFC 4180 grammar of records. It repairs no character.

use std::borrow::Cow;

use crate::error::DataError;

/// A field of a record, without the surrounding quotes.
#[derive(Clone, Copy)]
pub(crate) struct Field<'a> {
    written: &'a str,
    /// Whether a doubled quote stands for a quote.
    has_escape: bool,
}

impl<'a> Field<'a> {
    pub(crate) fn text(self) -> Cow<'a, str> {
        if self.has_escape { Cow::Owned(self.written.replace("\"\"", "\"")) } else { Cow::Borrowed(self.written) }
    }
}

/// The reason why a record was not read.
pub(crate) enum Stop {
    /// The part of the text ends before the record does.
    Incomplete,
    /// The record is not of the grammar.
    Fault(DataError),
}

/// A reader of the records of a text, or of a part of it.
pub(crate) struct Grammar<'a> {
    pub(crate) rest: &'a str,
    pub(crate) line: usize,
    /// Whether the text ends where `rest` ends.
    is_last: bool,
}

pub(crate) fn unparsable(message: String) -> DataError {
    DataError::new("field_unparsable", message)
}

pub(crate) fn missing(wanted: &str, received: &str) -> DataError {
    DataError::new("missing_column", format!("{wanted} is required; received {received}"))
}

fn fault(message: String) -> Stop {
    Stop::Fault(unparsable(message))
}

impl<'a> Grammar<'a> {
    pub(crate) fn new(rest: &'a str, line: usize, is_last: bool) -> Self {
        Self { rest, line, is_last }
    }

    /// Reads a record into `fields` and returns its line.
    ///
    /// `None` at the end of the text. Blank lines are skipped.
    pub(crate) fn record(&mut self, fields: &mut Vec<Field<'a>>) -> Result<Option<usize>, Stop> {
        while self.ends_line()? {}
        if self.rest.is_empty() {
            return if self.is_last { Ok(None) } else { Err(Stop::Incomplete) };
        }
        let line = self.line;
        fields.clear();
        loop {
            fields.push(if self.rest.starts_with('"') { self.quoted()? } else { self.bare()? });
            match self.rest.strip_prefix(',') {
                Some(rest) => self.rest = rest,
                None => break,
            }
        }
        self.ends_line()?;
        Ok(Some(line))
    }

    /// Consumes a line end if one is next: a line feed, a carriage return, or both.
    fn ends_line(&mut self) -> Result<bool, Stop> {
        let length = match self.rest.as_bytes() {
            [b'\r', b'\n', ..] => 2,
            [b'\r'] if !self.is_last => return Err(Stop::Incomplete),
            [b'\n' | b'\r', ..] => 1,
            _ => return Ok(false),
        };
        self.rest = &self.rest[length..];
        self.line += 1;
        Ok(true)
    }

    fn bare(&mut self) -> Result<Field<'a>, Stop> {
        let bytes = self.rest.as_bytes();
        let mut end = mark(bytes, 0);
        let has_quote = bytes.get(end) == Some(&b'"');
        while bytes.get(end) == Some(&b'"') {
            end = mark(bytes, end + 1);
        }
        if end == bytes.len() && !self.is_last {
            return Err(Stop::Incomplete);
        }
        let (field, rest) = self.rest.split_at(end);
        if has_quote {
            return Err(fault(format!(
                "a field with a quote on line {} must be quoted; received {field:?}",
                self.line
            )));
        }
        self.rest = rest;
        Ok(Field { written: field, has_escape: false })
    }

    fn quoted(&mut self) -> Result<Field<'a>, Stop> {
        let (inner, mut end) = (&self.rest[1..], 0);
        let mut has_escape = false;
        loop {
            let Some(quote) = inner[end..].find('"') else {
                if !self.is_last {
                    return Err(Stop::Incomplete);
                }
                return Err(fault(format!("the quote opened on line {} must be closed; received the end", self.line)));
            };
            end += quote;
            // A doubled quote is an escaped quote.
            if !inner[end + 1..].starts_with('"') {
                break;
            }
            has_escape = true;
            end += 2;
        }
        let (field, rest) = (&inner[..end], &inner[end + 1..]);
        // A part of a text may end between two quotes of an escaped one.
        let is_cut = !self.is_last && rest.is_empty();
        self.line += line_ends(field);
        if is_cut || !(rest.is_empty() || rest.starts_with([',', '\r', '\n'])) {
            let next = rest.chars().take(20).collect::<String>();
            if !self.is_last && next.chars().count() < 20 {
                return Err(Stop::Incomplete);
            }
            return Err(fault(format!(
                "a closing quote on line {} must end its field; received {next:?} after it",
                self.line
            )));
        }
        self.rest = rest;
        Ok(Field { written: field, has_escape })
    }
}

fn line_ends(field: &str) -> usize {
    let bytes = field.as_bytes();
    let pairs = bytes.windows(2).filter(|pair| *pair == b"\r\n").count();
    bytes.iter().filter(|byte| matches!(byte, b'\r' | b'\n')).count() - pairs
}

/// Returns the number in a field, NaN where it is empty.
pub(crate) fn number(text: &str, line: usize, column: &str) -> Result<f64, DataError> {
    if text.is_empty() {
        return Ok(f64::NAN);
    }
    // `f64::from_str` also reads "nan" and "inf", which are not prices.
    let number = text.parse::<f64>().ok().filter(|number| number.is_finite());
    number.ok_or_else(|| {
        unparsable(format!("`{column}` on line {line} must be a finite number or empty; received {text:?}"))
    })
}

/// Returns the position of the next comma, quote or line end.
///
/// It searches from `start` on, and returns the length if there is none.
pub(crate) fn mark(bytes: &[u8], start: usize) -> usize {
    const ONES: u64 = u64::from_le_bytes([1; 8]);
    let is_mark = |byte: u8| matches!(byte, b',' | b'"' | b'\r' | b'\n');
    let mut at = start;
    while let Some(word) = bytes.get(at..).and_then(<[u8]>::first_chunk::<8>) {
        // Marks are below `-`; digits, letters, dots and dashes are not. The lowest bit set is that of the first byte
        // below `-`.
        let word = u64::from_le_bytes(*word);
        let low = word.wrapping_sub(ONES * u64::from(b'-')) & !word & (ONES << 7);
        at += low.trailing_zeros() as usize / 8;
        if low != 0 {
            if is_mark(bytes[at]) {
                return at;
            }
            at += 1;
        }
    }
    let rest = bytes.get(at..).unwrap_or_default();
    at.min(bytes.len()) + rest.iter().position(|byte| is_mark(*byte)).unwrap_or(rest.len())
}
