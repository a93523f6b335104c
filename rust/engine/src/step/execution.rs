//! Steps 7 to 11 of the timeline: fills in bar t + 1 and their prices.

use crate::account::book::Book;
use crate::account::costs::{MAX_COST, StepCosts};
use crate::account::event::{Event, LimitReason, UnfilledReason};
use crate::account::rules::Rules;
use crate::account::workspace::{Detail, Workspace};
use crate::market::charges::Charge;
use crate::market::dataset::Dataset;
use crate::step::liquidity::{self, Liquidity};
use crate::vector::lane_sums::{self, Block, LANES, each};

/// Steps 8 to 10: cuts the orders to the capacity of the bar.
pub(crate) fn cut(market: &Dataset, rules: &Rules, book: &Book, bar: usize, workspace: &mut Workspace) {
    workspace.slippage.fill([rules.rates.slippage; LANES]);
    let mut lost = [0.0; LANES];
    for ((filled, sized), price) in workspace.filled.iter_mut().zip(&workspace.sized).zip(market.fill_prices(bar)) {
        *filled = each(|k| if price[k].is_nan() { 0.0 } else { sized[k] });
        lost = each(|k| lost[k] + (sized[k] - filled[k]).abs());
    }
    let dropped = lost.iter().any(|lost| *lost > 0.0);
    if dropped {
        report_untradable(market, bar, workspace);
    }
    let rates = &rules.rates;
    let varies = rates.impact > 0.0 || rules.costs().slippage_jitter > 0.0;
    let mut reduced = dropped;
    if varies || rates.slippage >= MAX_COST || rules.limits().max_participation.is_some() {
        reduced |= cut_to_volume(market, rules, book, bar, workspace);
    }
    if reduced {
        rebalance(rules, book.nav, (false, true), workspace);
    }
}

fn report_untradable(market: &Dataset, bar: usize, workspace: &mut Workspace) {
    for symbol in 0..market.n_symbols() {
        let shares = lane_sums::get(&workspace.sized, symbol);
        if shares == 0.0 || lane_sums::get(market.fill_prices(bar), symbol).is_finite() {
            continue;
        }
        let reason = untradable(market, bar, symbol, market.reference_price(bar, symbol));
        let reason = reason.unwrap_or(UnfilledReason::NoVolume);
        workspace.events.push(Event::Unfilled { symbol, shares, reason });
    }
}

/// Returns why a symbol cannot be traded at a reference price in a bar (step 8).
#[inline]
pub(crate) fn untradable(market: &Dataset, bar: usize, symbol: usize, price: f64) -> Option<UnfilledReason> {
    if !price.is_finite() || market.close_of(bar, symbol).is_nan() {
        Some(UnfilledReason::NoPrice)
    } else if market.is_masked(bar, symbol) {
        Some(UnfilledReason::NotTradable)
    } else if market.volume_of(bar, symbol) == Some(0.0) {
        Some(UnfilledReason::NoVolume)
    } else {
        None
    }
}

/// Step 9: cuts each order to the participation limit and the cost limit.
///
/// It sets the cost coefficients of each symbol.
fn cut_to_volume(market: &Dataset, rules: &Rules, book: &Book, bar: usize, workspace: &mut Workspace) -> bool {
    let mut reduced = false;
    for symbol in 0..market.n_symbols() {
        let shares = lane_sums::get(&workspace.filled, symbol);
        if shares == 0.0 {
            continue;
        }
        let mark = lane_sums::get(&workspace.marks, symbol);
        let liquidity = Liquidity::of(market, rules, (bar, symbol), (mark, book.nav));
        let impact = liquidity.impact(rules);
        let mut allowed = shares;
        let bound = rules.limits().max_participation;
        if let Some(most) = bound.filter(|most| liquidity.participation(shares) > *most) {
            allowed = liquidity.shares(most).copysign(shares);
            let (requested, reason) = (shares, LimitReason::Participation);
            workspace.events.push(Event::Limited { symbol: Some(symbol), requested, allowed, reason });
        }
        let slippage = liquidity::slippage(market, rules, bar, symbol);
        if slippage + impact * allowed.abs().sqrt() >= MAX_COST {
            workspace.events.push(Event::Unfilled { symbol, shares: allowed, reason: UnfilledReason::CostTooHigh });
            allowed = 0.0;
        }
        reduced |= allowed != shares;
        lane_sums::set(&mut workspace.slippage, symbol, slippage);
        // Infinity times the root of zero is NaN.
        lane_sums::set(&mut workspace.impact, symbol, if allowed == 0.0 { 0.0 } else { impact });
        lane_sums::set(&mut workspace.filled, symbol, allowed);
    }
    reduced
}

