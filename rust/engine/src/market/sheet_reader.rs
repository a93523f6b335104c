//! Reader of the cells of a sheet of a workbook.

use std::mem;

use crate::market::sheet_cells::{Content, SheetCells};
use crate::market::sheet_numbers::{push_date, push_duration, push_number};
use crate::market::sheet_strings::{RichText, SheetStrings};
use crate::market::sheet_xml::{SheetFault, Token, XmlParts, next_attribute, unescape, verbatim};

/// Columns that three letters can name.
const MOST_COLUMNS: u32 = 18_278;

/// What the number of a cell stands for, by the style of the cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NumberKind {
    /// A number.
    Number,
    /// A date or a time of day.
    Date,
    /// A duration.
    Duration,
}

/// Largest sheet that is read.
#[derive(Clone, Copy, Debug)]
pub struct SheetLimits {
    /// Most rows.
    pub rows: u64,
    /// Most cells of the rows with values, each as wide as the widest one.
    pub cells: u64,
    /// In a sheet of more cells than this, one of `sparseness` must have a value.
    pub small: u64,
    /// See `small`.
    pub sparseness: u64,
}

/// Size of a sheet that is too large.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SheetSize {
    /// Cells with values.
    pub n_values: u64,
    /// Rows with values, times the width of the widest one.
    pub n_cells: u64,
    /// Number of the last row.
    pub n_rows: u64,
}

/// Reader of a sheet: its XML arrives in parts.
#[derive(Debug)]
pub struct SheetReader {
    xml: XmlParts,
    kinds: Vec<NumberKind>,
    is_1904: bool,
    limits: SheetLimits,
    row: Row,
    cell: OpenCell,
    found: SheetCells,
    size: SheetSize,
}

/// The row that is being read.
#[derive(Debug, Default)]
struct Row {
    is_open: bool,
    number: u64,
    column: u32,
    has_number: bool,
}

/// The cell that is being read.
#[derive(Debug, Default)]
struct OpenCell {
    is_open: bool,
    is_value: bool,
    is_inline: bool,
    kind: CellKind,
    style: usize,
    value: String,
    rich: RichText,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum CellKind {
    #[default]
    Number,
    Shared,
    Inline,
    Truth,
    Date,
    Text,
}

impl SheetReader {
    /// Returns a reader of a sheet, by the kinds of the styles of its workbook.
    #[must_use]
    pub fn new(kinds: Vec<NumberKind>, is_1904: bool, limits: SheetLimits) -> Self {
        Self {
            xml: XmlParts::default(),
            kinds,
            is_1904,
            limits,
            row: Row::default(),
            cell: OpenCell::default(),
            found: SheetCells::default(),
            size: SheetSize::default(),
        }
    }

    /// Reads the next part of the XML. Returns the size of a sheet that is too large.
    ///
    /// # Errors
    ///
    /// Returns what is wrong with the XML.
    pub fn push(&mut self, part: &[u8], strings: &SheetStrings) -> Result<Option<SheetSize>, SheetFault> {
        let mut xml = mem::take(&mut self.xml);
        xml.push(part, |token| self.take(&token, strings))?;
        self.xml = xml;
        Ok(self.is_too_large().then_some(self.size))
    }

    /// Returns an error unless the XML is complete.
    ///
    /// # Errors
    ///
    /// Returns what is wrong with the XML.
    pub fn finish(&self) -> Result<(), SheetFault> {
        self.xml.finish()
    }

    /// Returns the cells that were read.
    #[must_use]
    pub fn cells(&self) -> &SheetCells {
        &self.found
    }

    fn is_too_large(&self) -> bool {
        let SheetSize { n_values, n_cells, n_rows } = self.size;
        let is_sparse = n_cells > self.limits.small && n_values.saturating_mul(self.limits.sparseness) < n_cells;
        n_rows > self.limits.rows || n_cells > self.limits.cells || is_sparse
    }

    fn take(&mut self, token: &Token<'_>, strings: &SheetStrings) -> Result<(), SheetFault> {
        if self.is_too_large() {
            return Ok(());
        }
        let cell = &mut self.cell;
        match token {
            Token::Text(text) if cell.is_value => unescape(text, &mut cell.value)?,
            Token::Verbatim(text) if cell.is_value => cell.value.push_str(verbatim(text)?),
            Token::Start(b"c", attributes) if self.row.is_open && !cell.is_open => self.open_cell(attributes)?,
            Token::End(b"c") if cell.is_open && !cell.is_inline => self.close_cell(strings)?,
            Token::Start(b"v", _) if cell.is_open => cell.is_value = true,
            Token::End(b"v") => cell.is_value = false,
            Token::Start(b"is", _) if cell.is_open => cell.is_inline = true,
            Token::End(b"is") => cell.is_inline = false,
            Token::Start(b"row", attributes) => self.open_row(attributes)?,
            Token::End(b"row") => self.close_row()?,
            _ if cell.is_inline => cell.rich.take(token)?,
            _ => {}
        }
        Ok(())
    }

