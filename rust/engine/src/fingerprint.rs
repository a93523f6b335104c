use sha2::{Digest, Sha256};

use crate::dataset::Dataset;

/// Returns the SHA-256 over all fields.
///
/// Each has its name, its length and little-endian values; every NaN is one NaN.
pub(crate) fn digest(dataset: &Dataset) -> [u8; 32] {
    let mut hash = Sha256::new();
    hash.update(b"openoutcry/dataset/v1\0");
    texts(&mut hash, "dates", dataset.dates());
    texts(&mut hash, "symbols", dataset.symbols());
    numbers(&mut hash, "periods_per_year", &[dataset.periods_per_year]);
    let dense = [
        ("close", Some(&dataset.close)),
        ("open", dataset.open.as_ref()),
        ("high", dataset.high.as_ref()),
        ("low", dataset.low.as_ref()),
        ("volume", dataset.volume.as_ref()),
    ];
    for (name, table) in dense {
        if let Some(table) = table {
            rows(&mut hash, name, dataset, |bar, i| table.get(bar, i));
        }
    }
    let rare = [
        ("dividends", dataset.dividends.as_ref()),
        ("splits", dataset.splits.as_ref()),
        ("tradable", dataset.tradable.as_ref()),
        ("delistings", dataset.delistings.as_ref()),
    ];
    for (name, table) in rare {
        if let Some(table) = table {
            rows(&mut hash, name, dataset, |bar, i| table.get(bar, i));
        }
    }
    if let Some(risk_free) = dataset.risk_free() {
        numbers(&mut hash, "risk_free", risk_free);
    }
    for known in &dataset.fundamentals {
        texts(&mut hash, "fundamental", &[known.available_at.clone(), known.item.0.clone()]);
        numbers(&mut hash, "value", &[known.symbol as f64, known.item.1]);
    }
    for known in &dataset.news {
        texts(&mut hash, "news", &[known.available_at.clone(), known.item.clone()]);
        numbers(&mut hash, "symbol", &[known.symbol as f64]);
    }
    hash.finalize().into()
}

fn rows(hash: &mut Sha256, name: &str, dataset: &Dataset, get: impl Fn(usize, usize) -> f64) {
    let mut row = Vec::with_capacity(dataset.n_symbols());
    for bar in 0..dataset.n_bars() {
        row.clear();
        row.extend((0..dataset.n_symbols()).map(|i| get(bar, i)));
        numbers(hash, name, &row);
    }
}

fn texts(hash: &mut Sha256, name: &str, values: &[String]) {
    header(hash, name, values.len());
    for value in values {
        hash.update((value.len() as u64).to_le_bytes());
        hash.update(value.as_bytes());
    }
}

fn numbers(hash: &mut Sha256, name: &str, values: &[f64]) {
    header(hash, name, values.len());
    for value in values {
        let value = if value.is_nan() { f64::NAN } else { *value };
        hash.update(value.to_le_bytes());
    }
}

fn header(hash: &mut Sha256, name: &str, length: usize) {
    hash.update((name.len() as u64).to_le_bytes());
    hash.update(name.as_bytes());
    hash.update((length as u64).to_le_bytes());
}
