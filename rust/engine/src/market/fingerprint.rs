use sha2::{Digest, Sha256};

use crate::market::charges::Charge;
use crate::market::dataset::Dataset;

/// The first bytes of a dataset file.
pub(crate) const MAGIC: &[u8] = b"openoutcry/dataset/v1\0";

/// Values that are written at once.
const PART: usize = 128;

/// Bytes that are hashed at once.
const WAITING: usize = 1 << 13;

impl Dataset {
    /// Returns the canonical bytes of the dataset.
    ///
    /// The fingerprint is their SHA-256.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut found = Vec::new();
        write(self, &mut |bytes| found.extend_from_slice(bytes));
        found
    }

    /// Returns the SHA-256 of the canonical bytes.
    #[must_use]
    pub fn fingerprint(&self) -> [u8; 32] {
        *self.fingerprint.get_or_init(|| digest(self))
    }
}

fn digest(dataset: &Dataset) -> [u8; 32] {
    let (mut hash, mut waiting) = (Sha256::new(), Vec::with_capacity(WAITING));
    // A call of the hash for each short text or number would take longer than the digest.
    write(dataset, &mut |bytes| {
        if waiting.len() + bytes.len() > WAITING {
            hash.update(&waiting);
            waiting.clear();
        }
        if bytes.len() > WAITING {
            hash.update(bytes);
        } else {
            waiting.extend_from_slice(bytes);
        }
    });
    hash.update(&waiting);
    hash.finalize().into()
}

/// Writes all fields, each as name, length and little-endian values.
///
/// Every NaN is written as the same NaN.
fn write(dataset: &Dataset, sink: &mut impl FnMut(&[u8])) {
    sink(MAGIC);
    texts(sink, "dates", dataset.dates().iter());
    texts(sink, "symbols", dataset.symbols().iter());
    numbers(sink, "periods_per_year", &[dataset.periods_per_year]);
    let dense = [
        ("close", Some(&dataset.tables.close)),
        ("open", dataset.tables.open.as_ref()),
        ("high", dataset.tables.high.as_ref()),
        ("low", dataset.tables.low.as_ref()),
        ("volume", dataset.tables.volume.as_ref()),
    ];
    for (name, table) in dense {
        if let Some(table) = table {
            rows(sink, name, dataset, |bar, i| table.get(bar, i));
        }
    }
    let rare = [
        ("dividends", dataset.tables.dividends.as_ref()),
        ("splits", dataset.tables.splits.as_ref()),
        ("tradable", dataset.tables.tradable.as_ref()),
        ("delistings", dataset.tables.delistings.as_ref()),
    ];
    for (name, table) in rare {
        if let Some(table) = table {
            rows(sink, name, dataset, |bar, i| table.get(bar, i));
        }
    }
    for charge in Charge::ALL {
        if let Some(table) = dataset.tables.charges.table(charge) {
            rows(sink, charge.name(), dataset, |bar, i| table.get(bar, i));
        }
    }
    if let Some(risk_free) = dataset.risk_free() {
        numbers(sink, "risk_free", risk_free);
    }
    for known in &dataset.fundamentals {
        texts(sink, "fundamental", [&known.available_at, &known.item.0].into_iter());
        numbers(sink, "value", &[known.symbol as f64, known.item.1]);
    }
    for known in &dataset.news {
        texts(sink, "news", [&known.available_at, &known.item].into_iter());
        numbers(sink, "symbol", &[known.symbol as f64]);
    }
    for feature in &dataset.features {
        texts(sink, "feature", [&*feature.name, feature.scope.name()].into_iter());
        numbers(sink, "values", &feature.values);
    }
}

fn rows(sink: &mut impl FnMut(&[u8]), name: &str, dataset: &Dataset, get: impl Fn(usize, usize) -> f64) {
    let mut row = Vec::with_capacity(dataset.n_symbols());
    for bar in 0..dataset.n_bars() {
        row.clear();
        row.extend((0..dataset.n_symbols()).map(|i| get(bar, i)));
        numbers(sink, name, &row);
    }
}

fn texts(sink: &mut impl FnMut(&[u8]), name: &str, values: impl ExactSizeIterator<Item: AsRef<str>>) {
    header(sink, name, values.len());
    for value in values {
        let value = value.as_ref();
        sink(&(value.len() as u64).to_le_bytes());
        sink(value.as_bytes());
    }
}

fn numbers(sink: &mut impl FnMut(&[u8]), name: &str, values: &[f64]) {
    header(sink, name, values.len());
    // One call per part: one per value would take longer than the digest.
    let mut bytes = [0; 8 * PART];
    for part in values.chunks(PART) {
        for (word, value) in bytes.as_chunks_mut().0.iter_mut().zip(part) {
            *word = if value.is_nan() { f64::NAN } else { *value }.to_le_bytes();
        }
        sink(&bytes[..8 * part.len()]);
    }
}

fn header(sink: &mut impl FnMut(&[u8]), name: &str, length: usize) {
    sink(&(name.len() as u64).to_le_bytes());
    sink(name.as_bytes());
    sink(&(length as u64).to_le_bytes());
}
