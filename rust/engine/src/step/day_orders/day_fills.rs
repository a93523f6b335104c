use crate::account::costs::StepCosts;
use crate::account::day_cell::DayCell;
use crate::step::day_orders::day_bar::DayBar;
use crate::step::execution;
use crate::vector::lane_sums::{self, LANES};

/// The cash of the account and the totals of its fills in a bar.
pub(crate) struct DayTrades {
    pub(crate) cash: f64,
    /// Notional traded.
    pub(crate) traded: f64,
    pub(crate) costs: StepCosts,
    /// Whether step 9 has cut a reduction in a phase so far.
    pub(super) reduction_cut: bool,
}

/// A fill of one order.
pub(super) struct DayFill {
    /// Price with the cost.
    pub(super) price: f64,
    /// Price before the cost.
    pub(super) base: f64,
    /// The price that slippage and impact are fractions of, in currency per share.
    paid_on: f64,
    slippage: f64,
    impact: f64,
}

impl DayCell {
    /// Returns slippage plus impact of a number of shares, as a fraction of the price.
    pub(super) fn cost(&self, size: f64) -> f64 {
        self.slippage + self.impact_of(size)
    }

    /// Returns the impact of a number of shares.
    ///
    /// Infinity times the root of zero is NaN.
    fn impact_of(&self, size: f64) -> f64 {
        if size == 0.0 { 0.0 } else { self.impact * size.sqrt() }
    }

    /// Returns the fill of the order of this cell.
    pub(super) fn fill(&self, shares: f64) -> DayFill {
        if !self.base.is_nan() {
            return self.fill_near(shares, self.base);
        }
        let fill = self.fill_at(shares, self.order.limit);
        // Steps 10 and 11 may cut an order so far that its cost would have let it fill at the open.
        let is_beyond_open = fill.base * shares.signum() > self.open * shares.signum();
        if is_beyond_open { self.fill_near(shares, self.open) } else { fill }
    }

    /// Returns the fill at a price before cost.
    pub(super) fn fill_near(&self, shares: f64, base: f64) -> DayFill {
        let impact = self.impact_of(shares.abs());
        let price = base * (1.0 + (self.slippage + impact).copysign(shares));
        DayFill { price, base, paid_on: base, slippage: self.slippage, impact }
    }

    /// Returns the fill at a price that includes the cost.
    pub(super) fn fill_at(&self, shares: f64, price: f64) -> DayFill {
        let impact = self.impact_of(shares.abs());
        let cost = self.slippage + impact;
        let base = price / (1.0 + cost.copysign(shares));
        let part = |of: f64| if cost == 0.0 { 0.0 } else { of / cost };
        DayFill { price, base, paid_on: (price - base).abs(), slippage: part(self.slippage), impact: part(impact) }
    }
}

/// Sums over the fills of a phase, in lanes.
#[derive(Default)]
pub(super) struct FillSums {
    flow: [f64; LANES],
    traded: [f64; LANES],
    slipped: [f64; LANES],
    pushed: [f64; LANES],
    /// Fees of symbols with their own, less those of the cost model.
    extra_fees: [f64; LANES],
}

impl FillSums {
    /// Adds a fill.
    pub(super) fn add(&mut self, day: &DayBar<'_>, symbol: usize, shares: f64, fill: &DayFill) {
        let (lane, size) = (symbol % LANES, shares.abs());
        self.flow[lane] += shares * fill.price;
        self.traded[lane] += size * fill.price;
        self.slipped[lane] += size * fill.paid_on * fill.slippage;
        self.pushed[lane] += size * fill.paid_on * fill.impact;
        if let Some(extra) = day.rules.extra_fee(day.market, day.bar, symbol) {
            self.extra_fees[lane] += size * fill.price * extra;
        }
    }
}

impl DayTrades {
    /// Pays for the fills of a phase.
    pub(super) fn pay(&mut self, day: &DayBar<'_>, sums: &FillSums) {
        let traded = lane_sums::total(&sums.traded);
        let fee = execution::fee(day.market, day.rules, traded, &sums.extra_fees);
        self.cash -= lane_sums::total(&sums.flow) + fee;
        self.traded += traded;
        self.costs = StepCosts {
            fee: self.costs.fee + fee,
            slippage: self.costs.slippage + lane_sums::total(&sums.slipped),
            impact: self.costs.impact + lane_sums::total(&sums.pushed),
            ..self.costs
        };
    }
}
