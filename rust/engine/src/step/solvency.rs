//! Steps 13 and 14 of the timeline: valuation, margin call, liquidation and ruin.

use crate::account::event::Event;
use crate::account::rules::Rules;
use crate::account::workspace::{Detail, Workspace};
use crate::market::dataset::Dataset;
use crate::step::execution;
use crate::vector::lane_sums::{self, LANES, each};

/// An account at the close of the bar, after any liquidation or ruin.
pub(crate) struct Account {
    pub(crate) cash: f64,
    pub(crate) nav: f64,
    pub(crate) liquidation: f64,
    /// Notional closed by force.
    pub(crate) closed: f64,
    pub(crate) shortfall: f64,
    pub(crate) terminated: bool,
}

/// Step 13: moves the marks to the closes of the bar and values the account.
pub(crate) fn mark(market: &Dataset, bar: usize, cash: f64, workspace: &mut Workspace) -> Account {
    let mut lane = [0.0; LANES];
    for ((mark, shares), close) in workspace.marks.iter_mut().zip(&workspace.shares).zip(market.closes(bar)) {
        *mark = each(|k| if close[k].is_nan() { mark[k] } else { close[k] });
        lane = each(|k| lane[k] + shares[k] * mark[k]);
    }
    let nav = cash + lane_sums::total(&lane);
    Account { cash, nav, liquidation: 0.0, closed: 0.0, shortfall: 0.0, terminated: false }
}

/// Step 14: liquidates an account below its maintenance margin.
///
/// It terminates an account with nothing left.
pub(crate) fn solve(
    market: &Dataset,
    rules: &Rules,
    bar: usize,
    mut account: Account,
    workspace: &mut Workspace,
) -> Account {
    if is_below_margin(rules, account.nav, workspace) {
        (account.liquidation, account.closed) = liquidate(market, rules, bar, &mut account.cash, workspace);
        (account.nav, account.terminated) = (account.cash, true);
    }
    if account.nav <= 0.0 {
        account.closed += gross(workspace);
        account.shortfall = ruin(account.nav, workspace);
        (account.nav, account.cash, account.terminated) = (0.0, 0.0, true);
    }
    account
}

/// Returns whether NAV is below the maintenance margin; never at a margin of 0.
fn is_below_margin(rules: &Rules, nav: f64, workspace: &Workspace) -> bool {
    let margin = rules.limits().maintenance_margin;
    margin > 0.0 && nav < margin * gross(workspace)
}

fn gross(workspace: &Workspace) -> f64 {
    let positions = workspace.shares.as_flattened().iter().zip(workspace.marks.as_flattened());
    lane_sums::sum(positions.map(|(shares, mark)| shares.abs() * mark))
}

/// Closes all positions at slipped marks and returns the cost and the notional.
fn liquidate(market: &Dataset, rules: &Rules, bar: usize, cash: &mut f64, workspace: &mut Workspace) -> (f64, f64) {
    let (mut flow, mut traded, mut slipped) = ([0.0; LANES], [0.0; LANES], [0.0; LANES]);
    let mut extra_fees = [0.0; LANES];
    for symbol in 0..market.n_symbols() {
        let (shares, mark) = (lane_sums::get(&workspace.shares, symbol), lane_sums::get(&workspace.marks, symbol));
        let slippage = rules.half_spread(market, bar, symbol);
        let price = mark * (1.0 - slippage.copysign(shares));
        flow[symbol % LANES] += shares * price;
        traded[symbol % LANES] += shares.abs() * price;
        slipped[symbol % LANES] += shares.abs() * mark * slippage;
        extra_fees[symbol % LANES] += shares.abs() * price * rules.extra_fee(market, bar, symbol).unwrap_or(0.0);
        if shares != 0.0 {
            workspace.events.push(Event::Liquidated { symbol, shares, price });
        }
    }
    let traded = lane_sums::total(&traded);
    let fee = execution::fee(market, rules, traded, &extra_fees);
    *cash += lane_sums::total(&flow) - fee;
    flatten(workspace);
    (lane_sums::total(&slipped) + fee, traded)
}

/// Writes off the shortfall and returns it.
fn ruin(nav: f64, workspace: &mut Workspace) -> f64 {
    workspace.events.push(Event::Ruined { shortfall: -nav });
    flatten(workspace);
    -nav
}

fn flatten(workspace: &mut Workspace) {
    workspace.shares.fill([0.0; LANES]);
    if workspace.detail == Detail::Full {
        workspace.avg_prices.fill([0.0; LANES]);
    }
}