    fn open_row(&mut self, mut attributes: &[u8]) -> Result<(), SheetFault> {
        let mut number = self.row.number + 1;
        while let Some((name, value)) = next_attribute(&mut attributes)? {
            if name == b"r" {
                number = whole(value).ok_or(SheetFault("numbers of rows are required"))?;
            }
        }
        // A row that comes again would be lost.
        if number <= self.row.number || self.row.is_open {
            return Err(SheetFault("rows in ascending order are required"));
        }
        self.row = Row { is_open: true, number, ..Row::default() };
        self.size.n_rows = number;
        Ok(())
    }

    fn close_row(&mut self) -> Result<(), SheetFault> {
        self.row.is_open = false;
        let number = u32::try_from(self.row.number).map_err(|_| SheetFault("numbers of rows are required"))?;
        self.found.end_row(number, self.row.has_number);
        (self.size.n_values, self.size.n_cells) = self.found.size();
        Ok(())
    }

    fn open_cell(&mut self, mut attributes: &[u8]) -> Result<(), SheetFault> {
        let (mut column, mut kind, mut style) = (self.row.column + 1, CellKind::Number, 0);
        while let Some((name, value)) = next_attribute(&mut attributes)? {
            match name {
                b"r" => column = column_of(value).ok_or(SheetFault("names of cells are required"))?,
                b"s" => style = whole(value).ok_or(SheetFault("numbers of styles are required"))?,
                b"t" => {
                    kind = match value {
                        b"n" => CellKind::Number,
                        b"s" => CellKind::Shared,
                        b"inlineStr" => CellKind::Inline,
                        b"b" => CellKind::Truth,
                        b"d" => CellKind::Date,
                        _ => CellKind::Text,
                    }
                }
                _ => {}
            }
        }
        if column <= self.row.column || column > MOST_COLUMNS {
            return Err(SheetFault("cells of a row in ascending order are required"));
        }
        self.row.column = column;
        let cell = &mut self.cell;
        (cell.is_open, cell.kind, cell.style) = (true, kind, usize::try_from(style).unwrap_or(usize::MAX));
        cell.value.clear();
        cell.rich.clear();
        Ok(())
    }

    fn close_cell(&mut self, strings: &SheetStrings) -> Result<(), SheetFault> {
        let cell = &mut self.cell;
        cell.is_open = false;
        let value = if cell.kind == CellKind::Inline { cell.rich.text() } else { cell.value.as_str() };
        let value = value.trim();
        if value.is_empty() {
            return Ok(());
        }
        let start = self.found.texts.len();
        let mut content = Content::Text;
        match cell.kind {
            CellKind::Shared => return self.share(strings),
            CellKind::Truth => {
                self.found.texts.push_str(if whole(value.as_bytes()) == Some(0) { "FALSE" } else { "TRUE" });
            }
            CellKind::Inline | CellKind::Text => self.found.texts.push_str(value),
            CellKind::Date => self.found.texts.push_str(value.strip_suffix('Z').unwrap_or(value)),
            CellKind::Number => {
                let (bytes, texts) = (value.as_bytes(), &mut self.found.texts);
                let kind = self.kinds.get(cell.style).copied().unwrap_or(NumberKind::Number);
                content = if kind == NumberKind::Number { Content::Number } else { Content::Time };
                let added = match kind {
                    NumberKind::Date => push_date(bytes, self.is_1904, texts),
                    NumberKind::Duration => push_duration(bytes, texts),
                    NumberKind::Number => push_number(bytes, texts),
                };
                added.ok_or(SheetFault("numbers in cells of numbers are required"))?;
            }
        }
        self.row.has_number |= content == Content::Number;
        self.found.add(self.row.column, start, content).ok_or(SheetFault("at most 4 GB of texts are required"))
    }

