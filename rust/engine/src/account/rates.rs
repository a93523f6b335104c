use crate::account::costs::CostModel;

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

impl Rates {
    /// Returns the rates of a cost model.
    pub(crate) fn of(costs: &CostModel) -> Self {
        Self {
            fee: costs.fee_bps / 1e4,
            slippage: costs.slippage_bps / 1e4,
            impact: costs.impact_bps / 1e4,
            financing: costs.financing_bps / 1e4,
            cash: costs.cash_bps / 1e4,
            borrow: costs.borrow_bps / 1e4,
        }
    }
}
