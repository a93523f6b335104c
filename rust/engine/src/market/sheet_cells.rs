//! Cells of a sheet of a workbook.

use std::ops::Range;

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

/// Text of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CellText<'a> {
    /// The place of a shared text.
    Shared(usize),
    /// A text of its own.
    Own(&'a str),
}

/// A cell: its column, and a range of the texts; a shared text has its place as the start.
#[derive(Debug)]
struct Cell {
    column: u32,
    start: u32,
    end: u32,
    content: Content,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Content {
    Shared,
    Text,
    /// A date, a time or a duration.
    Time,
    Number,
}

/// Reader of a sheet whose XML arrives in parts.
#[derive(Debug)]
pub struct SheetReader {
    xml: XmlParts,
    kinds: Vec<NumberKind>,
    is_1904: bool,
    limits: SheetLimits,
    row: Row,
    cell: OpenCell,
    texts: String,
    cells: Vec<Cell>,
    /// For each row with values: its number, the end of its cells, and whether one is a number.
    rows: Vec<(u32, usize, bool)>,
    size: SheetSize,
    width: u32,
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
            texts: String::new(),
            cells: Vec::new(),
            rows: Vec::new(),
            size: SheetSize::default(),
            width: 0,
        }
    }

    /// Reads the next part of the XML. Returns the size of a sheet that is too large.
    ///
    /// # Errors
    ///
    /// Returns what is wrong with the XML.
    pub fn push(&mut self, part: &[u8], strings: &SheetStrings) -> Result<Option<SheetSize>, SheetFault> {
        let mut xml = std::mem::take(&mut self.xml);
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

    /// Returns the numbers of the rows with values, in ascending order.
    pub fn lines(&self) -> impl Iterator<Item = u32> {
        self.rows.iter().map(|(number, ..)| *number)
    }

    /// Returns the first column with a value and the one after the last, counted from 0.
    #[must_use]
    pub fn columns(&self) -> (usize, usize) {
        let first = self.cells.iter().map(|cell| cell.column).min().unwrap_or(1);
        (first as usize - 1, self.width as usize)
    }

    /// Returns the rows, by their places, that end before the widest one, and whether each has a number.
    pub fn short_rows(&self) -> impl Iterator<Item = (usize, bool)> {
        self.rows.iter().enumerate().filter_map(|(place, (_, end, has_number))| {
            (self.cells[end - 1].column < self.width).then_some((place, *has_number))
        })
    }

    /// Returns the numbers of each column in a range of rows, by their places; NaN in an empty cell.
    ///
    /// A column with another value, or with none, has no numbers.
    #[must_use]
    pub fn numbers(&self, rows: Range<usize>) -> Vec<Option<Vec<f64>>> {
        let (first, end) = self.columns();
        let mut found: Vec<Option<Vec<f64>>> = vec![Some(Vec::new()); end - first];
        for (row, cell) in self.placed_cells().filter(|(row, _)| rows.contains(row)) {
            let column = &mut found[cell.column as usize - 1 - first];
            match (column.as_mut(), self.number(cell)) {
                (Some(numbers), Some(number)) => {
                    if numbers.is_empty() {
                        numbers.resize(rows.len(), f64::NAN);
                    }
                    numbers[row - rows.start] = number;
                }
                _ => *column = None,
            }
        }
        found.into_iter().map(|numbers| numbers.filter(|numbers| !numbers.is_empty())).collect()
    }

    /// Returns the place of the row, the column counted from 0, and the text of each cell.
    pub fn cells(&self) -> impl Iterator<Item = (usize, usize, CellText<'_>)> {
        self.placed_cells().map(|(row, cell)| (row, cell.column as usize - 1, self.text(cell)))
    }

    fn placed_cells(&self) -> impl Iterator<Item = (usize, &Cell)> {
        let starts = [0].into_iter().chain(self.rows.iter().map(|(_, end, _)| *end));
        let rows = starts.zip(&self.rows).enumerate();
        rows.flat_map(move |(place, (start, (_, end, _)))| {
            self.cells[start..*end].iter().map(move |cell| (place, cell))
        })
    }

    fn text(&self, cell: &Cell) -> CellText<'_> {
        let (start, end) = (cell.start as usize, cell.end as usize);
        if cell.content == Content::Shared { CellText::Shared(start) } else { CellText::Own(&self.texts[start..end]) }
    }

    fn number(&self, cell: &Cell) -> Option<f64> {
        let is_number = cell.content == Content::Number;
        if is_number { self.texts[cell.start as usize..cell.end as usize].parse().ok() } else { None }
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
        let start = self.rows.last().map_or(0, |(_, end, _)| *end);
        if let Some(last) = self.cells[start..].last() {
            self.width = self.width.max(last.column);
            let number = u32::try_from(self.row.number).map_err(|_| SheetFault("numbers of rows are required"))?;
            self.rows.push((number, self.cells.len(), self.row.has_number));
            self.size.n_values = self.cells.len() as u64;
            self.size.n_cells = self.rows.len() as u64 * u64::from(self.width);
        }
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
        let start = self.texts.len();
        let mut content = Content::Text;
        match cell.kind {
            CellKind::Shared => return self.share(strings),
            CellKind::Truth => self.texts.push_str(if whole(value.as_bytes()) == Some(0) { "FALSE" } else { "TRUE" }),
            CellKind::Inline | CellKind::Text => self.texts.push_str(value),
            CellKind::Date => self.texts.push_str(value.strip_suffix('Z').unwrap_or(value)),
            CellKind::Number => {
                let (bytes, texts) = (value.as_bytes(), &mut self.texts);
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
        let range = u32::try_from(start).ok().zip(u32::try_from(self.texts.len()).ok());
        let (start, end) = range.ok_or(SheetFault("at most 4 GB of texts are required"))?;
        self.cells.push(Cell { column: self.row.column, start, end, content });
        Ok(())
    }

    fn share(&mut self, strings: &SheetStrings) -> Result<(), SheetFault> {
        let refused = SheetFault("places of shared texts are required");
        let Some(start) = whole(self.cell.value.trim().as_bytes()).and_then(|place| u32::try_from(place).ok()) else {
            return Err(refused);
        };
        if !strings.is_blank(start as usize).ok_or(refused)? {
            self.cells.push(Cell { column: self.row.column, start, end: start, content: Content::Shared });
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

    const LIMITS: SheetLimits = SheetLimits { rows: 1000, cells: 4000, small: 100, sparseness: 10 };

    /// Returns a reader of rows that arrive in parts of a size, and whether they are too many.
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
        reader.cells().map(|(row, column, text)| (row, column, shown(text))).collect()
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
        assert_eq!((reader.columns(), reader.lines().collect::<Vec<_>>()), ((1, 3), vec![1, 5, 6]));
        assert_eq!(reader.short_rows().collect::<Vec<_>>(), [(1, true)]);
        assert_eq!(reader.numbers(1..3), [Some(vec![1.5, 2.0]), None]);
        assert_eq!(reader.numbers(0..3), [None, None]);
        assert!(reader.numbers(1..2)[1].is_none());
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
