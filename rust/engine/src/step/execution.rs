//! Steps 7 to 11 of the timeline: what is filled in bar t + 1, and at what price.

use crate::account::book::Book;
use crate::account::cost_tables::jittered;
use crate::account::costs::{MAX_COST, StepCosts};
use crate::account::event::{Event, LimitReason, UnfilledReason};
use crate::account::rules::Rules;
use crate::account::workspace::{Desk, Detail};
use crate::market::dataset::Dataset;
use crate::vector::lane_sums::{self, Block, LANES, each};

/// Steps 8 to 10: cuts the orders to what the bar can fill.
pub(crate) fn cut(market: &Dataset, rules: &Rules, book: &Book, bar: usize, desk: &mut Desk) {
    desk.slippage.fill([rules.rates.slippage; LANES]);
    let mut lost = [0.0; LANES];
    for ((filled, sized), price) in desk.filled.iter_mut().zip(&desk.sized).zip(market.fill_prices(bar)) {
        *filled = each(|k| if price[k].is_nan() { 0.0 } else { sized[k] });
        lost = each(|k| lost[k] + (sized[k] - filled[k]).abs());
    }
    let dropped = lost.iter().any(|lost| *lost > 0.0);
    if dropped {
        report_untradable(market, bar, desk);
    }
    let rates = &rules.rates;
    let varies = rates.impact > 0.0 || rules.costs().slippage_jitter > 0.0;
    let mut reduced = dropped;
    if varies || rates.slippage >= MAX_COST || rules.limits().max_participation.is_some() {
        reduced |= cut_to_volume(market, rules, book, bar, desk);
    }
    if reduced {
        rebalance(rules, book, desk);
    }
}

fn report_untradable(market: &Dataset, bar: usize, desk: &mut Desk) {
    for symbol in 0..market.n_symbols() {
        let shares = lane_sums::get(&desk.sized, symbol);
        if shares == 0.0 || lane_sums::get(market.fill_prices(bar), symbol).is_finite() {
            continue;
        }
        let reason = if !market.reference_price(bar, symbol).is_finite() || market.close_of(bar, symbol).is_nan() {
            UnfilledReason::NoPrice
        } else if market.is_masked(bar, symbol) {
            UnfilledReason::NotTradable
        } else {
            UnfilledReason::NoVolume
        };
        desk.events.push(Event::Unfilled { symbol, shares, reason });
    }
}

/// Step 9: cuts each order to its participation and to a bearable cost.
///
/// Sets the cost coefficients of each symbol on the way.
fn cut_to_volume(market: &Dataset, rules: &Rules, book: &Book, bar: usize, desk: &mut Desk) -> bool {
    let (rates, costs) = (&rules.rates, rules.costs());
    let mut reduced = false;
    for symbol in 0..market.n_symbols() {
        let shares = lane_sums::get(&desk.filled, symbol);
        if shares == 0.0 {
            continue;
        }
        // Shares of NAV 1 that would be the whole volume of the bar.
        let volume = market.volume_of(bar, symbol);
        let mark = lane_sums::get(&desk.marks, symbol);
        let (turned, ratio) = match volume {
            Some(volume) => (shares.abs() * costs.capital / volume, costs.capital / volume),
            None => (shares.abs() * mark / book.nav, mark / book.nav),
        };
        // Nothing times an endless ratio is not a number.
        let impact = if rates.impact > 0.0 { rates.impact * ratio.sqrt() } else { 0.0 };
        let mut allowed = shares;
        if let Some(most) = rules.limits().max_participation.filter(|most| turned > *most) {
            let cap = volume.map_or(most * book.nav / mark, |volume| most * volume / costs.capital);
            allowed = cap.copysign(shares);
            let (requested, reason) = (shares, LimitReason::Participation);
            desk.events.push(Event::Limited { symbol: Some(symbol), requested, allowed, reason });
        }
        let mut slippage = rates.slippage;
        if costs.slippage_jitter > 0.0 {
            let drawn = rules.tables.as_ref().and_then(|tables| tables.slippage(bar));
            slippage = drawn.map_or_else(|| jittered(market, rules, bar, symbol), |row| lane_sums::get(row, symbol));
        }
        if slippage + impact * allowed.abs().sqrt() >= MAX_COST {
            desk.events.push(Event::Unfilled { symbol, shares: allowed, reason: UnfilledReason::CostTooHigh });
            allowed = 0.0;
        }
        reduced |= allowed != shares;
        lane_sums::set(&mut desk.slippage, symbol, slippage);
        // An endless coefficient times the root of nothing is not nothing.
        lane_sums::set(&mut desk.impact, symbol, if allowed == 0.0 { 0.0 } else { impact });
        lane_sums::set(&mut desk.filled, symbol, allowed);
    }
    reduced
}

