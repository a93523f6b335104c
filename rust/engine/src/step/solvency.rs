//! Steps 13 and 14 of the timeline: the value of the account, margin calls, liquidation and ruin.

use crate::account::event::Event;
use crate::account::rules::Rules;
use crate::account::workspace::{Desk, Detail};
use crate::market::dataset::Dataset;
use crate::vector::lane_sums::{self, LANES, each};

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
