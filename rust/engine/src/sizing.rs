//! Steps 1 to 5 of the timeline: what is asked for at close t, and how many shares that is.

use crate::book::Book;
use crate::dataset::Dataset;
use crate::error::StepError;
use crate::event::{Event, LimitReason, RefusalReason};
use crate::lanes::{self, LANES, each};
use crate::step::{Desk, Detail, MAX_ABS_WEIGHT, Rules};

/// How far rounding may lift gross above `max_gross`, as a factor.
///
/// f32 softmax weights sum to more than 1 half the time; that is not leverage.
const GROSS_TOLERANCE: f64 = 1.0 + 1e-6;

/// Step 1: takes the orders over, each refused one as a hold.
pub(crate) fn accept(
    market: &Dataset,
    rules: &Rules,
    book: &Book,
    orders: &[f64],
    desk: &mut Desk,
) -> Result<(), StepError> {
    if orders.len() != market.n_symbols() {
        return Err(StepError::WeightCount { expected: market.n_symbols(), received: orders.len() });
    }
    desk.orders.as_flattened_mut()[..orders.len()].copy_from_slice(orders);
    let (mut lowest, mut highest) = ([0.0; LANES], [0.0; LANES]);
    for order in &desk.orders {
        lowest = each(|k| if order[k] < lowest[k] { order[k] } else { lowest[k] });
        highest = each(|k| if order[k] > highest[k] { order[k] } else { highest[k] });
    }
    let lowest = lowest.into_iter().fold(0.0, f64::min);
    let largest = highest.into_iter().fold(-lowest, f64::max);
    if largest.is_infinite() {
        let index = orders.iter().position(|weight| weight.is_infinite()).unwrap_or(0);
        return Err(StepError::WeightNotFinite { index, weight: orders[index] });
    }
    std::mem::swap(&mut desk.events, &mut desk.last_events);
    desk.events.clear();
    if largest > MAX_ABS_WEIGHT || (lowest < 0.0 && !rules.limits().allow_short) || !market.all_live() {
        refuse(market, rules, book, orders, desk);
    }
    Ok(())
}

fn refuse(market: &Dataset, rules: &Rules, book: &Book, orders: &[f64], desk: &mut Desk) {
    let as_of = market.as_of(book.bar);
    for (symbol, &weight) in orders.iter().enumerate() {
        if weight.is_nan() {
            continue;
        }
        let reason = if weight != 0.0 && !as_of.has_closed(symbol) {
            RefusalReason::UnknownSymbol
        } else if weight.abs() > MAX_ABS_WEIGHT {
            RefusalReason::WeightOutOfRange
        } else if weight < 0.0 && !rules.limits().allow_short {
            RefusalReason::ShortNotAllowed
        } else if weight != 0.0 && as_of.is_settled(symbol) {
            RefusalReason::SettledSymbol
        } else {
            continue;
        };
        desk.events.push(Event::Refused { symbol, weight, reason });
        lanes::set(&mut desk.orders, symbol, f64::NAN);
    }
}

/// Steps 2 to 4: cuts the weights to the limits.
///
/// A hold is the weight that is already there.
pub(crate) fn limit(rules: &Rules, book: &Book, desk: &mut Desk) {
    let max_weight = rules.limits().max_weight;
    let max_gross = rules.limits().max_gross;
    let (mut added, mut kept, mut cut) = ([0.0; LANES], [0.0; LANES], [0.0; LANES]);
    let held = book.shares.iter().zip(&book.marks);
    let weights = desk.current.iter_mut().zip(&mut desk.targets);
    for ((order, (current, target)), (shares, mark)) in desk.orders.iter().zip(weights).zip(held) {
        *current = each(|k| shares[k] * mark[k] / book.nav);
        let weight = each(|k| if order[k].is_nan() { current[k] } else { order[k] });
        let base = each(|k| same_side(weight[k], current[k]));
        let cap = each(|k| if base[k] > max_weight { base[k] } else { max_weight });
        let size = each(|k| if weight[k].abs() > cap[k] { cap[k] } else { weight[k].abs() });
        let keep = each(|k| if size[k] > base[k] { base[k] } else { size[k] });
        *target = each(|k| size[k].copysign(weight[k]));
        kept = each(|k| kept[k] + keep[k]);
        added = each(|k| added[k] + (size[k] - keep[k]));
        cut = each(|k| cut[k] + (weight[k].abs() - size[k]));
    }
    if cut.iter().any(|cut| *cut > 0.0) {
        report_cut_weights(desk);
    }
    let (added, kept) = (lanes::total(&added), lanes::total(&kept));
    if added > 0.0 && added + kept > max_gross * GROSS_TOLERANCE {
        let left = max_gross - kept;
        let scale = if left > 0.0 { left / added } else { 0.0 };
        scale_added(desk, scale);
        let allowed = kept + added * scale;
        let reason = LimitReason::MaxGross;
        desk.events.push(Event::Limited { symbol: None, requested: added + kept, allowed, reason });
    }
}

/// Returns |current| where it has the sign of `weight`, else 0.
///
/// That is the exposure an order may keep under any limit.
fn same_side(weight: f64, current: f64) -> f64 {
    // Times plus or minus one is exact, and unlike a test of sign bits it stays in vector registers.
    let along = current * 1.0_f64.copysign(weight);
    if along > 0.0 { along } else { 0.0 }
}

fn scale_added(desk: &mut Desk, scale: f64) {
    for (target, current) in desk.targets.iter_mut().zip(&desk.current) {
        for k in 0..LANES {
            let (size, base) = (target[k].abs(), same_side(target[k], current[k]));
            let keep = if size > base { base } else { size };
            target[k] = (keep + (size - keep) * scale).copysign(target[k]);
        }
    }
}

fn report_cut_weights(desk: &mut Desk) {
    for symbol in 0..desk.orders.len() * LANES {
        let (requested, allowed) = (lanes::get(&desk.orders, symbol), lanes::get(&desk.targets, symbol));
        if requested.abs() > allowed.abs() {
            let reason = LimitReason::MaxWeight;
            desk.events.push(Event::Limited { symbol: Some(symbol), requested, allowed, reason });
        }
    }
}

/// Step 5: turns weights into shares at the marks of close t.
///
/// A target equal to what is held trades nothing.
pub(crate) fn size(market: &Dataset, book: &Book, desk: &mut Desk) {
    desk.shares.copy_from_slice(&book.shares);
    desk.marks.copy_from_slice(&book.marks);
    let weights = desk.targets.iter().zip(&desk.current);
    for ((sized, (target, current)), (shares, mark)) in
        desk.sized.iter_mut().zip(weights).zip(desk.shares.iter().zip(&desk.marks))
    {
        let order = each(|k| target[k] * book.nav / mark[k] - shares[k]);
        *sized = each(|k| if target[k] == current[k] { 0.0 } else { order[k] });
    }
    if desk.detail == Detail::Full {
        desk.avg_prices.copy_from_slice(&book.avg_prices);
    }
    if market.has_gaps() {
        report_stale_prices(market, book, desk);
    }
}

fn report_stale_prices(market: &Dataset, book: &Book, desk: &mut Desk) {
    let as_of = market.as_of(book.bar);
    for symbol in 0..market.n_symbols() {
        if lanes::get(&desk.sized, symbol) != 0.0 && !as_of.closes(symbol) {
            desk.events.push(Event::StalePrice { symbol, price: book.mark(symbol) });
        }
    }
}
