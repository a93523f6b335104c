//! Step 6 and steps 12 to 14 of the timeline: what a position pays, what it is worth, and when it is closed by force.

use crate::costs::StepCosts;
use crate::dataset::Dataset;
use crate::event::{Event, UnfilledReason};
use crate::lanes::{self, LANES, each};
use crate::step::{Desk, Detail, Rules};

/// What corporate actions brought.
#[derive(Default)]
pub(crate) struct Actions {
    /// Cash of dividends.
    pub(crate) dividends: f64,
    /// Gain of settled positions over their marks.
    pub(crate) settlement: f64,
}

/// Step 6: pays dividends, splits shares, and settles what ceases to exist.
pub(crate) fn act(market: &Dataset, bar: usize, cash: &mut f64, desk: &mut Desk) -> Actions {
    if !market.has_actions(bar) {
        return Actions::default();
    }
    let symbols = 0..market.n_symbols();
    let dividends = lanes::sum(symbols.clone().map(|i| lanes::get(&desk.shares, i) * market.dividend(bar, i)));
    *cash += dividends;
    for symbol in symbols.clone() {
        let split = market.split(bar, symbol);
        for table in [&mut desk.shares, &mut desk.sized] {
            table[symbol / LANES][symbol % LANES] *= split;
        }
        for table in [&mut desk.marks, &mut desk.avg_prices] {
            table[symbol / LANES][symbol % LANES] /= split;
        }
    }
    let (mut paid, mut gained) = ([0.0; LANES], [0.0; LANES]);
    for symbol in symbols {
        if let Some(delisting_return) = market.delisting_return(bar, symbol) {
            let value = settle(desk, symbol, delisting_return);
            paid[symbol % LANES] += value * (1.0 + delisting_return);
            gained[symbol % LANES] += value * delisting_return;
        }
    }
    *cash += lanes::total(&paid);
    Actions { dividends, settlement: lanes::total(&gained) }
}

/// Takes a settled position off the book and returns its value at the mark.
fn settle(desk: &mut Desk, symbol: usize, delisting_return: f64) -> f64 {
    let (shares, ordered) = (lanes::get(&desk.shares, symbol), lanes::get(&desk.sized, symbol));
    let mark = lanes::get(&desk.marks, symbol);
    if shares != 0.0 {
        let price = mark * (1.0 + delisting_return);
        desk.events.push(Event::Delisted { symbol, shares, price });
    } else if ordered != 0.0 {
        desk.events.push(Event::Unfilled { symbol, shares: ordered, reason: UnfilledReason::NoPrice });
    }
    for table in [&mut desk.shares, &mut desk.sized, &mut desk.avg_prices] {
        lanes::set(table, symbol, 0.0);
    }
    shares * mark
}

/// Step 12: charges the rates of one bar and returns the interest on idle cash.
pub(crate) fn accrue(
    market: &Dataset,
    rules: &Rules,
    bar: usize,
    cash: &mut f64,
    desk: &Desk,
    costs: &mut StepCosts,
) -> f64 {
    let rates = &rules.rates;
    let short = if rules.limits().allow_short { short_value(market, bar, desk) } else { 0.0 };
    let own = *cash - short;
    let rate = if own >= 0.0 { rates.cash } else { rates.financing };
    let interest = own * rate / market.periods_per_year();
    costs.borrow = short * rates.borrow / market.periods_per_year();
    *cash += interest;
    *cash -= costs.borrow;
    if own < 0.0 {
        costs.financing = -interest;
        return 0.0;
    }
    interest
}

/// Returns the value of all shorts at reference prices, or else at marks.
fn short_value(market: &Dataset, bar: usize, desk: &Desk) -> f64 {
    let mut lane = [0.0; LANES];
    let mut unpriced = [0.0; LANES];
    for ((shares, mark), price) in desk.shares.iter().zip(&desk.marks).zip(market.fill_prices(bar)) {
        let short = each(|k| if shares[k] < 0.0 { -shares[k] } else { 0.0 });
        unpriced = each(|k| unpriced[k] + if price[k].is_nan() { short[k] } else { 0.0 });
        let price = each(|k| if price[k].is_nan() { mark[k] } else { price[k] });
        lane = each(|k| lane[k] + short[k] * price[k]);
    }
    if unpriced.iter().any(|short| *short > 0.0) {
        unfillable_short_value(market, bar, desk)
    } else {
        lanes::total(&lane)
    }
}

/// As above, where a short cannot be traded.
///
/// It has no fill price then, yet may have a reference price.
fn unfillable_short_value(market: &Dataset, bar: usize, desk: &Desk) -> f64 {
    lanes::sum((0..market.n_symbols()).map(|symbol| {
        let (shares, price) = (lanes::get(&desk.shares, symbol), market.reference_price(bar, symbol));
        let price = if price.is_nan() { lanes::get(&desk.marks, symbol) } else { price };
        if shares < 0.0 { -shares * price } else { 0.0 }
    }))
}

/// Step 13: moves the marks to the closes of the bar and returns NAV.
pub(crate) fn mark(market: &Dataset, bar: usize, cash: f64, desk: &mut Desk) -> f64 {
    let mut lane = [0.0; LANES];
    for ((mark, shares), close) in desk.marks.iter_mut().zip(&desk.shares).zip(market.closes(bar)) {
        *mark = each(|k| if close[k].is_nan() { mark[k] } else { close[k] });
        lane = each(|k| lane[k] + shares[k] * mark[k]);
    }
    cash + lanes::total(&lane)
}

/// Step 14: returns whether NAV is below the maintenance margin.
///
/// A margin of 0 never calls.
pub(crate) fn is_below_margin(rules: &Rules, nav: f64, desk: &Desk) -> bool {
    let margin = rules.limits().maintenance_margin;
    let positions = desk.shares.as_flattened().iter().zip(desk.marks.as_flattened());
    margin > 0.0 && nav < margin * lanes::sum(positions.map(|(shares, mark)| shares.abs() * mark))
}

/// Step 14: closes everything at slipped marks and returns what that cost.
pub(crate) fn liquidate(rules: &Rules, cash: &mut f64, desk: &mut Desk) -> f64 {
    let (mut flow, mut traded, mut slipped) = ([0.0; LANES], [0.0; LANES], [0.0; LANES]);
    for symbol in 0..desk.shares.len() * LANES {
        let (shares, mark) = (lanes::get(&desk.shares, symbol), lanes::get(&desk.marks, symbol));
        let price = mark * (1.0 - rules.rates.slippage.copysign(shares));
        flow[symbol % LANES] += shares * price;
        traded[symbol % LANES] += shares.abs() * price;
        slipped[symbol % LANES] += shares.abs() * mark * rules.rates.slippage;
        if shares != 0.0 {
            desk.events.push(Event::Liquidated { symbol, shares, price });
        }
    }
    let fee = rules.rates.fee * lanes::total(&traded);
    *cash += lanes::total(&flow) - fee;
    flatten(desk);
    lanes::total(&slipped) + fee
}

/// Step 14: writes the shortfall off and returns it.
pub(crate) fn ruin(nav: f64, desk: &mut Desk) -> f64 {
    desk.events.push(Event::Ruined { shortfall: -nav });
    flatten(desk);
    -nav
}

fn flatten(desk: &mut Desk) {
    desk.shares.fill([0.0; LANES]);
    if desk.detail == Detail::Full {
        desk.avg_prices.fill([0.0; LANES]);
    }
}