/// Step 10: scales the new exposure of all orders if a reduction was cut.
///
/// It uses the room that is left. `is_cut` states that one was in another phase. `funds` states whether an order that only reduces makes room for another.
pub(crate) fn rebalance(rules: &Rules, nav: f64, (is_cut, funds): (bool, bool), workspace: &mut Workspace) {
    let (mut held, mut kept, mut added) = ([0.0; LANES], [0.0; LANES], [0.0; LANES]);
    let mut reduction_cut = is_cut;
    for symbol in 0..workspace.shares.len() * LANES {
        let (shares, mark) = (lane_sums::get(&workspace.shares, symbol), lane_sums::get(&workspace.marks, symbol));
        let (wanted, _) = parts(lane_sums::get(&workspace.sized, symbol), shares);
        let (toward, away) = parts(lane_sums::get(&workspace.filled, symbol), shares);
        let toward = if funds || away > 0.0 { toward } else { 0.0 };
        reduction_cut |= toward < wanted;
        held[symbol % LANES] += shares.abs() * mark;
        kept[symbol % LANES] += (shares.abs() - toward) * mark;
        added[symbol % LANES] += away * mark;
    }
    let (held, kept, added) = (lane_sums::total(&held), lane_sums::total(&kept), lane_sums::total(&added));
    let budget = rules.limits().max_gross * nav;
    let bound = if held > budget { held } else { budget };
    if !reduction_cut || added <= 0.0 || kept + added <= bound {
        return;
    }
    let scale = if bound > kept { (bound - kept) / added } else { 0.0 };
    for (filled, shares) in workspace.filled.as_flattened_mut().iter_mut().zip(workspace.shares.as_flattened()) {
        let (toward, away) = parts(*filled, *shares);
        if away > 0.0 {
            *filled = (toward + away * scale).copysign(*filled);
        }
    }
    let (requested, allowed) = ((kept + added) / nav, (kept + added * scale) / nav);
    workspace.events.push(Event::Limited { symbol: None, requested, allowed, reason: LimitReason::Rebalanced });
}

/// Returns the commission on a notional, and on the symbols that have their own.
///
/// A rounding of the second sum makes no fee negative.
#[inline]
pub(crate) fn fee(market: &Dataset, rules: &Rules, traded: f64, extra: &Block) -> f64 {
    let fee = rules.rates.fee * traded;
    if !market.has_charge(Charge::Fee) {
        return fee;
    }
    let fee = fee + lane_sums::total(extra);
    if fee > 0.0 { fee } else { 0.0 }
}

/// Returns the shares of an order toward flat and away from it.
#[inline]
pub(crate) fn parts(order: f64, held: f64) -> (f64, f64) {
    let size = order.abs();
    let opposite = held != 0.0 && order.is_sign_negative() != held.is_sign_negative();
    let toward = if !opposite {
        0.0
    } else if size < held.abs() {
        size
    } else {
        held.abs()
    };
    (toward, size - toward)
}

/// Totals of all fills of a bar.
pub(crate) struct Fills {
    /// Cash paid for shares, negative if received.
    pub(crate) flow: f64,
    /// Notional traded.
    pub(crate) traded: f64,
    pub(crate) costs: StepCosts,
}

