//! Columns of a delimited text.

/// Longest field; Python's `csv` refuses a longer one.
const LONGEST: usize = 131_072;
/// Separators of lines, and blanks, that Python knows besides those of `str::trim`.
const OTHER_LINES: [char; 10] =
    ['\0', '\x0b', '\x0c', '\x1c', '\x1d', '\x1e', '\x1f', '\u{85}', '\u{2028}', '\u{2029}'];

/// Fields of a delimited text by column.
#[derive(Debug, PartialEq, Eq)]
pub struct TextColumns<'a> {
    /// Lines before the first row.
    pub preamble: Vec<&'a str>,
    /// Fields of each row by column.
    pub columns: Vec<Vec<&'a str>>,
    /// Line of each row, counted from 1.
    pub lines: Vec<u32>,
}

impl<'a> TextColumns<'a> {
    /// Returns the columns of a text, blank lines left out.
    ///
    /// `None` if a line after the first row has another number of fields, if a field has a quote or an end of line in
    /// it, or if the text has unusual ends of lines.
    #[must_use]
    pub fn split(text: &'a str, delimiter: char, width: usize) -> Option<Self> {
        if width == 0 || text.contains(OTHER_LINES) {
            return None;
        }
        let has_quotes = text.contains('"');
        let mut found = Self { preamble: Vec::new(), columns: vec![Vec::new(); width], lines: Vec::new() };
        let mut fields = Vec::with_capacity(width);
        for (place, line) in text.split('\n').enumerate() {
            let line = line.strip_suffix('\r').unwrap_or(line);
            if line.contains('\r') {
                return None;
            }
            let is_quoted = has_quotes && line.contains('"');
            fields.clear();
            if is_quoted {
                unquote(line, delimiter, &mut fields)?;
            } else {
                fields.extend(line.split(delimiter));
            }
            if fields.iter().all(|field| field.trim().is_empty()) {
                continue;
            }
            if fields.len() != width {
                if !found.lines.is_empty() || is_quoted {
                    return None;
                }
                found.preamble.push(line);
                continue;
            }
            for (column, field) in found.columns.iter_mut().zip(&fields) {
                if field.len() > LONGEST {
                    return None;
                }
                column.push(field);
            }
            found.lines.push(u32::try_from(place + 1).ok()?);
        }
        Some(found)
    }
}

/// Adds the fields of a line with quotes.
///
/// `None` if a field has a quote in it.
fn unquote<'a>(line: &'a str, delimiter: char, fields: &mut Vec<&'a str>) -> Option<()> {
    let mut rest = line;
    loop {
        let (field, after) = match rest.strip_prefix('"') {
            Some(quoted) => quoted.split_once('"')?,
            None => rest.split_at(rest.find(delimiter).unwrap_or(rest.len())),
        };
        if field.contains('"') {
            return None;
        }
        fields.push(field);
        if after.is_empty() {
            return Some(());
        }
        rest = after.strip_prefix(delimiter)?;
    }
}

#[cfg(test)]
mod tests {
    use super::TextColumns;

    fn split(text: &str) -> Option<TextColumns<'_>> {
        TextColumns::split(text, ',', 2)
    }

    #[test]
    fn rows_have_their_fields_and_lines() {
        let found = split("Report\n\ndate,close\r\n , \n2024-01-02,1\n").unwrap();
        assert_eq!(found.preamble, ["Report"]);
        assert_eq!(found.columns, [["date", "2024-01-02"], ["close", "1"]]);
        assert_eq!(found.lines, [3, 5]);
    }

    #[test]
    fn fields_in_quotes_are_fields() {
        let found = split("\"date\",close\n2024-01-02,\"1,5\"\r\n\"\",\" \"\n\"a b\",\n").unwrap();
        assert_eq!(found.columns, [["date", "2024-01-02", "a b"], ["close", "1,5", ""]]);
        assert_eq!(found.lines, [1, 2, 4]);
    }

    #[test]
    fn texts_that_need_the_rules_of_csv_have_no_columns() {
        for text in [
            "a,\"b\nc\"\n",
            "a,\"b\"\"\"\n",
            "a,\"b\"c\n",
            "a,b\"\n",
            "\"a\"\na,b\n",
            "a,b\nc\n",
            "a,b\n1,2,\n",
            "a,b\r1,2",
            "a,b\u{2028}1,2",
            "a,b\x0c1,2",
            "a,\0\n",
        ] {
            assert_eq!(split(text), None, "{text:?}");
        }
        assert_eq!(split(&format!("a,{}\n", "b".repeat(131_073))), None);
    }
}
