//! Step 12 of the timeline: interest, financing and borrow fees.

use crate::account::rules::Rules;
use crate::account::workspace::Workspace;
use crate::market::charges::Charge;
use crate::market::dataset::Dataset;
use crate::vector::lane_sums::{self, Block, LANES, each};

/// Interest and fees of one bar.
pub(crate) struct Accrual {
    /// On the own cash of the account: interest if positive, financing if negative.
    pub(crate) idle: f64,
    /// Fee on borrowed shares.
    pub(crate) borrow: f64,
    /// Funding that longs pay and shorts receive, less what they receive and pay.
    pub(crate) funding: f64,
    own: f64,
}

impl Accrual {
    /// Returns the accrual on `cash` and on shorts worth `short`.
    pub(crate) fn new(market: &Dataset, rules: &Rules, cash: f64, short: f64) -> Self {
        let rates = &rules.rates;
        let own = cash - short;
        let rate = if own >= 0.0 { rates.cash } else { rates.financing };
        let ppy = market.accruals_per_year();
        Self { idle: own * rate / ppy, borrow: short * rates.borrow / ppy, funding: 0.0, own }
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
/// The proceeds of a short are not own cash.
pub(crate) fn accrue(market: &Dataset, rules: &Rules, bar: usize, cash: f64, workspace: &Workspace) -> Accrual {
    let short = if rules.limits().allow_short { short_value(market, bar, workspace) } else { 0.0 };
    Accrual::new(market, rules, cash, short)
}

/// Returns the value of all shorts at reference prices, or at marks without one.
fn short_value(market: &Dataset, bar: usize, workspace: &Workspace) -> f64 {
    let mut lane = [0.0; LANES];
    let mut unpriced = [0.0; LANES];
    for ((shares, mark), price) in workspace.shares.iter().zip(&workspace.marks).zip(market.fill_prices(bar)) {
        let short: Block = each(|k| if shares[k] < 0.0 { -shares[k] } else { 0.0 });
        unpriced = each(|k| unpriced[k] + if price[k].is_nan() { short[k] } else { 0.0 });
        let price: Block = each(|k| if price[k].is_nan() { mark[k] } else { price[k] });
        lane = each(|k| lane[k] + short[k] * price[k]);
    }
    if unpriced.iter().any(|short| *short > 0.0) {
        unfillable_short_value(market, bar, workspace)
    } else {
        lane_sums::total(&lane)
    }
}

/// Returns the value of all shorts if one of them cannot be traded.
///
/// A symbol without a fill price may have a reference price.
fn unfillable_short_value(market: &Dataset, bar: usize, workspace: &Workspace) -> f64 {
    short_value_of(market, bar, workspace, |symbol| lane_sums::get(&workspace.shares, symbol))
}

/// Returns the value of the shorts among `shares`.
///
/// At reference prices, or at marks without one.
fn short_value_of(market: &Dataset, bar: usize, workspace: &Workspace, shares: impl Fn(usize) -> f64) -> f64 {
    lane_sums::sum((0..market.n_symbols()).map(|symbol| {
        let shares = shares(symbol);
        if shares < 0.0 { -shares * price_of(market, bar, workspace, symbol) } else { 0.0 }
    }))
}

/// Step 12 of a bar in phases.
///
/// Charges the rates on the least cash and the largest shorts.
///
/// It compares two states of the account: after the fills inside the bar, with the cash `cash_inside`, and after all
/// fills. So a position entered at the close and left at the next open pays for one bar.
pub(crate) fn accrue_day(
    market: &Dataset,
    rules: &Rules,
    bar: usize,
    (cash_inside, cash): (f64, f64),
    workspace: &Workspace,
) -> Accrual {
    let inside = |symbol: usize| workspace.day[symbol].held_inside;
    let last = |symbol: usize| lane_sums::get(&workspace.shares, symbol);
    let largest = |symbol: usize| if inside(symbol) < last(symbol) { inside(symbol) } else { last(symbol) };
    let shorts = rules.limits().allow_short;
    let short = if shorts { short_value_of(market, bar, workspace, largest) } else { 0.0 };
    let mut accrual = Accrual::new(market, rules, if cash_inside < cash { cash_inside } else { cash }, short);
    if shorts && market.has_charge(Charge::Borrow) {
        let extra = lane_sums::sum((0..market.n_symbols()).map(|symbol| {
            let charged = market.charge(Charge::Borrow, bar, symbol);
            let value =
                if largest(symbol) < 0.0 { -largest(symbol) * price_of(market, bar, workspace, symbol) } else { 0.0 };
            charged.map_or(0.0, |bps| value * (bps / 1e4 - rules.rates.borrow))
        }));
        let borrow = accrual.borrow + extra / market.accruals_per_year();
        accrual.borrow = if borrow > 0.0 { borrow } else { 0.0 };
    }
    if market.has_charge(Charge::Funding) {
        accrual.funding = lane_sums::sum((0..market.n_symbols()).map(|symbol| {
            let Some(rate) = market.charge(Charge::Funding, bar, symbol) else { return 0.0 };
            let price = price_of(market, bar, workspace, symbol);
            let held = [workspace.day[symbol].held_opens, inside(symbol), last(symbol)];
            held.map(|shares| shares * price * rate).into_iter().fold(f64::NEG_INFINITY, f64::max)
        }));
    }
    accrual
}

/// Returns the reference price of a symbol, or its mark without one.
fn price_of(market: &Dataset, bar: usize, workspace: &Workspace, symbol: usize) -> f64 {
    let price = market.reference_price(bar, symbol);
    if price.is_nan() { lane_sums::get(&workspace.marks, symbol) } else { price }
}