/// Step 11: fills all orders at once.
pub(crate) fn fill(market: &Dataset, rules: &Rules, bar: usize, workspace: &mut Workspace) -> Fills {
    if workspace.detail == Detail::Full {
        report_fills(market, bar, workspace);
    }
    if rules.rates.impact > 0.0 {
        fill_all::<true>(market, rules, bar, workspace)
    } else {
        fill_all::<false>(market, rules, bar, workspace)
    }
}

/// Fills every order, with an impact term if `IMPACT`.
///
/// Without impact all coefficients are 0, and so is the term. Skipping it leaves the bits unchanged.
fn fill_all<const IMPACT: bool>(market: &Dataset, rules: &Rules, bar: usize, workspace: &mut Workspace) -> Fills {
    let (mut flow, mut traded) = ([0.0; LANES], [0.0; LANES]);
    let (mut slipped, mut pushed) = ([0.0; LANES], [0.0; LANES]);
    let coefficients = workspace.slippage.iter().zip(&workspace.impact);
    let positions = workspace.shares.iter_mut().zip(&workspace.marks);
    for (((order, price), (slippage, impact)), (shares, mark)) in
        workspace.filled.iter().zip(market.fill_prices(bar)).zip(coefficients).zip(positions)
    {
        let price: Block = each(|k| if price[k].is_nan() { mark[k] } else { price[k] });
        let impact: Block = each(|k| if IMPACT { impact[k] * order[k].abs().sqrt() } else { 0.0 });
        let cost: Block = each(|k| (slippage[k] + impact[k]).copysign(order[k]));
        let fill_price: Block = each(|k| price[k] * (1.0 + cost[k]));
        flow = each(|k| flow[k] + order[k] * fill_price[k]);
        traded = each(|k| traded[k] + order[k].abs() * fill_price[k]);
        slipped = each(|k| slipped[k] + order[k].abs() * price[k] * slippage[k]);
        if IMPACT {
            pushed = each(|k| pushed[k] + order[k].abs() * price[k] * impact[k]);
        }
        *shares = each(|k| shares[k] + order[k]);
    }
    let traded = lane_sums::total(&traded);
    let costs = StepCosts {
        fee: rules.rates.fee * traded,
        slippage: lane_sums::total(&slipped),
        impact: lane_sums::total(&pushed),
        ..StepCosts::default()
    };
    Fills { flow: lane_sums::total(&flow), traded, costs }
}

/// Records each fill and updates the average price of the position.
fn report_fills(market: &Dataset, bar: usize, workspace: &mut Workspace) {
    for symbol in 0..market.n_symbols() {
        let order = lane_sums::get(&workspace.filled, symbol);
        if order == 0.0 {
            continue;
        }
        let cost = lane_sums::get(&workspace.slippage, symbol)
            + lane_sums::get(&workspace.impact, symbol) * order.abs().sqrt();
        let price = lane_sums::get(market.fill_prices(bar), symbol) * (1.0 + cost.copysign(order));
        workspace.events.push(Event::Filled { symbol, shares: order, price });
        let (held, average) =
            (lane_sums::get(&workspace.shares, symbol), lane_sums::get(&workspace.avg_prices, symbol));
        lane_sums::set(&mut workspace.avg_prices, symbol, averaged(average, held, order, price));
    }
}

/// Returns the average price of a position after a fill.
#[inline(always)]
fn averaged(average: f64, held: f64, order: f64, price: f64) -> f64 {
    let after = held + order;
    if after == 0.0 {
        0.0
    } else if held == 0.0 || held.is_sign_negative() != after.is_sign_negative() {
        price
    } else if held.is_sign_negative() == order.is_sign_negative() {
        (average * held.abs() + price * order.abs()) / after.abs()
    } else {
        average
    }
}

/// Updates the average price of a position for a fill, before its shares move.
pub(crate) fn average_in(workspace: &mut Workspace, symbol: usize, order: f64, price: f64) {
    let (held, average) = (lane_sums::get(&workspace.shares, symbol), lane_sums::get(&workspace.avg_prices, symbol));
    lane_sums::set(&mut workspace.avg_prices, symbol, averaged(average, held, order, price));
}
