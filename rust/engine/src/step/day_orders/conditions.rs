use crate::account::day_cell::{DayCell, Phase};
use crate::account::day_order::DayOrder;
use crate::account::event::UnfilledReason;
use crate::account::workspace::Workspace;
use crate::step::day_orders::bar_prices::BarPrices;
use crate::step::day_orders::day_bar::DayBar;
use crate::step::execution;
use crate::step::liquidity::{self, Liquidity};
use crate::vector::lane_sums;

/// Determines when and at which price each order of the bar fills.
///
/// A price in `conditions` is divided by a split of the bar. The conditions of a refused order, which is a hold in the
/// workspace and is not one in `decided`, have no effect, and neither have exits that cross.
pub(super) fn plan(day: &DayBar<'_>, conditions: &[DayOrder], decided: &[f64], workspace: &mut Workspace) {
    let n_symbols = day.market.n_symbols();
    workspace.day.clear();
    workspace.day.extend((0..n_symbols).map(DayCell::idle));
    for order in conditions {
        let symbol = order.symbol;
        let is_refused = !decided[symbol].is_nan() && lane_sums::get(&workspace.orders, symbol).is_nan();
        let target = lane_sums::get(&workspace.targets, symbol);
        if is_refused || order.exits_cross(target) {
            continue;
        }
        let split = day.market.split(day.bar, symbol);
        let [limit, stop, stop_loss, take_profit] = order.prices().map(|price| price / split);
        let cell = &mut workspace.day[symbol];
        cell.order = DayOrder { limit, stop, stop_loss, take_profit, ..*order };
        let has_exits = !(stop_loss.is_nan() && take_profit.is_nan());
        cell.side = if has_exits && target != 0.0 { target.signum() } else { 0.0 };
    }
    for symbol in 0..n_symbols {
        let shares = lane_sums::get(&workspace.sized, symbol);
        let mark = lane_sums::get(&workspace.marks, symbol);
        let cell = &mut workspace.day[symbol];
        if shares == 0.0 && cell.side == 0.0 {
            continue;
        }
        cell.slippage = liquidity::slippage(day.market, day.rules, day.bar, symbol);
        let liquidity = day.liquidity(symbol, mark);
        cell.impact = liquidity.impact(day.rules);
        cell.open = day.market.reference_price(day.bar, symbol);
        if shares != 0.0 {
            match fill_of(day, cell, shares, liquidity) {
                Ok((phase, base)) => (cell.phase, cell.base) = (Some(phase), base),
                Err(failure) => cell.failure = Some(failure),
            }
        }
    }
}

/// Returns the phase and the price of an order, or why it does not fill.
///
/// The price is before cost, and NaN for a fill at the limit.
fn fill_of(
    day: &DayBar<'_>,
    cell: &DayCell,
    shares: f64,
    liquidity: Liquidity,
) -> Result<(Phase, f64), (Phase, UnfilledReason)> {
    let order = &cell.order;
    let prices = BarPrices::of(day.market, day.bar, order.symbol);
    let (home, reference) = match (order.at_close, order.limit.is_nan() && order.stop.is_nan()) {
        (true, _) => (Phase::Closes, prices.close),
        (false, true) => (Phase::Opens, prices.open),
        (false, false) => (Phase::Inside, prices.open),
    };
    if let Some(reason) = execution::untradable(day.market, day.bar, order.symbol, reference) {
        return Err((home, reason));
    }
    let side = shares.signum();
    // The cost of the order after step 9. Step 10 can only make it smaller.
    let most = day.rules.limits().max_participation.unwrap_or(f64::INFINITY);
    let size = if liquidity.participation(shares) > most { liquidity.shares(most) } else { shares.abs() };
    let factor = 1.0 + side * cell.cost(size);
    let is_within = |base: f64| order.limit.is_nan() || side * (base * factor) <= side * order.limit;
    let not_reached = |reason| Err((home, if prices.has_range { reason } else { UnfilledReason::NoRange }));
    if home == Phase::Opens {
        return Ok((home, prices.open));
    }
    if home == Phase::Closes {
        return if is_within(prices.close) {
            Ok((home, prices.close))
        } else {
            Err((home, UnfilledReason::LimitNotReached))
        };
    }
    if !day.market.has_opens() {
        return Err((home, UnfilledReason::NoRange));
    }
    if !order.stop.is_nan() {
        let extreme = prices.extreme(side);
        let (phase, base) = if side * prices.open >= side * order.stop {
            (Phase::Opens, prices.open)
        } else if side * extreme >= side * order.stop {
            (Phase::Inside, order.stop + day.rules.costs().stop_gap * (extreme - order.stop))
        } else {
            return not_reached(UnfilledReason::StopNotReached);
        };
        return if is_within(base) { Ok((phase, base)) } else { Err((home, UnfilledReason::LimitNotReached)) };
    }
    if is_within(prices.open) {
        Ok((Phase::Opens, prices.open))
    } else if side * (prices.extreme(-side) * factor) < side * order.limit {
        Ok((Phase::Inside, f64::NAN))
    } else {
        not_reached(UnfilledReason::LimitNotReached)
    }
}
