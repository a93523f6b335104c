//! Steps 1 to 5 of the timeline: what is asked for at close t, and in what shares.

use pulp::{Simd, WithSimd};

use crate::book::Book;
use crate::dataset::Dataset;
use crate::error::StepError;
use crate::event::{Event, LimitReason, RefusalReason};
use crate::lanes::{self, Block, LANES, each};
use crate::simd::{Row, Vector, per_block, row_mut, store};
use crate::step::{Desk, Detail, MAX_ABS_WEIGHT, Rules};

/// How far rounding may lift gross above `max_gross`, as a factor.
///
/// f32 softmax weights sum to more than 1 half the time; that is not leverage.
const GROSS_TOLERANCE: f64 = 1.0 + 1e-6;

/// Steps 1 to 4: takes the orders over and cuts the weights to the limits.
///
/// Each refused order is taken for a hold.
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
    let mut gross = cut_weights(rules, book, desk);
    if gross.odd > 0.0
        && let Some(index) = orders.iter().position(|weight| weight.is_infinite())
    {
        return Err(StepError::WeightNotFinite { index, weight: orders[index] });
    }
    std::mem::swap(&mut desk.events, &mut desk.last_events);
    desk.events.clear();
    if gross.odd > 0.0 || !market.all_live() {
        refuse(market, rules, book, orders, desk);
        gross = cut_weights(rules, book, desk);
    }
    limit(rules, &gross, desk);
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

/// Steps 3 and 4: tells of the cut weights and scales what is new.
///
/// What is new has the gross that is left.
fn limit(rules: &Rules, gross: &Gross, desk: &mut Desk) {
    if gross.cut > 0.0 {
        report_cut_weights(desk);
    }
    let (added, kept, max_gross) = (gross.added, gross.kept, rules.limits().max_gross);
    if added > 0.0 && added + kept > max_gross * GROSS_TOLERANCE {
        let left = max_gross - kept;
        let scale = if left > 0.0 { left / added } else { 0.0 };
        scale_added(desk, scale);
        let allowed = kept + added * scale;
        let reason = LimitReason::MaxGross;
        desk.events.push(Event::Limited { symbol: None, requested: added + kept, allowed, reason });
    }
}

/// Gross weights: new, already held, and taken away by `max_weight`.
struct Gross {
    added: f64,
    kept: f64,
    cut: f64,
    /// Above 0 where an order has to be refused.
    odd: f64,
}

/// Steps 2 and 3: a hold is the weight that is already there.
fn cut_weights(rules: &Rules, book: &Book, desk: &mut Desk) -> Gross {
    desk.arch.dispatch(CutWeights { rules, book, desk })
}

struct CutWeights<'a> {
    rules: &'a Rules,
    book: &'a Book,
    desk: &'a mut Desk,
}

impl WithSimd for CutWeights<'_> {
    type Output = Gross;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> Gross {
        let Self { rules, book, desk } = self;
        let per_block = per_block(simd);
        let n = book.shares.len() * per_block;
        let row = |blocks| Row::new(simd, blocks, n);
        let (orders, shares, marks) = (row(&desk.orders), row(&book.shares), row(&book.marks));
        let (current, targets) = (row_mut(simd, &mut desk.current, n), row_mut(simd, &mut desk.targets, n));
        let splat = |value| Vector::splat(simd, value);
        let (zero, one, nav, max_weight) = (splat(0.0), splat(1.0), splat(book.nav), splat(rules.limits().max_weight));
        let (highest, lowest) = (splat(MAX_ABS_WEIGHT), splat(rules.lowest_weight()));
        let mut sums = [[0.0; LANES]; 4];
        let mut lane = 0;
        while lane < per_block && lane * S::F64_LANES < book.n_symbols() {
            let (mut added, mut kept, mut cut, mut odd) = (zero, zero, zero, zero);
            let mut i = lane;
            while i < n {
                let order = orders.get(i);
                odd = order.abs().exceeds(highest).select(one, odd);
                odd = lowest.exceeds(order).select(one, odd);
                let holds = shares.get(i) * marks.get(i) / nav;
                let weight = order.is_number().select(order, holds);
                // Times plus or minus one is exact.
                let along = holds * one.signed_as(weight);
                let base = along.exceeds(zero).select(along, zero);
                let cap = base.exceeds(max_weight).select(base, max_weight);
                let asked = weight.abs();
                let size = asked.exceeds(cap).select(cap, asked);
                let keep = size.exceeds(base).select(base, size);
                targets[i] = size.signed_as(weight).value();
                current[i] = holds.value();
                kept = kept + keep;
                added = added + (size - keep);
                cut = cut + (asked - size);
                i += per_block;
            }
            for (sum, of) in sums.iter_mut().zip([added, kept, cut, odd]) {
                store(sum, lane, of);
            }
            lane += 1;
        }
        let [added, kept, cut, odd] = sums.map(|sum| lanes::total(&sum));
        Gross { added, kept, cut, odd }
    }
}

/// Returns |current| where it has the sign of `weight`, else 0.
///
/// It is the exposure that an order may keep under any limit.
#[inline]
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
        let order: Block = each(|k| target[k] * book.nav / mark[k] - shares[k]);
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
