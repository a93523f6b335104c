use crate::parquet::compact_reader::{CompactReader, Fault, Kind, expect};

const MAGIC: &[u8] = b"PAR1";
/// Bytes after the footer: its length, and the magic number.
const END: usize = 8;
/// A column of a group of rows has two structs.
const MOST_STRUCTS: usize = 1 << 19;
const MOST_ENCODINGS: usize = 64;

/// Metadata of a column of a group of rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chunk {
    /// Number of values.
    pub n_values: u64,
    /// Uncompressed bytes of its pages, as stated.
    pub n_bytes: u64,
    /// Compressed bytes of its pages.
    pub n_stored: u64,
    /// Numbers of the encodings of its pages.
    pub encodings: Vec<i64>,
    /// Place of its first page in the file.
    pub first_page: u64,
}

/// Returns the size of footer, length and magic number at the end of a file.
///
/// # Errors
///
/// Returns an error if it is the end of another file.
pub fn footer_size(end: &[u8]) -> Result<u64, String> {
    let size = end.last_chunk::<END>().filter(|end| end.ends_with(MAGIC));
    let [a, b, c, d, ..] = *size.ok_or("the end of the file is missing")?;
    Ok(u64::from(u32::from_le_bytes([a, b, c, d])) + END as u64)
}

/// Returns the metadata of the columns of each group of rows.
///
/// `content` has at least the footer of the file, with all bytes after it.
///
/// # Errors
///
/// Returns an error if the footer is damaged, or a column is encrypted.
pub fn row_groups(content: &[u8]) -> Result<Vec<Vec<Chunk>>, String> {
    let size = usize::try_from(footer_size(content)?).ok().filter(|size| *size > END && *size <= content.len());
    let size = size.ok_or("the footer is incomplete")?;
    let footer = &content[content.len() - size..content.len() - END];
    let mut reader = CompactReader::new(footer, MOST_STRUCTS.max(footer.len() / 64));
    let mut groups = Vec::new();
    reader.fields(|reader, field, of| {
        if field != 4 {
            return Ok(false);
        }
        expect(of, Kind::LIST)?;
        for _ in 0..reader.count(Kind::STRUCT)? {
            groups.push(columns(reader)?);
        }
        Ok(true)
    })?;
    Ok(groups)
}

fn columns(reader: &mut CompactReader<'_>) -> Result<Vec<Chunk>, Fault> {
    let mut columns = None;
    reader.fields(|reader, field, of| {
        if field != 1 {
            return Ok(false);
        }
        expect(of, Kind::LIST)?;
        let mut found = Vec::new();
        for _ in 0..reader.count(Kind::STRUCT)? {
            found.push(column(reader)?);
        }
        columns = Some(found);
        Ok(true)
    })?;
    columns.ok_or_else(|| "a group of rows has no columns".into())
}

fn column(reader: &mut CompactReader<'_>) -> Result<Chunk, Fault> {
    let mut chunk = None;
    reader.fields(|reader, field, of| match field {
        3 => {
            expect(of, Kind::STRUCT)?;
            chunk = Some(metadata(reader)?);
            Ok(true)
        }
        8 => Err("a column is encrypted".into()),
        _ => Ok(false),
    })?;
    chunk.ok_or_else(|| "a column has no metadata".into())
}

fn metadata(reader: &mut CompactReader<'_>) -> Result<Chunk, Fault> {
    let (mut encodings, mut numbers) = (None, [None; 5]);
    reader.fields(|reader, field, of| {
        let place = match field {
            2 => {
                expect(of, Kind::LIST)?;
                encodings = Some(encodings_of(reader)?);
                return Ok(true);
            }
            5 => 0,
            6 => 1,
            7 => 2,
            9 => 3,
            11 => 4,
            _ => return Ok(false),
        };
        numbers[place] = Some(reader.integer_of(of, Kind::I64)?);
        Ok(true)
    })?;
    let number = |place: usize| -> Result<u64, Fault> {
        let number = numbers[place].ok_or("a column lacks a size or the place of its pages")?;
        u64::try_from(number).map_err(|_| "a size of a column is out of range".into())
    };
    let (data, dictionary) = (number(3)?, numbers[4].and_then(|place| u64::try_from(place).ok()));
    // As Arrow: old writers state a place of 0 without a dictionary.
    let first_page = dictionary.filter(|place| *place > 0 && *place < data).unwrap_or(data);
    let encodings = encodings.ok_or("a column has no encodings")?;
    Ok(Chunk { n_values: number(0)?, n_bytes: number(1)?, n_stored: number(2)?, encodings, first_page })
}

fn encodings_of(reader: &mut CompactReader<'_>) -> Result<Vec<i64>, Fault> {
    let size = reader.count(Kind::I32)?;
    if size > MOST_ENCODINGS {
        return Err(format!("a column has {size} encodings"));
    }
    (0..size).map(|_| reader.integer()).collect()
}
