//! Settings of a run in JSON, with the names of the record header.

use openoutcry::record::Digest;
use openoutcry::{ConfigError, CostModel, DEFAULT_LOOKBACK, Dataset, FillKey, Limits, Window};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use wasm_bindgen::JsValue;

use crate::error::{raise, to_js};
use crate::json_number::{Number, given};

/// Settings of a run; absent fields have the defaults of the contract.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Settings {
    window: Edges,
    costs: Costs,
    limits: Bounds,
    #[serde(deserialize_with = "given")]
    lookback: Option<usize>,
    #[serde(deserialize_with = "given")]
    fill_key: Option<Digest>,
}

/// The name of an agent, and its settings.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Captured {
    pub(crate) agent_id: String,
    pub(crate) in_sample_trials: u64,
    pub(crate) settings: Settings,
}

/// Settings that a replay requires; absent ones are taken from the record.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Held {
    #[serde(deserialize_with = "given")]
    costs: Option<Costs>,
    #[serde(deserialize_with = "given")]
    limits: Option<Bounds>,
    #[serde(deserialize_with = "given")]
    pub(crate) fill_key: Option<Digest>,
    #[serde(deserialize_with = "given")]
    pub(crate) public_key: Option<Digest>,
}

/// Bars `[start, end)`.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Edges {
    #[serde(deserialize_with = "given")]
    start: Option<usize>,
    #[serde(deserialize_with = "given")]
    end: Option<usize>,
}

macro_rules! fields {
    ($(#[$doc:meta])* $name:ident { $($field:ident: $kind:ty),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, Deserialize)]
        #[serde(deny_unknown_fields, default)]
        pub(crate) struct $name { $(#[serde(deserialize_with = "given")] $field: Option<$kind>),* }
    };
}

fields!(
    /// Costs that differ from the defaults.
    Costs {
        fee_bps: Number,
        slippage_bps: Number,
        slippage_jitter: Number,
        impact_bps: Number,
        stop_gap: Number,
        financing_bps: Number,
        cash_bps: Number,
        borrow_bps: Number,
        capital: Number,
    }
);
fields!(
    /// Limits that differ from the defaults; null for none.
    Bounds {
        max_weight: Option<Number>,
        max_gross: Option<Number>,
        allow_short: bool,
        max_participation: Option<Number>,
        maintenance_margin: Number,
        cash_account: bool,
    }
);

/// Parses the JSON text of settings.
pub(crate) fn read<T: DeserializeOwned>(name: &str, text: &str) -> Result<T, JsValue> {
    serde_json::from_str(text).map_err(|error| {
        // Line and column would be those of a text that no user wrote.
        let message = error.to_string();
        let words = message.split(" at line ").next().unwrap_or_default();
        raise("argument_invalid", &format!("`{name}`: {words}"))
    })
}

impl Costs {
    fn model(self) -> CostModel {
        let default = CostModel::default();
        let or = |given: Option<Number>, default| given.map_or(default, |Number(value)| value);
        CostModel {
            fee_bps: or(self.fee_bps, default.fee_bps),
            slippage_bps: or(self.slippage_bps, default.slippage_bps),
            slippage_jitter: or(self.slippage_jitter, default.slippage_jitter),
            impact_bps: or(self.impact_bps, default.impact_bps),
            stop_gap: or(self.stop_gap, default.stop_gap),
            financing_bps: or(self.financing_bps, default.financing_bps),
            cash_bps: or(self.cash_bps, default.cash_bps),
            borrow_bps: or(self.borrow_bps, default.borrow_bps),
            capital: or(self.capital, default.capital),
        }
    }
}

impl Bounds {
    fn limits(self) -> Limits {
        let default = Limits::default();
        let bound = |given: Option<Option<Number>>, default: f64| match given {
            None => default,
            Some(None) => f64::INFINITY,
            Some(Some(Number(value))) => value,
        };
        let participation = self.max_participation.map(|given| given.map(|Number(value)| value));
        Limits {
            max_weight: bound(self.max_weight, default.max_weight),
            max_gross: bound(self.max_gross, default.max_gross),
            allow_short: self.allow_short.unwrap_or(default.allow_short),
            max_participation: participation.unwrap_or(default.max_participation),
            maintenance_margin: self.maintenance_margin.map_or(default.maintenance_margin, |Number(value)| value),
            cash_account: self.cash_account.unwrap_or(default.cash_account),
        }
    }
}

impl Settings {
    pub(crate) fn lookback(&self) -> usize {
        self.lookback.unwrap_or(DEFAULT_LOOKBACK)
    }

    pub(crate) fn window(&self, data: &Dataset) -> Result<Window, JsValue> {
        Window::resolve(self.window.start, self.window.end, self.lookback(), data.n_bars()).map_err(to_js)
    }

    /// Returns the settings with bar 0 as the default start of the window.
    ///
    /// Weights need no history before their first row.
    pub(crate) fn starting_at_first_bar(mut self) -> Self {
        self.window.start = self.window.start.or(Some(0));
        self
    }

    pub(crate) fn costs(&self) -> CostModel {
        self.costs.model()
    }

    pub(crate) fn limits(&self) -> Limits {
        self.limits.limits()
    }

    pub(crate) fn fill_key(&self) -> Option<FillKey> {
        self.fill_key.map(|key| FillKey::from_bytes(key.0))
    }
}

impl Held {
    pub(crate) fn costs(&self) -> Result<Option<CostModel>, ConfigError> {
        let costs = self.costs.map(Costs::model);
        costs.map(|costs| costs.validate().map(|()| costs)).transpose()
    }

    pub(crate) fn limits(&self) -> Result<Option<Limits>, ConfigError> {
        let limits = self.limits.map(Bounds::limits);
        limits.map(|limits| limits.validate().map(|()| limits)).transpose()
    }
}
