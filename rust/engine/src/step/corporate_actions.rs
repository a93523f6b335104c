//! Step 6 of the timeline: dividends, splits and delistings.

use crate::account::event::{Event, UnfilledReason};
use crate::account::workspace::Workspace;
use crate::market::dataset::Dataset;
use crate::vector::lane_sums::{self, LANES};

/// The effect of corporate actions on the account.
#[derive(Default)]
pub(crate) struct Actions {
    /// Cash from dividends.
    pub(crate) dividends: f64,
    /// Gain of settled positions over their marks.
    pub(crate) settlement: f64,
}

/// Step 6: pays dividends, applies splits, and settles delisted positions.
pub(crate) fn apply(market: &Dataset, bar: usize, cash: &mut f64, workspace: &mut Workspace) -> Actions {
    if !market.has_actions(bar) {
        return Actions::default();
    }
    let symbols = 0..market.n_symbols();
    let dividends =
        lane_sums::sum(symbols.clone().map(|i| lane_sums::get(&workspace.shares, i) * market.dividend(bar, i)));
    *cash += dividends;
    for symbol in symbols.clone() {
        let split = market.split(bar, symbol);
        for table in [&mut workspace.shares, &mut workspace.sized] {
            table[symbol / LANES][symbol % LANES] *= split;
        }
        for table in [&mut workspace.marks, &mut workspace.avg_prices] {
            table[symbol / LANES][symbol % LANES] /= split;
        }
    }
    let (mut paid, mut gained) = ([0.0; LANES], [0.0; LANES]);
    for symbol in symbols {
        if let Some(delisting_return) = market.delisting_return(bar, symbol) {
            let value = settle(workspace, symbol, delisting_return);
            paid[symbol % LANES] += value * (1.0 + delisting_return);
            gained[symbol % LANES] += value * delisting_return;
        }
    }
    *cash += lane_sums::total(&paid);
    Actions { dividends, settlement: lane_sums::total(&gained) }
}

/// Removes a settled position and returns its value at the mark.
fn settle(workspace: &mut Workspace, symbol: usize, delisting_return: f64) -> f64 {
    let (shares, ordered) = (lane_sums::get(&workspace.shares, symbol), lane_sums::get(&workspace.sized, symbol));
    let mark = lane_sums::get(&workspace.marks, symbol);
    if shares != 0.0 {
        let price = mark * (1.0 + delisting_return);
        workspace.events.push(Event::Delisted { symbol, shares, price });
    } else if ordered != 0.0 {
        workspace.events.push(Event::Unfilled { symbol, shares: ordered, reason: UnfilledReason::NoPrice });
    }
    for table in [&mut workspace.shares, &mut workspace.sized, &mut workspace.avg_prices] {
        lane_sums::set(table, symbol, 0.0);
    }
    shares * mark
}
