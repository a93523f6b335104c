use std::sync::Arc;

use crate::account::cost_tables::CostTables;
use crate::account::costs::CostModel;
use crate::account::fill_noise::FillKey;
use crate::account::lane_terms::LaneTerms;
use crate::account::limits::Limits;
use crate::account::rates::Rates;
use crate::error::ConfigError;
use crate::market::charges::Charge;
use crate::market::dataset::Dataset;
use crate::market::grid::Grid;

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

impl Rules {
    /// Returns the rules of costs and limits, with the key of the slippage noise.
    ///
    /// # Errors
    ///
    /// Returns the first cost or limit that is out of range.
    pub fn new(costs: CostModel, limits: Limits, fill_key: FillKey) -> Result<Self, ConfigError> {
        costs.validate()?;
        limits.validate()?;
        let rates = Rates::of(&costs);
        let lane_terms = LaneTerms::shared(&costs, &limits, &rates);
        Ok(Self { costs, limits, fill_key, rates, lane_terms, tables: None })
    }

    /// Checks that `market` has the number of bars per year that annual rates need.
    ///
    /// # Errors
    ///
    /// Returns the first annual rate that is not 0, if the number is unknown.
    pub fn check_market(&self, market: &Dataset) -> Result<(), ConfigError> {
        let CostModel { financing_bps, cash_bps, borrow_bps, .. } = self.costs;
        let rates = [("financing_bps", financing_bps), ("cash_bps", cash_bps), ("borrow_bps", borrow_bps)];
        let highest = market.highest_charge(Charge::Borrow);
        let rates = rates.into_iter().chain(highest.map(|rate| (Charge::Borrow.name(), rate)));
        match rates.into_iter().find(|(_, rate)| *rate != 0.0) {
            Some((name, value)) if market.periods_per_year().is_none() => Err(ConfigError::AnnualRate { name, value }),
            _ => Ok(()),
        }
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
        self.tables = Some(Arc::new(self.cost_tables(market)));
        self
    }

    fn cost_tables(&self, market: &Dataset) -> CostTables {
        let (n_bars, n_symbols) = (market.n_bars(), market.n_symbols());
        let cells = || (0..n_bars).flat_map(|bar| (0..n_symbols).map(move |symbol| (bar, symbol)));
        let grid = |values: Vec<f64>, padding| Grid::from_rows(values, n_symbols, padding);
        let slippage = (self.costs.slippage_jitter > 0.0).then(|| {
            let drawn = cells().map(|(bar, i)| self.jittered_slippage(market, bar, i));
            grid(drawn.collect(), 0.0)
        });
        let reads_volume = self.rates.impact > 0.0 || self.limits.max_participation.is_some();
        let volumes: Option<Vec<f64>> = cells().map(|(bar, i)| market.volume_of(bar, i)).collect();
        let roots = volumes.filter(|_| reads_volume).map(|volumes| {
            let roots: Vec<f64> = volumes.iter().map(|volume| (self.costs.capital / volume).sqrt()).collect();
            grid(roots, 1.0)
        });
        CostTables { slippage, roots }
    }

    /// Returns the slippage of a symbol in a bar, without jitter.
    #[inline]
    pub(crate) fn half_spread(&self, market: &Dataset, bar: usize, symbol: usize) -> f64 {
        market.charge(Charge::HalfSpread, bar, symbol).map_or(self.rates.slippage, |bps| bps / 1e4)
    }

    /// Returns the commission of a symbol in a bar less that of the cost model.
    ///
    /// `None` if the symbol has none of its own.
    #[inline]
    pub(crate) fn extra_fee(&self, market: &Dataset, bar: usize, symbol: usize) -> Option<f64> {
        market.charge(Charge::Fee, bar, symbol).map(|bps| bps / 1e4 - self.rates.fee)
    }

    /// Returns the slippage of a symbol in a bar, including its jitter.
    pub(crate) fn jittered_slippage(&self, market: &Dataset, bar: usize, symbol: usize) -> f64 {
        let slippage = self.half_spread(market, bar, symbol);
        if self.costs.slippage_jitter == 0.0 {
            return slippage;
        }
        let draw = self.fill_key.uniform(bar, &market.symbols()[symbol]);
        slippage * (1.0 + self.costs.slippage_jitter * (2.0 * draw - 1.0))
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