/// Step 10: where a reduction was cut, scales all new exposure.
///
/// Gross stays within its bound.
fn rebalance(rules: &Rules, book: &Book, desk: &mut Desk) {
    let (mut held, mut kept, mut added) = ([0.0; LANES], [0.0; LANES], [0.0; LANES]);
    let mut reduction_cut = false;
    for symbol in 0..desk.shares.len() * LANES {
        let (shares, mark) = (lane_sums::get(&desk.shares, symbol), lane_sums::get(&desk.marks, symbol));
        let (wanted, _) = parts(lane_sums::get(&desk.sized, symbol), shares);
        let (toward, away) = parts(lane_sums::get(&desk.filled, symbol), shares);
        reduction_cut |= toward < wanted;
        held[symbol % LANES] += shares.abs() * mark;
        kept[symbol % LANES] += (shares.abs() - toward) * mark;
        added[symbol % LANES] += away * mark;
    }
    let (held, kept, added) = (lane_sums::total(&held), lane_sums::total(&kept), lane_sums::total(&added));
    let budget = rules.limits().max_gross * book.nav;
    let bound = if held > budget { held } else { budget };
    if !reduction_cut || added <= 0.0 || kept + added <= bound {
        return;
    }
    let scale = if bound > kept { (bound - kept) / added } else { 0.0 };
    for (filled, shares) in desk.filled.as_flattened_mut().iter_mut().zip(desk.shares.as_flattened()) {
        let (toward, away) = parts(*filled, *shares);
        if away > 0.0 {
            *filled = (toward + away * scale).copysign(*filled);
        }
    }
    let (requested, allowed) = ((kept + added) / book.nav, (kept + added * scale) / book.nav);
    desk.events.push(Event::Limited { symbol: None, requested, allowed, reason: LimitReason::Rebalanced });
}

/// Returns how many shares of an order lead toward flat and how many away.
fn parts(order: f64, held: f64) -> (f64, f64) {
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

/// What all fills of a bar come to.
pub(crate) struct Fills {
    /// Cash paid for shares, negative if received.
    pub(crate) flow: f64,
    /// Notional traded.
    pub(crate) traded: f64,
    pub(crate) costs: StepCosts,
}

/// Step 11: fills all orders at once.
pub(crate) fn fill(market: &Dataset, rules: &Rules, bar: usize, desk: &mut Desk) -> Fills {
    if desk.detail == Detail::Full {
        report_fills(market, bar, desk);
    }
    if rules.rates.impact > 0.0 {
        fill_all::<true>(market, rules, bar, desk)
    } else {
        fill_all::<false>(market, rules, bar, desk)
    }
}

/// Fills every order, with the impact term only where there is `IMPACT`.
///
/// Without it the coefficients are all zero, and so is their product with the root: the same bits, not computed.
fn fill_all<const IMPACT: bool>(market: &Dataset, rules: &Rules, bar: usize, desk: &mut Desk) -> Fills {
    let (mut flow, mut traded) = ([0.0; LANES], [0.0; LANES]);
    let (mut slipped, mut pushed) = ([0.0; LANES], [0.0; LANES]);
    let coefficients = desk.slippage.iter().zip(&desk.impact);
    let positions = desk.shares.iter_mut().zip(&desk.marks);
    for (((order, price), (slippage, impact)), (shares, mark)) in
        desk.filled.iter().zip(market.fill_prices(bar)).zip(coefficients).zip(positions)
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

/// Records each fill and carries the average price of the position over it.
fn report_fills(market: &Dataset, bar: usize, desk: &mut Desk) {
    for symbol in 0..market.n_symbols() {
        let order = lane_sums::get(&desk.filled, symbol);
        if order == 0.0 {
            continue;
        }
        let cost = lane_sums::get(&desk.slippage, symbol) + lane_sums::get(&desk.impact, symbol) * order.abs().sqrt();
        let price = lane_sums::get(market.fill_prices(bar), symbol) * (1.0 + cost.copysign(order));
        desk.events.push(Event::Filled { symbol, shares: order, price });
        let (held, average) = (lane_sums::get(&desk.shares, symbol), lane_sums::get(&desk.avg_prices, symbol));
        let after = held + order;
        let average = if after == 0.0 {
            0.0
        } else if held == 0.0 || held.is_sign_negative() != after.is_sign_negative() {
            price
        } else if held.is_sign_negative() == order.is_sign_negative() {
            (average * held.abs() + price * order.abs()) / after.abs()
        } else {
            average
        };
        lane_sums::set(&mut desk.avg_prices, symbol, average);
    }
}
