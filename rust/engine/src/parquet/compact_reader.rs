/// A reason why bytes are no metadata of a Parquet file.
pub(super) type Fault = String;

const EARLY: &str = "it ends too early";
/// The format nests eight structs and lists.
const MOST_DEPTH: usize = 32;

/// Kinds of values in the compact protocol.
///
/// The kinds of numbers, lists and sets have one form each.
pub(super) struct Kind;

impl Kind {
    pub(super) const BYTE: u8 = 3;
    pub(super) const I32: u8 = 5;
    pub(super) const I64: u8 = 6;
    pub(super) const LIST: u8 = 9;
    pub(super) const STRUCT: u8 = 12;
}

/// Reader of values in the compact protocol of Thrift.
#[derive(Debug)]
pub(super) struct CompactReader<'a> {
    content: &'a [u8],
    at: usize,
    /// Number of structs that may still be read.
    ///
    /// They bound the time; that of skipped values grows with their bytes. A footer of a writer has more bytes for each.
    n_structs: usize,
}

impl<'a> CompactReader<'a> {
    pub(super) fn new(content: &'a [u8], n_structs: usize) -> Self {
        Self { content, at: 0, n_structs }
    }

    /// Returns the number of bytes read.
    pub(super) fn at(&self) -> usize {
        self.at
    }

    /// Reads the fields of a struct.
    ///
    /// `read` reads a field by its number and kind, or returns `false` to skip it. A field that is there twice is
    /// refused: Arrow takes the last.
    pub(super) fn fields(
        &mut self,
        mut read: impl FnMut(&mut Self, i64, u8) -> Result<bool, Fault>,
    ) -> Result<(), Fault> {
        self.n_structs = self.n_structs.checked_sub(1).ok_or("it has too many groups of rows, or columns of groups")?;
        let (mut seen, mut field) = ([0_u64; 512], 0);
        loop {
            let head = self.byte()?;
            if head == 0 {
                return Ok(());
            }
            field = if head > 15 { field + i64::from(head >> 4) } else { self.integer()? };
            // Arrow counts fields in 16 bits.
            let place = usize::try_from(field).ok().filter(|place| (1..1 << 15).contains(place));
            let place = place.ok_or_else(|| format!("it has a field {field}"))?;
            let (word, bit) = (&mut seen[place / 64], 1_u64 << (place % 64));
            if *word & bit != 0 {
                return Err(format!("field {field} is there twice"));
            }
            *word |= bit;
            if !read(self, field, head & 15)? {
                self.skip(head & 15, 0)?;
            }
        }
    }

    /// Returns the number of values of a list of one kind.
    pub(super) fn count(&mut self, wanted: u8) -> Result<usize, Fault> {
        let (size, kind) = self.list_head()?;
        if kind != wanted && size > 0 {
            return Err(format!("a list has values of kind {kind}"));
        }
        Ok(size)
    }

    /// Reads an integer of a field, whose kind must be `wanted`.
    pub(super) fn integer_of(&mut self, kind: u8, wanted: u8) -> Result<i64, Fault> {
        expect(kind, wanted)?;
        self.integer()
    }

    pub(super) fn integer(&mut self) -> Result<i64, Fault> {
        let value = self.varint()?;
        Ok((value >> 1).cast_signed() ^ -(value & 1).cast_signed())
    }

    fn skip(&mut self, kind: u8, depth: usize) -> Result<(), Fault> {
        if depth > MOST_DEPTH {
            return Err("it has values that are too deep".into());
        }
        match kind {
            // A truth is in the head of its field.
            1 | 2 => Ok(()),
            Kind::BYTE => self.pass(1),
            4..=6 => self.varint().map(|_| ()),
            7 => self.pass(8),
            8 => self.skip_binary(),
            9 | 10 => {
                let (size, kind) = self.list_head()?;
                self.skip_list(size, kind, depth)
            }
            Kind::STRUCT => self.skip_struct(depth),
            13 => self.pass(16),
            _ => Err(format!("a field has kind {kind}")),
        }
    }

    fn skip_struct(&mut self, depth: usize) -> Result<(), Fault> {
        loop {
            let head = self.byte()?;
            if head == 0 {
                return Ok(());
            }
            if head < 16 {
                self.varint()?;
            }
            self.skip(head & 15, depth + 1)?;
        }
    }

    fn skip_list(&mut self, size: usize, kind: u8, depth: usize) -> Result<(), Fault> {
        let one = match kind {
            // A truth in a list has a byte.
            1..=3 => return self.pass(size),
            7 => return self.pass(size.saturating_mul(8)),
            13 => return self.pass(size.saturating_mul(16)),
            4..=6 => |reader: &mut Self, _, _| reader.varint().map(|_| ()),
            8 => |reader: &mut Self, _, _| reader.skip_binary(),
            Kind::STRUCT => Self::skip,
            // No list of the format has lists or maps.
            _ if size > 0 => return Err(format!("a list has values of kind {kind}")),
            _ => return Ok(()),
        };
        (0..size).try_for_each(|_| one(self, kind, depth + 1))
    }

    fn skip_binary(&mut self) -> Result<(), Fault> {
        let size = self.varint()?;
        self.pass(usize::try_from(size).map_err(|_| EARLY)?)
    }

    fn list_head(&mut self) -> Result<(usize, u8), Fault> {
        let head = self.byte()?;
        let size = if head >> 4 == 15 { self.varint()? } else { u64::from(head >> 4) };
        Ok((usize::try_from(size).map_err(|_| EARLY)?, head & 15))
    }

    fn pass(&mut self, size: usize) -> Result<(), Fault> {
        let at = self.at.checked_add(size).filter(|at| *at <= self.content.len());
        self.at = at.ok_or(EARLY)?;
        Ok(())
    }

    fn byte(&mut self) -> Result<u8, Fault> {
        let byte = *self.content.get(self.at).ok_or(EARLY)?;
        self.at += 1;
        Ok(byte)
    }

    fn varint(&mut self) -> Result<u64, Fault> {
        let (mut value, mut shift) = (0, 0);
        loop {
            let byte = u64::from(self.byte()?);
            let part = byte & 127;
            if shift > 63 || (part << shift) >> shift != part {
                return Err("a number is too long".into());
            }
            value |= part << shift;
            if byte < 128 {
                return Ok(value);
            }
            shift += 7;
        }
    }
}

/// Refuses a field of another kind: Arrow skips it.
pub(super) fn expect(kind: u8, wanted: u8) -> Result<(), Fault> {
    if kind == wanted { Ok(()) } else { Err(format!("a field has kind {kind}, not {wanted}")) }
}