    fn share(&mut self, strings: &SheetStrings) -> Result<(), SheetFault> {
        let refused = SheetFault("places of shared texts are required");
        let Some(start) = whole(self.cell.value.trim().as_bytes()).and_then(|place| u32::try_from(place).ok()) else {
            return Err(refused);
        };
        if !strings.is_blank(start as usize).ok_or(refused)? {
            self.found.share(self.row.column, start);
        }
        Ok(())
    }
}

/// Returns a number of digits alone.
fn whole(digits: &[u8]) -> Option<u64> {
    let add = |number: u64, digit: &u8| {
        digit.is_ascii_digit().then(|| number.checked_mul(10)?.checked_add(u64::from(digit - b'0')))?
    };
    digits.iter().try_fold(0, add).filter(|_| !digits.is_empty())
}

/// Returns the column of the name of a cell, such as `AB12`, counted from 1.
fn column_of(name: &[u8]) -> Option<u32> {
    let n_letters = name.iter().position(u8::is_ascii_digit).filter(|n| (1..=3).contains(n))?;
    let (letters, digits) = name.split_at(n_letters);
    whole(digits)?;
    letters.iter().try_fold(0, |column, letter| {
        letter.is_ascii_alphabetic().then(|| column * 26 + u32::from(letter.to_ascii_uppercase() - b'A') + 1)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::market::sheet_cells::CellText;

    const LIMITS: SheetLimits = SheetLimits { rows: 1000, cells: 4000, small: 100, sparseness: 10 };

    /// Returns a reader of rows in parts of a size, and whether they are too many.
    fn read(rows: &str, size: usize) -> Result<(SheetReader, bool), SheetFault> {
        let mut strings = SheetStrings::default();
        strings.push(b"<sst><si><t>Date</t></si><si><t> </t></si></sst>")?;
        let mut reader = SheetReader::new(vec![NumberKind::Number, NumberKind::Date], false, LIMITS);
        for part in format!("<x:worksheet><x:sheetData>{rows}</x:sheetData></x:worksheet>").as_bytes().chunks(size) {
            if reader.push(part, &strings)?.is_some() {
                return Ok((reader, true));
            }
        }
        reader.finish()?;
        Ok((reader, false))
    }

    /// Returns the row, column and text of each cell.
    fn cells(rows: &str, size: usize) -> Vec<(usize, usize, String)> {
        let (reader, _) = read(rows, size).unwrap();
        let shown = |text: CellText<'_>| match text {
            CellText::Shared(place) => format!("#{place}"),
            CellText::Own(text) => text.to_owned(),
        };
        reader.cells().cells().map(|(row, column, text)| (row, column, shown(text))).collect()
    }

    #[test]
    fn each_kind_of_cell_has_its_text() {
        let kinds = r#"<row r="3"><c t="s"><v>0</v></c><c r="C3" s="1"><v>45293</v></c><c><v>5</v></c><c t="b"><v>1</v></c>
            <c t="e"><v>#N/A</v></c><c t="str"><f>A1&lt;2</f><v>a&amp;b</v></c><c t="inlineStr"><is><r><t>c</t></r>
            <r><t>d</t></r></is></c><c t="d"><v>2024-01-02T09:30:00Z</v></c><c r="ZZ3" s="1"/><c t="s"><v>1</v></c></row>"#;
        let wanted = ["#0", "2024-01-02T00:00:00", "5", "TRUE", "#N/A", "a&b", "cd", "2024-01-02T09:30:00"];
        for size in [5, 64, 10_000] {
            let found = cells(kinds, size);
            assert_eq!(found.iter().map(|(_, _, text)| text.as_str()).collect::<Vec<_>>(), wanted);
            assert_eq!(found.iter().map(|(_, column, _)| *column).collect::<Vec<_>>(), [0, 2, 3, 4, 5, 6, 7, 8]);
        }
    }

    #[test]
    fn a_column_of_numbers_and_empty_cells_has_numbers() {
        let rows = r#"<row><c r="B1" t="str"><v>x</v></c><c t="str"><v>y</v></c></row>
            <row r="5"><c r="B5"><v>1.5</v></c></row><row><c r="B6"><v>2</v></c><c s="1"><v>3</v></c></row>"#;
        let (reader, _) = read(rows, 1000).unwrap();
        assert_eq!((reader.cells().columns(), reader.cells().lines().collect::<Vec<_>>()), ((1, 3), vec![1, 5, 6]));
        assert_eq!(reader.cells().short_rows().collect::<Vec<_>>(), [(1, true)]);
        assert_eq!(reader.cells().numbers(1..3), [Some(vec![1.5, 2.0]), None]);
        assert_eq!(reader.cells().numbers(0..3), [None, None]);
        assert!(reader.cells().numbers(1..2)[1].is_none());
    }

    #[test]
    fn a_sheet_that_is_too_large_is_reported() {
        assert!(read(r#"<row r="1001"/>"#, 1000).unwrap().1);
        let apart = |n: usize| (0..n).map(|_| r#"<row><c r="Z1"><v>1</v></c></row>"#).collect::<String>();
        assert!(!read(&apart(3), 1000).unwrap().1);
        assert!(read(&apart(4), 1000).unwrap().1);
        let row = format!("<row>{}</row>", "<c><v>1</v></c>".repeat(41));
        assert!(read(&row.repeat(98), 10_000).unwrap().1);
    }

    #[test]
    fn cells_that_would_be_lost_are_refused() {
        let faults = [
            r#"<row r="2"/><row r="2"/>"#,
            r#"<row r="2"/><row r="1"/>"#,
            r#"<row r="x"/>"#,
            r#"<row><c r="B1"/><c r="A1"/></row>"#,
            r#"<row><c r="B1"/><c r="B1"/></row>"#,
            r#"<row><c r="1"/></row>"#,
            r#"<row><c r="ABCD1"/></row>"#,
            "<row><c><v>x</v></c></row>",
            r#"<row><c t="s"><v>2</v></c></row>"#,
            r#"<row><c t="s"><v>x</v></c></row>"#,
            "<row><c r=A1></c></row>",
        ];
        for rows in faults {
            assert!(read(rows, 1000).is_err(), "{rows}");
        }
    }
}
