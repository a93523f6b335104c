//! Step 6 and steps 12 to 14 of the timeline.
//!
//! They say what a position pays, what it is worth, and when it is closed by force.

use crate::account::event::{Event, UnfilledReason};
use crate::market::dataset::Dataset;
use crate::step::step_once::{Desk, Detail, Rules};
use crate::vector::lane_sums::{self, Block, LANES, each};

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
    let dividends = lane_sums::sum(symbols.clone().map(|i| lane_sums::get(&desk.shares, i) * market.dividend(bar, i)));
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
    *cash += lane_sums::total(&paid);
    Actions { dividends, settlement: lane_sums::total(&gained) }
}

/// Takes a settled position off the book and returns its value at the mark.
fn settle(desk: &mut Desk, symbol: usize, delisting_return: f64) -> f64 {
    let (shares, ordered) = (lane_sums::get(&desk.shares, symbol), lane_sums::get(&desk.sized, symbol));
    let mark = lane_sums::get(&desk.marks, symbol);
    if shares != 0.0 {
        let price = mark * (1.0 + delisting_return);
        desk.events.push(Event::Delisted { symbol, shares, price });
    } else if ordered != 0.0 {
        desk.events.push(Event::Unfilled { symbol, shares: ordered, reason: UnfilledReason::NoPrice });
    }
    for table in [&mut desk.shares, &mut desk.sized, &mut desk.avg_prices] {
        lane_sums::set(table, symbol, 0.0);
    }
    shares * mark
}

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

/// An account at the close of the bar, and what was done to it by force.
pub(crate) struct Account {
    pub(crate) cash: f64,
    pub(crate) nav: f64,
    pub(crate) liquidation: f64,
    pub(crate) shortfall: f64,
    pub(crate) terminated: bool,
}

/// Step 13: moves the marks to the closes of the bar and values the account.
pub(crate) fn mark(market: &Dataset, bar: usize, cash: f64, desk: &mut Desk) -> Account {
    let mut lane = [0.0; LANES];
    for ((mark, shares), close) in desk.marks.iter_mut().zip(&desk.shares).zip(market.closes(bar)) {
        *mark = each(|k| if close[k].is_nan() { mark[k] } else { close[k] });
        lane = each(|k| lane[k] + shares[k] * mark[k]);
    }
    Account { cash, nav: cash + lane_sums::total(&lane), liquidation: 0.0, shortfall: 0.0, terminated: false }
}

/// Step 14: closes an account by force where its NAV is below the margin.
///
/// It ends the account where nothing is left.
pub(crate) fn solve(rules: &Rules, mut account: Account, desk: &mut Desk) -> Account {
    if is_below_margin(rules, account.nav, desk) {
        account.liquidation = liquidate(rules, &mut account.cash, desk);
        (account.nav, account.terminated) = (account.cash, true);
    }
    if account.nav <= 0.0 {
        account.shortfall = ruin(account.nav, desk);
        (account.nav, account.cash, account.terminated) = (0.0, 0.0, true);
    }
    account
}

/// Returns whether NAV is below the maintenance margin; a margin of 0 never calls.
fn is_below_margin(rules: &Rules, nav: f64, desk: &Desk) -> bool {
    let margin = rules.limits().maintenance_margin;
    let positions = desk.shares.as_flattened().iter().zip(desk.marks.as_flattened());
    margin > 0.0 && nav < margin * lane_sums::sum(positions.map(|(shares, mark)| shares.abs() * mark))
}

/// Closes everything at slipped marks and returns what that cost.
fn liquidate(rules: &Rules, cash: &mut f64, desk: &mut Desk) -> f64 {
    let (mut flow, mut traded, mut slipped) = ([0.0; LANES], [0.0; LANES], [0.0; LANES]);
    for symbol in 0..desk.shares.len() * LANES {
        let (shares, mark) = (lane_sums::get(&desk.shares, symbol), lane_sums::get(&desk.marks, symbol));
        let price = mark * (1.0 - rules.rates.slippage.copysign(shares));
        flow[symbol % LANES] += shares * price;
        traded[symbol % LANES] += shares.abs() * price;
        slipped[symbol % LANES] += shares.abs() * mark * rules.rates.slippage;
        if shares != 0.0 {
            desk.events.push(Event::Liquidated { symbol, shares, price });
        }
    }
    let fee = rules.rates.fee * lane_sums::total(&traded);
    *cash += lane_sums::total(&flow) - fee;
    flatten(desk);
    lane_sums::total(&slipped) + fee
}

/// Writes the shortfall off and returns it.
fn ruin(nav: f64, desk: &mut Desk) -> f64 {
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
