use openoutcry_engine::{CostModel, Limits, Window};
use serde::Deserialize;

use super::digest::Digest;

/// The header of a run: the settings before its first bar.
#[derive(Clone, Debug, PartialEq)]
pub struct Header {
    /// Version of the contract.
    pub contract_version: String,
    /// Costs.
    pub costs: CostModel,
    /// The market.
    pub dataset: DatasetName,
    /// Version of the engine.
    pub engine_version: String,
    /// Key of the slippage noise.
    pub fill: Fill,
    /// Limits.
    pub limits: Limits,
    /// Largest number of closes per symbol in an observation.
    pub lookback: usize,
    /// The bars of the run.
    pub window: Window,
}

/// A market by its fingerprint, with a display name.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DatasetName {
    /// The commitment to the key of a sealed market.
    pub commitment: Option<Digest>,
    /// SHA-256 of the canonical bytes of the market.
    pub fingerprint: Digest,
    /// Display name.
    pub name: String,
}

/// The key of the slippage noise, or its commitment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fill {
    /// The seed of the key.
    Seed(u64),
    /// The commitment to a sealed key.
    Commitment(Digest),
}

impl Header {
    /// Returns every field by its path, as text, in the order of the record.
    ///
    /// An absent limit is `none`.
    #[must_use]
    pub fn fields(&self) -> Vec<(&'static str, String)> {
        let (costs, limits) = (&self.costs, &self.limits);
        let number = |value: f64| if value.is_finite() { value.to_string() } else { "none".to_owned() };
        let fill = match self.fill {
            Fill::Seed(seed) => ("fill.seed", seed.to_string()),
            Fill::Commitment(digest) => ("fill.commitment", digest.to_string()),
        };
        let mut fields = vec![
            ("contract_version", self.contract_version.clone()),
            ("costs.borrow_bps", number(costs.borrow_bps)),
            ("costs.capital", number(costs.capital)),
            ("costs.cash_bps", number(costs.cash_bps)),
            ("costs.fee_bps", number(costs.fee_bps)),
            ("costs.financing_bps", number(costs.financing_bps)),
            ("costs.impact_bps", number(costs.impact_bps)),
            ("costs.slippage_bps", number(costs.slippage_bps)),
            ("costs.slippage_jitter", number(costs.slippage_jitter)),
            ("dataset.fingerprint", self.dataset.fingerprint.to_string()),
            ("dataset.name", self.dataset.name.clone()),
            ("engine_version", self.engine_version.clone()),
            fill,
            ("limits.allow_short", limits.allow_short.to_string()),
            ("limits.maintenance_margin", number(limits.maintenance_margin)),
            ("limits.max_gross", number(limits.max_gross)),
            ("limits.max_participation", limits.max_participation.map_or("none".to_owned(), number)),
            ("limits.max_weight", number(limits.max_weight)),
            ("lookback", self.lookback.to_string()),
            ("window.end", self.window.end.to_string()),
            ("window.start", self.window.start.to_string()),
        ];
        let mut insert = |name, value| fields.insert(fields.partition_point(|(of, _)| *of < name), (name, value));
        if let Some(commitment) = self.dataset.commitment {
            insert("dataset.commitment", commitment.to_string());
        }
        if costs.stop_gap != 0.0 {
            insert("costs.stop_gap", number(costs.stop_gap));
        }
        if limits.cash_account {
            insert("limits.cash_account", true.to_string());
        }
        fields
    }
}
