use crate::parquet::compact_reader::{CompactReader, Fault, Kind, expect};
use crate::parquet::footer::Chunk;

/// Bytes that are read for the header of a page, at first and at most.
const WINDOW: usize = 512;
const MOST_WINDOW: usize = 1 << 24;
/// Bytes by which old writers state too few stored bytes, as Arrow allows for.
const SLACK: u64 = 100;

/// The bytes of a file.
pub trait Source {
    /// Replaces `into` by at most `n` bytes from a place on; fewer only at the end.
    ///
    /// # Errors
    ///
    /// Returns what failed.
    fn read(&mut self, at: u64, n: usize, into: &mut Vec<u8>) -> Result<(), String>;
}

impl Source for &[u8] {
    fn read(&mut self, at: u64, n: usize, into: &mut Vec<u8>) -> Result<(), String> {
        let rest = usize::try_from(at).ok().and_then(|at| self.get(at..)).unwrap_or(&[]);
        into.clear();
        into.extend_from_slice(&rest[..n.min(rest.len())]);
        Ok(())
    }
}

/// Header of a page: its sizes, and its number of values.
struct Page {
    uncompressed: u64,
    stored: u64,
    n_values: u64,
}

/// Reader of the headers of the pages of a file.
#[derive(Debug)]
pub struct PageHeaders<S> {
    source: S,
    window: Vec<u8>,
    /// Bytes that headers may still have.
    ///
    /// They bound the time if columns share pages. Headers of a writer have fewer than the file.
    left: u64,
}

impl<S: Source> PageHeaders<S> {
    /// Returns a reader of a file of some bytes.
    pub fn new(source: S, n_bytes: u64) -> Self {
        Self { source, window: Vec::new(), left: n_bytes }
    }

    /// Returns the uncompressed bytes that the pages of a column state.
    ///
    /// A reader makes room for a page by its header, whatever the footer says. Pages after the last value are not read.
    ///
    /// # Errors
    ///
    /// Returns an error if a header is damaged, or a page leaves the column.
    pub fn uncompressed_bytes(&mut self, chunk: &Chunk) -> Result<u64, String> {
        let end = chunk.first_page.saturating_add(chunk.n_stored).saturating_add(SLACK);
        let (mut at, mut n_bytes, mut n_values) = (chunk.first_page, 0_u64, 0_u64);
        while n_values < chunk.n_values && at < end {
            let (page, size) = self.header(at)?;
            n_bytes = n_bytes.saturating_add(page.uncompressed);
            n_values = n_values.saturating_add(page.n_values);
            at = at.saturating_add(size).saturating_add(page.stored);
            if at > end {
                return Err("a page leaves its column".into());
            }
        }
        Ok(n_bytes)
    }

    /// Returns the header of a page and its size.
    fn header(&mut self, at: u64) -> Result<(Page, u64), Fault> {
        let mut size = WINDOW;
        loop {
            self.source.read(at, size, &mut self.window)?;
            let mut reader = CompactReader::new(&self.window, 64);
            match page(&mut reader) {
                Ok(page) => {
                    let size = reader.at() as u64;
                    self.left = self.left.checked_sub(size).ok_or("columns share pages")?;
                    return Ok((page, size));
                }
                Err(fault) if self.window.len() < size || size >= MOST_WINDOW => {
                    return Err(format!("a page: {fault}"));
                }
                // Statistics may be long texts.
                Err(_) => size *= 16,
            }
        }
    }
}

fn page(reader: &mut CompactReader<'_>) -> Result<Page, Fault> {
    let (mut sizes, mut n_values) = ([None; 2], 0);
    reader.fields(|reader, field, of| {
        match field {
            2 => sizes[0] = Some(reader.integer_of(of, Kind::I32)?),
            3 => sizes[1] = Some(reader.integer_of(of, Kind::I32)?),
            // Of data pages, old and new.
            5 | 8 => {
                expect(of, Kind::STRUCT)?;
                reader.fields(|reader, field, of| {
                    if field == 1 {
                        n_values = reader.integer_of(of, Kind::I32)?;
                    }
                    Ok(field == 1)
                })?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    })?;
    let size = |place: usize| -> Result<u64, Fault> {
        let size = sizes[place].ok_or("it has no size")?;
        u64::try_from(size).map_err(|_| "its size is out of range".into())
    };
    let n_values = u64::try_from(n_values).map_err(|_| "its number of values is out of range")?;
    Ok(Page { uncompressed: size(0)?, stored: size(1)?, n_values })
}
