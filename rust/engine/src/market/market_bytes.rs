//! Datasets from their canonical bytes.

use sha2::{Digest, Sha256};

use crate::error::DataError;
use crate::market::charges::Charge;
use crate::market::columns::{Columns, Feature, FeatureScope, Fundamental, NewsItem};
use crate::market::dataset::Dataset;
use crate::market::fingerprint::MAGIC;

impl Dataset {
    /// Returns the dataset of bytes that [`Dataset::to_bytes`] wrote.
    ///
    /// # Errors
    ///
    /// Returns an error if the bytes are not the canonical bytes of a dataset.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, DataError> {
        let mut reader = Reader { bytes, at: 0 };
        if !bytes.starts_with(MAGIC) {
            return Err(reader.fault("a market of format version 1"));
        }
        reader.take(MAGIC.len())?;
        let mut columns = Columns::default();
        while reader.at < bytes.len() {
            reader.field(&mut columns)?;
        }
        let dataset = Self::new(columns)?;
        // The fingerprint must be that of the bytes, so that no second encoding is accepted.
        if <[u8; 32]>::from(Sha256::digest(bytes)) != dataset.fingerprint() {
            return Err(reader.fault("a market in canonical form"));
        }
        Ok(dataset)
    }
}

/// A reader of fields: each is a name, a count and the values.
struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    fn fault(&self, wanted: &str) -> DataError {
        let length = self.bytes.len();
        let message =
            format!("{wanted} is required; received other bytes at offset {} of {length}", self.at.min(length));
        DataError::new("bytes_invalid", message)
    }

    fn take(&mut self, length: usize) -> Result<&'a [u8], DataError> {
        let end = self.at.checked_add(length).filter(|end| *end <= self.bytes.len());
        let end = end.ok_or_else(|| self.fault("a complete market"))?;
        let found = &self.bytes[self.at..end];
        self.at = end;
        Ok(found)
    }

    fn word(&mut self) -> Result<[u8; 8], DataError> {
        let mut word = [0; 8];
        word.copy_from_slice(self.take(8)?);
        Ok(word)
    }

    fn length(&mut self) -> Result<usize, DataError> {
        usize::try_from(u64::from_le_bytes(self.word()?)).map_err(|_| self.fault("a length that fits in memory"))
    }

    fn text(&mut self) -> Result<String, DataError> {
        let length = self.length()?;
        let text = self.take(length)?.to_vec();
        String::from_utf8(text).map_err(|_| self.fault("text in UTF-8"))
    }

    fn texts(&mut self, count: usize) -> Result<Vec<String>, DataError> {
        // Capacity is not reserved: the count may be wrong.
        let mut found = Vec::new();
        for _ in 0..count {
            found.push(self.text()?);
        }
        Ok(found)
    }

    fn numbers(&mut self, count: usize) -> Result<Vec<f64>, DataError> {
        let length = count.checked_mul(8).ok_or_else(|| self.fault("a length that fits in memory"))?;
        let words = self.take(length)?.chunks_exact(8);
        Ok(words.map(|word| f64::from_le_bytes(word.try_into().unwrap_or_default())).collect())
    }

    fn pair<T>(&self, values: Vec<T>) -> Result<[T; 2], DataError> {
        values.try_into().map_err(|_| self.fault("a field with two values"))
    }

    fn symbol(&self, number: f64, columns: &Columns) -> Result<usize, DataError> {
        let place = (0..columns.symbols.len()).find(|place| *place as f64 == number);
        place.ok_or_else(|| self.fault("the index of a symbol"))
    }

    fn field(&mut self, columns: &mut Columns) -> Result<(), DataError> {
        let (name, count) = (self.text()?, self.length()?);
        let rows = match name.as_str() {
            "close" => Some(&mut columns.close),
            "open" => Some(columns.open.get_or_insert_default()),
            "high" => Some(columns.high.get_or_insert_default()),
            "low" => Some(columns.low.get_or_insert_default()),
            "volume" => Some(columns.volume.get_or_insert_default()),
            "dividends" => Some(columns.dividends.get_or_insert_default()),
            "splits" => Some(columns.splits.get_or_insert_default()),
            "delistings" => Some(columns.delistings.get_or_insert_default()),
            "risk_free" => Some(columns.risk_free.get_or_insert_default()),
            name => {
                let charge = Charge::ALL.into_iter().find(|charge| charge.name() == name);
                charge.map(|charge| columns.charges[charge as usize].get_or_insert_default())
            }
        };
        if let Some(rows) = rows {
            rows.extend(self.numbers(count)?);
            return Ok(());
        }
        match name.as_str() {
            "dates" => columns.dates = self.texts(count)?.into(),
            "symbols" => columns.symbols = self.texts(count)?,
            "periods_per_year" => columns.periods_per_year = self.numbers(count)?.first().copied().unwrap_or_default(),
            "tradable" => {
                let rows = self.numbers(count)?;
                columns.tradable.get_or_insert_default().extend(rows.into_iter().map(|value| value != 0.0));
            }
            "fundamental" => {
                let texts = self.texts(count)?;
                let [available_at, name] = self.pair(texts)?;
                let (_, count) = (self.text()?, self.length()?);
                let numbers = self.numbers(count)?;
                let [symbol, value] = self.pair(numbers)?;
                let symbol = self.symbol(symbol, columns)?;
                columns.fundamentals.push(Fundamental { symbol, available_at, name, value });
            }
            "news" => {
                let texts = self.texts(count)?;
                let [available_at, headline] = self.pair(texts)?;
                let (_, count) = (self.text()?, self.length()?);
                let symbol = self.numbers(count)?.first().copied().unwrap_or(f64::NAN);
                let symbol = self.symbol(symbol, columns)?;
                columns.news.push(NewsItem { symbol, available_at, headline });
            }
            "feature" => {
                let texts = self.texts(count)?;
                let [name, scope] = self.pair(texts)?;
                let scope = FeatureScope::by_name(&scope).ok_or_else(|| self.fault("the scope of a feature"))?;
                let (_, count) = (self.text()?, self.length()?);
                let values = self.numbers(count)?;
                columns.features.push(Feature { name, scope, values });
            }
            _ => return Err(self.fault("a field of a market")),
        }
        Ok(())
    }
}
