use std::sync::Arc;

use openoutcry::record::{DatasetName, Digest};
use openoutcry::scenario::{Key, ScenarioSpec};
use openoutcry::{StatedPeriods, spec_digest, spec_from_json, spec_to_json};
use wasm_bindgen::prelude::*;

use crate::error::{raise, to_js};
use crate::market_json::Market;
use crate::run_settings::read;

/// A validated market, and its name in records.
#[wasm_bindgen]
#[derive(Clone)]
pub struct Dataset {
    pub(crate) core: Arc<openoutcry::Dataset>,
    pub(crate) name: Option<String>,
    pub(crate) commitment: Option<Digest>,
    notices: Vec<String>,
}

impl Dataset {
    fn of(core: openoutcry::Dataset) -> Self {
        Self::noticed((core, Vec::new()))
    }

    fn noticed((core, mut notices): (openoutcry::Dataset, Vec<String>)) -> Self {
        notices.extend(core.fill_notice());
        Self { core: Arc::new(core), name: None, commitment: None, notices }
    }

    /// Returns the required name of the market in records.
    ///
    /// The record is trusted for a market without a name.
    pub(crate) fn known(&self) -> Option<DatasetName> {
        let fingerprint = Digest(self.core.fingerprint());
        self.name.clone().map(|name| DatasetName { commitment: self.commitment, fingerprint, name })
    }
}

fn spec_of(text: &str) -> Result<ScenarioSpec, JsValue> {
    if let Some(spec) = ScenarioSpec::named(text) {
        return Ok(spec);
    }
    if text.trim_start().starts_with('{') {
        return spec_from_json(text).map_err(|error| raise("argument_invalid", &error.to_string()));
    }
    let known = ScenarioSpec::NAMES.join(", ");
    Err(raise("argument_invalid", &format!("a scenario must be a spec in JSON or one of {known}; received {text:?}")))
}

/// Returns the JSON of a scenario's spec by the name of its tier or family.
#[wasm_bindgen]
pub fn scenario_spec(name: &str) -> Result<String, JsValue> {
    spec_of(name).map(|spec| spec_to_json(&spec))
}

#[wasm_bindgen]
impl Dataset {
    /// Returns the market of a CSV text, long or wide.
    ///
    /// Without `periods_per_year` it is inferred from the dates.
    pub fn from_csv(text: &str, periods_per_year: Option<f64>) -> Result<Self, JsValue> {
        let stated = StatedPeriods { value: periods_per_year, option: "periodsPerYear" };
        openoutcry::Dataset::from_user_csv(text, stated).map(Self::noticed).map_err(to_js)
    }

    /// Returns the market of columns in JSON, one row per bar.
    pub fn from_columns(text: &str) -> Result<Self, JsValue> {
        let (columns, value) = read::<Market>("columns", text)?.columns()?;
        let stated = StatedPeriods { value, option: "periods_per_year" };
        openoutcry::Dataset::from_user_columns(columns, stated).map(Self::noticed).map_err(to_js)
    }

    /// Returns the market of bytes that `to_bytes` wrote.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, JsValue> {
        openoutcry::Dataset::from_bytes(bytes).map(Self::of).map_err(to_js)
    }

    /// Returns a market of random walks, a function of its seed.
    pub fn synthetic(n_symbols: usize, n_days: usize, seed: u64) -> Result<Self, JsValue> {
        openoutcry::Dataset::synthetic(n_symbols, n_days, seed).map(Self::of).map_err(to_js)
    }

    /// Returns the market of a scenario and a seed in a split such as `train`.
    ///
    /// A scenario is the name of a tier or family, or a spec in JSON. A guessed seed reveals the market.
    pub fn scenario(spec: &str, split: &str, seed: u64) -> Result<Self, JsValue> {
        spec_of(spec)?.dataset(&Key::from_seed(split, seed)).map(Self::of).map_err(to_js)
    }

    /// Returns the market of a scenario with a revealed key of 64 hexadecimal digits.
    ///
    /// It has the commitment of that key.
    pub fn revealed(spec: &str, key: &str) -> Result<Self, JsValue> {
        let spec = spec_of(spec)?;
        let digits = key.parse::<Digest>().map_err(|error| raise("argument_invalid", &format!("`key`: {error}")))?;
        let key = Key::from_bytes(digits.0);
        let core = spec.dataset(&key).map_err(to_js)?;
        Ok(Self { commitment: Some(Digest(key.commitment(&spec_digest(&spec)))), ..Self::of(core) })
    }

    /// Returns the same market with a name, which records must then have.
    pub fn named(&self, name: &str, commitment: Option<String>) -> Result<Self, JsValue> {
        let parsed = commitment.map(|digits| digits.parse::<Digest>()).transpose();
        let commitment = parsed.map_err(|error| raise("argument_invalid", &format!("`commitment`: {error}")))?;
        Ok(Self { name: Some(name.to_owned()), commitment, ..self.clone() })
    }

    /// Returns another handle of the market, for a call that consumes it.
    pub fn share(&self) -> Self {
        self.clone()
    }

    /// Returns the canonical bytes of the market.
    ///
    /// The fingerprint is their SHA-256.
    pub fn to_bytes(&self) -> Vec<u8> {
        self.core.to_bytes()
    }

    /// SHA-256 of the canonical bytes, in hex.
    #[wasm_bindgen(getter)]
    pub fn fingerprint(&self) -> String {
        Digest(self.core.fingerprint()).to_string()
    }

    /// Name in records.
    #[wasm_bindgen(getter)]
    pub fn name(&self) -> Option<String> {
        self.name.clone()
    }

    /// The commitment to the key of a sealed market.
    #[wasm_bindgen(getter)]
    pub fn commitment(&self) -> Option<String> {
        self.commitment.map(|digest| digest.to_string())
    }

    /// Dates of the bars, ascending.
    #[wasm_bindgen(getter)]
    pub fn dates(&self) -> Vec<String> {
        self.core.dates().texts(0..self.core.n_bars())
    }

    /// Names of the symbols, in the order of the columns.
    #[wasm_bindgen(getter)]
    pub fn symbols(&self) -> Vec<String> {
        self.core.symbols().to_vec()
    }

    /// Caveats about the market, in words.
    #[wasm_bindgen(getter)]
    pub fn notices(&self) -> Vec<String> {
        self.notices.clone()
    }

    /// Bars per year; absent if unknown.
    #[wasm_bindgen(getter)]
    pub fn periods_per_year(&self) -> Option<f64> {
        self.core.periods_per_year()
    }

    /// Returns a column by name, bars by symbols; absent if the market lacks it.
    pub fn column(&self, name: &str) -> Option<Vec<f64>> {
        self.core.column(name)
    }
}
