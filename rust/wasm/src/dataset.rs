use std::sync::Arc;

use openoutcry::record::Digest;
use wasm_bindgen::prelude::*;

use crate::error::to_js;

/// A market, checked.
#[wasm_bindgen]
#[derive(Clone)]
pub struct Dataset(pub(crate) Arc<openoutcry::Dataset>);

#[wasm_bindgen]
impl Dataset {
    /// Returns the market of a CSV text, long or wide.
    pub fn from_csv(text: &str, periods_per_year: Option<f64>) -> Result<Self, JsValue> {
        let periods = periods_per_year.unwrap_or(openoutcry::DEFAULT_PERIODS_PER_YEAR);
        openoutcry::Dataset::from_csv(text, periods).map(|data| Self(Arc::new(data))).map_err(to_js)
    }

    /// Returns a market of random walks, fixed by its seed.
    pub fn synthetic(n_symbols: usize, n_days: usize, seed: u64) -> Result<Self, JsValue> {
        openoutcry::Dataset::synthetic(n_symbols, n_days, seed).map(|data| Self(Arc::new(data))).map_err(to_js)
    }

    /// SHA-256 of everything the market holds, in hex.
    #[wasm_bindgen(getter)]
    pub fn fingerprint(&self) -> String {
        Digest(self.0.fingerprint()).to_string()
    }

    /// Dates of the bars, rising.
    #[wasm_bindgen(getter)]
    pub fn dates(&self) -> Vec<String> {
        self.0.dates().to_vec()
    }

    /// Names of the symbols, in the order of the columns.
    #[wasm_bindgen(getter)]
    pub fn symbols(&self) -> Vec<String> {
        self.0.symbols().to_vec()
    }

    /// Bars a year.
    #[wasm_bindgen(getter)]
    pub fn periods_per_year(&self) -> f64 {
        self.0.periods_per_year()
    }

    /// Returns a column by name, bars by symbols; nothing if the market lacks it.
    pub fn column(&self, name: &str) -> Option<Vec<f64>> {
        self.0.column(name)
    }
}
