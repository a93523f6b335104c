//! Step 12 of the timeline: interest, financing and borrow fees.

use crate::account::rules::Rules;
use crate::account::workspace::Desk;
use crate::market::dataset::Dataset;
use crate::vector::lane_sums::{self, Block, LANES, each};

/// What the rates of one bar come to.
pub(crate) struct Accrual {
    /// On the account's own cash: interest if above 0, financing if below.
    pub(crate) idle: f64,
    /// Fee on shares borrowed.
    pub(crate) borrow: f64,
    own: f64,
}

impl Accrual {
    /// Returns what is due on `cash` and on shorts worth `short`.
    pub(crate) fn new(market: &Dataset, rules: &Rules, cash: f64, short: f64) -> Self {
        let rates = &rules.rates;
        let own = cash - short;
        let rate = if own >= 0.0 { rates.cash } else { rates.financing };
        let ppy = market.periods_per_year();
        Self { idle: own * rate / ppy, borrow: short * rates.borrow / ppy, own }
    }

    pub(crate) fn interest(&self) -> f64 {
        if self.own < 0.0 { 0.0 } else { self.idle }
    }

    pub(crate) fn financing(&self) -> f64 {
        if self.own < 0.0 { -self.idle } else { 0.0 }
    }
}

/// Step 12: charges the rates of one bar.
///
/// The proceeds of a short are not the account's own cash.
pub(crate) fn accrue(market: &Dataset, rules: &Rules, bar: usize, cash: f64, desk: &Desk) -> Accrual {
    let short = if rules.limits().allow_short { short_value(market, bar, desk) } else { 0.0 };
    Accrual::new(market, rules, cash, short)
}

/// Returns the value of all shorts at reference prices, or else at marks.
fn short_value(market: &Dataset, bar: usize, desk: &Desk) -> f64 {
    let mut lane = [0.0; LANES];
    let mut unpriced = [0.0; LANES];
    for ((shares, mark), price) in desk.shares.iter().zip(&desk.marks).zip(market.fill_prices(bar)) {
        let short: Block = each(|k| if shares[k] < 0.0 { -shares[k] } else { 0.0 });
        unpriced = each(|k| unpriced[k] + if price[k].is_nan() { short[k] } else { 0.0 });
        let price: Block = each(|k| if price[k].is_nan() { mark[k] } else { price[k] });
        lane = each(|k| lane[k] + short[k] * price[k]);
    }
    if unpriced.iter().any(|short| *short > 0.0) {
        unfillable_short_value(market, bar, desk)
    } else {
        lane_sums::total(&lane)
    }
}

/// As above, where a short cannot be traded.
///
/// It has no fill price then, yet may have a reference price.
fn unfillable_short_value(market: &Dataset, bar: usize, desk: &Desk) -> f64 {
    lane_sums::sum((0..market.n_symbols()).map(|symbol| {
        let (shares, price) = (lane_sums::get(&desk.shares, symbol), market.reference_price(bar, symbol));
        let price = if price.is_nan() { lane_sums::get(&desk.marks, symbol) } else { price };
        if shares < 0.0 { -shares * price } else { 0.0 }
    }))
}
