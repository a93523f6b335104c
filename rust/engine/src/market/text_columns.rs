//! Columns of a delimited text without quotes.

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
    /// `None` if a line after the first row has another number of fields, or if the text has quotes or unusual ends of
    /// lines.
    #[must_use]
    pub fn split(text: &'a str, delimiter: char, width: usize) -> Option<Self> {
        if width == 0 || text.contains('"') || text.contains(OTHER_LINES) {
            return None;
        }
        let mut found = Self { preamble: Vec::new(), columns: vec![Vec::new(); width], lines: Vec::new() };
        for (place, line) in text.split('\n').enumerate() {
            let line = line.strip_suffix('\r').unwrap_or(line);
            if line.contains('\r') {
                return None;
            }
            if line.split(delimiter).all(|field| field.trim().is_empty()) {
                continue;
            }
            if line.split(delimiter).count() != width {
                if !found.lines.is_empty() {
                    return None;
                }
                found.preamble.push(line);
                continue;
            }
            for (column, field) in found.columns.iter_mut().zip(line.split(delimiter)) {
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
    fn texts_that_need_the_rules_of_csv_have_no_columns() {
        for text in ["a,\"b\"\n", "a,b\nc\n", "a,b\n1,2,\n", "a,b\r1,2", "a,b\u{2028}1,2", "a,b\x0c1,2", "a,\0\n"] {
            assert_eq!(split(text), None, "{text:?}");
        }
        assert_eq!(split(&format!("a,{}\n", "b".repeat(131_073))), None);
    }
}
