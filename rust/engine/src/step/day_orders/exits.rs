use crate::account::costs::MAX_COST;
use crate::account::day_cell::{DayCell, Phase};
use crate::account::event::{Event, ExitReason, LimitReason, UnfilledReason};
use crate::account::workspace::{Detail, Workspace};
use crate::step::day_orders::bar_prices::BarPrices;
use crate::step::day_orders::day_bar::DayBar;
use crate::step::day_orders::day_fills::{DayFill, DayTrades, FillSums};
use crate::step::execution;
use crate::vector::lane_sums;

/// The first exit that a position meets.
#[derive(Clone, Copy)]
struct Exit {
    reason: ExitReason,
    at: ExitPrice,
}

#[derive(Clone, Copy, PartialEq)]
enum ExitPrice {
    /// At the open, for a position held since then.
    Open(f64),
    /// At a price inside the bar, before its cost.
    Inside(f64),
    /// At the take profit, with its cost.
    Profit(f64),
}

/// Drops reducing orders inside the bar that the exit of the position precedes.
///
/// A stop loss of the same bar may come first on some price path, a take profit does so if the path to the order meets it.
pub(super) fn forestall(day: &DayBar<'_>, workspace: &mut Workspace) {
    for symbol in 0..day.market.n_symbols() {
        let (cell, held) = (workspace.day[symbol], lane_sums::get(&workspace.shares, symbol));
        let ordered = lane_sums::get(&workspace.sized, symbol);
        let reduces = ordered * held < 0.0 && ordered.abs() < held.abs();
        if cell.phase != Some(Phase::Inside) || !reduces || held.signum() != cell.side {
            continue;
        }
        let order = exit_order(day, &cell, held, lane_sums::get(&workspace.marks, symbol));
        let prices = BarPrices::of(day.market, day.bar, symbol);
        let precedes = |exit: Exit| match exit.at {
            ExitPrice::Open(_) | ExitPrice::Inside(_) => true,
            ExitPrice::Profit(price) => cell.base.is_nan() && cell.side * price <= cell.side * cell.order.limit,
        };
        if first_exit(day, &cell, &prices, order).is_ok_and(|exit| exit.is_some_and(precedes)) {
            let cell = &mut workspace.day[symbol];
            (cell.phase, cell.failure) = (None, Some((Phase::Inside, UnfilledReason::Exited)));
        }
    }
}

/// Closes the positions that meet their stop loss or take profit.
pub(super) fn close(day: &DayBar<'_>, trades: &mut DayTrades, workspace: &mut Workspace) {
    let mut sums = FillSums::default();
    let mut any = false;
    for symbol in 0..day.market.n_symbols() {
        let (cell, held) = (workspace.day[symbol], lane_sums::get(&workspace.shares, symbol));
        if held == 0.0 || held.signum() != cell.side {
            continue;
        }
        let prices = BarPrices::of(day.market, day.bar, symbol);
        let order = exit_order(day, &cell, held, lane_sums::get(&workspace.marks, symbol));
        let untradable = execution::untradable(day.market, day.bar, symbol, prices.open);
        let exit = match untradable.map_or_else(|| first_exit(day, &cell, &prices, order), Err) {
            Ok(Some(exit)) => exit,
            Ok(None) => continue,
            Err(reason) => {
                workspace.events.push(Event::Unfilled { symbol, shares: held, reason });
                continue;
            }
        };
        if order != -held {
            let (requested, reason) = (-held, LimitReason::Participation);
            workspace.events.push(Event::Limited { symbol: Some(symbol), requested, allowed: order, reason });
        }
        if cell.cost(order.abs()) >= MAX_COST {
            workspace.events.push(Event::Unfilled { symbol, shares: held, reason: UnfilledReason::CostTooHigh });
            continue;
        }
        if order == 0.0 {
            continue;
        }
        let fill = exit.fill(&cell, order);
        sums.add(day, symbol, order, &fill);
        any = true;
        workspace.events.push(Event::Exited { symbol, shares: order, price: fill.price, reason: exit.reason });
        if workspace.detail == Detail::Full {
            execution::average_in(workspace, symbol, order, fill.price);
        }
        lane_sums::set(&mut workspace.shares, symbol, held + order);
        workspace.day[symbol].traded += order.abs();
    }
    if any {
        trades.pay(day, &sums);
    }
}

/// Returns the order that closes a position.
///
/// It is cut to the participation that the bar has left.
fn exit_order(day: &DayBar<'_>, cell: &DayCell, held: f64, mark: f64) -> f64 {
    let Some(most) = day.rules.limits().max_participation else { return -held };
    let liquidity = day.liquidity(cell.order.symbol, mark);
    let room = most - liquidity.participation(cell.traded);
    if liquidity.participation(held) <= room {
        return -held;
    }
    let allowed = if room > 0.0 { liquidity.shares(room) } else { 0.0 };
    -allowed.copysign(held)
}

/// Returns the first exit that a position meets, or why that cannot be known.
fn first_exit(
    day: &DayBar<'_>,
    cell: &DayCell,
    prices: &BarPrices,
    order: f64,
) -> Result<Option<Exit>, UnfilledReason> {
    if !day.market.has_opens() {
        return Err(UnfilledReason::NoRange);
    }
    let (side, loss, profit) = (cell.side, cell.order.stop_loss, cell.order.take_profit);
    let factor = 1.0 - side * cell.cost(order.abs());
    let exit = |reason, at| Ok(Some(Exit { reason, at }));
    if !cell.filled_inside {
        if side * prices.open <= side * loss {
            return exit(ExitReason::StopLoss, ExitPrice::Open(prices.open));
        }
        if side * (prices.open * factor) >= side * profit {
            return exit(ExitReason::TakeProfit, ExitPrice::Open(prices.open));
        }
    }
    let was_held = !cell.entry.is_nan() && cell.held_opens * side > 0.0;
    let adverse = prices.extreme(-side);
    if side * adverse <= side * loss {
        // A stop beyond the price of an entry inside the bar is met there, not at a better price, and so is one that
        // the open of a position from before has passed.
        let stop = if side * cell.entry < side * loss { cell.entry } else { loss };
        let stop = if was_held && side * prices.open < side * stop { prices.open } else { stop };
        return exit(ExitReason::StopLoss, ExitPrice::Inside(stop - day.rules.costs().stop_gap * (stop - adverse)));
    }
    // A take profit that the entry has passed is met at once, by the shares held before on the way to it.
    if side * (cell.entry * factor) >= side * profit {
        let is_passed_at_open = side * (prices.open * factor) >= side * profit;
        let first = if was_held && side * prices.open < side * cell.entry { prices.open } else { cell.entry };
        let at = if was_held && !is_passed_at_open { ExitPrice::Profit(profit) } else { ExitPrice::Inside(first) };
        return exit(ExitReason::TakeProfit, at);
    }
    // After an entry inside the bar only the close is known to come later.
    let best = if cell.entry.is_nan() { prices.extreme(side) } else { prices.close };
    if side * (best * factor) > side * profit {
        return exit(ExitReason::TakeProfit, ExitPrice::Profit(profit));
    }
    let needs_range = !loss.is_nan() || cell.entry.is_nan();
    if prices.has_range || !needs_range { Ok(None) } else { Err(UnfilledReason::NoRange) }
}

impl Exit {
    fn fill(&self, cell: &DayCell, order: f64) -> DayFill {
        match self.at {
            ExitPrice::Open(base) | ExitPrice::Inside(base) => cell.fill_near(order, base),
            ExitPrice::Profit(price) => cell.fill_at(order, price),
        }
    }
}
