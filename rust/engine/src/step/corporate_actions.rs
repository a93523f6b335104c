//! Step 6 of the timeline: dividends, splits and delistings.

use crate::account::event::{Event, UnfilledReason};
use crate::account::workspace::Desk;
use crate::market::dataset::Dataset;
use crate::vector::lane_sums::{self, LANES};

/// What corporate actions brought.
#[derive(Default)]
pub(crate) struct Actions {
    /// Cash of dividends.
    pub(crate) dividends: f64,
    /// Gain of settled positions over their marks.
    pub(crate) settlement: f64,
}

/// Step 6: pays dividends, splits shares, and settles what ceases to exist.
pub(crate) fn apply(market: &Dataset, bar: usize, cash: &mut f64, desk: &mut Desk) -> Actions {
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
