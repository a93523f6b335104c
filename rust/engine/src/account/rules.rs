use std::sync::Arc;

use crate::account::cost_tables::CostTables;
use crate::account::costs::CostModel;
use crate::account::fill_noise::FillKey;
use crate::account::lane_terms::LaneTerms;
use crate::account::limits::Limits;
use crate::error::ConfigError;
use crate::market::dataset::Dataset;

/// The largest |weight| of an order; a larger one is refused.
pub const MAX_ABS_WEIGHT: f64 = 100.0;

/// Costs, limits and fill key of a market, validated once and used by every step.
#[derive(Clone, Debug)]
pub struct Rules {
    costs: CostModel,
    limits: Limits,
    pub(crate) fill_key: FillKey,
    pub(crate) rates: Rates,
    pub(crate) lane_terms: LaneTerms,
    pub(crate) tables: Option<Arc<CostTables>>,
}

/// Precomputed tables change no number, so they are not compared.
impl PartialEq for Rules {
    fn eq(&self, other: &Self) -> bool {
        (self.costs, self.limits, self.fill_key) == (other.costs, other.limits, other.fill_key)
    }
}

/// The cost model as fractions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Rates {
    pub(crate) fee: f64,
    pub(crate) slippage: f64,
    pub(crate) impact: f64,
    pub(crate) financing: f64,
    pub(crate) cash: f64,
    pub(crate) borrow: f64,
}

impl Rules {
    /// Returns the rules of costs and limits, with the key of the slippage noise.
    ///
    /// # Errors
    ///
    /// Returns the first cost or limit that is out of range.
    pub fn new(costs: CostModel, limits: Limits, fill_key: FillKey) -> Result<Self, ConfigError> {
        costs.validate()?;
        limits.validate()?;
        let rates = Rates {
            fee: costs.fee_bps / 1e4,
            slippage: costs.slippage_bps / 1e4,
            impact: costs.impact_bps / 1e4,
            financing: costs.financing_bps / 1e4,
            cash: costs.cash_bps / 1e4,
            borrow: costs.borrow_bps / 1e4,
        };
        let lane_terms = LaneTerms::shared(&costs, &limits, &rates);
        Ok(Self { costs, limits, fill_key, rates, lane_terms, tables: None })
    }

    /// Returns these rules with another key of the slippage noise.
    #[must_use]
    pub fn with_fill_key(mut self, fill_key: FillKey) -> Self {
        self.fill_key = fill_key;
        self.tables = None;
        self
    }

    /// Returns these rules with precomputed cost tables for `market`.
    ///
    /// Use it where many accounts share the rules. The rules then apply to that market only.
    #[must_use]
    pub fn with_tables(mut self, market: &Dataset) -> Self {
        self.tables = Some(Arc::new(CostTables::new(market, &self)));
        self
    }

    /// Returns the cost model.
    #[must_use]
    pub fn costs(&self) -> &CostModel {
        &self.costs
    }

    /// Returns the key of the slippage noise.
    #[must_use]
    pub fn fill_key(&self) -> FillKey {
        self.fill_key
    }

    /// Returns the limits.
    #[must_use]
    pub fn limits(&self) -> &Limits {
        &self.limits
    }
}
