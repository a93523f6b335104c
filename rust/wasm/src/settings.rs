//! What a run is told, as JSON: the names are those of a record's header.

use openoutcry::record::Digest;
use openoutcry::{CostModel, DEFAULT_LOOKBACK, Dataset, FillKey, Limits, Window};
use serde::Deserialize;
use wasm_bindgen::JsValue;

use crate::error::{raise, to_js};

/// Settings of a run; what is left out has the default of the contract.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Settings {
    pub(crate) window: Edges,
    pub(crate) costs: Costs,
    pub(crate) limits: Bounds,
    pub(crate) lookback: Option<usize>,
    pub(crate) name: String,
    pub(crate) agent_id: String,
    pub(crate) commitment: Option<Digest>,
    pub(crate) fill_key: Option<Digest>,
    pub(crate) in_sample_trials: u64,
}

/// Bars `[start, end)`.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Edges {
    start: Option<usize>,
    end: Option<usize>,
}

macro_rules! given {
    ($(#[$doc:meta])* $name:ident of $core:ident { $($field:ident: $kind:ty),* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, Deserialize)]
        #[serde(deny_unknown_fields, default)]
        pub(crate) struct $name { $($field: Option<$kind>),* }

        impl $name {
            pub(crate) fn over(self, default: $core) -> $core {
                $core { $($field: self.$field.map_or(default.$field, Into::into)),* }
            }
        }
    };
}

given!(
    /// Costs in which a run differs from the defaults.
    Costs of CostModel {
        fee_bps: f64, slippage_bps: f64, slippage_jitter: f64, impact_bps: f64,
        financing_bps: f64, cash_bps: f64, borrow_bps: f64, capital: f64
    }
);
given!(
    /// Limits in which a run differs from the defaults.
    Bounds of Limits {
        max_weight: f64, max_gross: f64, allow_short: bool, max_participation: f64, maintenance_margin: f64
    }
);

impl Settings {
    pub(crate) fn read(text: &str) -> Result<Self, JsValue> {
        serde_json::from_str(text).map_err(|error| raise("argument_invalid", &format!("settings: {error}")))
    }

    pub(crate) fn lookback(&self) -> usize {
        self.lookback.unwrap_or(DEFAULT_LOOKBACK)
    }

    pub(crate) fn window(&self, data: &Dataset) -> Result<Window, JsValue> {
        Window::resolve(self.window.start, self.window.end, self.lookback(), data.n_bars()).map_err(to_js)
    }

    pub(crate) fn costs(&self) -> CostModel {
        self.costs.over(CostModel::default())
    }

    pub(crate) fn limits(&self) -> Limits {
        self.limits.over(Limits::default())
    }

    pub(crate) fn fill_key(&self) -> Option<FillKey> {
        self.fill_key.map(|key| FillKey::from_bytes(key.0))
    }
}
