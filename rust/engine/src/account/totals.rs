use crate::account::costs::StepCosts;

/// Sums over the decisions of a run, in their order.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Totals {
    /// Notional traded over NAV.
    pub turnover: f64,
    /// Costs over NAV.
    pub cost: f64,
    /// Gross exposure at the close.
    pub gross: f64,
    /// Net exposure at the close.
    pub net: f64,
    /// Decisions after which a position is held at the close.
    pub n_invested: usize,
}

impl Totals {
    /// Adds a decision.
    ///
    /// The arguments are the NAV before it, its turnover and costs, and the gross and net exposure after it.
    #[inline(always)]
    pub fn add(&mut self, nav_before: f64, turnover: f64, costs: &StepCosts, (gross, net): (f64, f64)) {
        let paid = costs.total();
        self.turnover += turnover;
        self.cost += if nav_before == 0.0 { 0.0 } else { paid / nav_before };
        self.gross += gross;
        self.net += net;
        self.n_invested += usize::from(gross > 0.0);
    }
}
