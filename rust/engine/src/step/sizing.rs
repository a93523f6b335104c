//! Steps 1 to 5 of the timeline: what is asked for at close t, and in what shares.

use pulp::{Simd, WithSimd};

use crate::account::book::Book;
use crate::account::event::{Event, LimitReason, RefusalReason};
use crate::account::gross_exposure::Gross;
use crate::account::rules::{MAX_ABS_WEIGHT, Rules};
use crate::account::workspace::{Desk, Detail};
use crate::error::StepError;
use crate::fast_path::Terms;
use crate::market::dataset::Dataset;
use crate::vector::lane_sums::{self, Block, LANES, each};
use crate::vector::simd::{Layout, Vector, store};

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
    let mut gross = desk.arch.dispatch(CutWeights { rules, book, desk });
    if gross.is_odd
        && let Some(index) = orders.iter().position(|weight| weight.is_infinite())
    {
        return Err(StepError::WeightNotFinite { index, weight: orders[index] });
    }
    std::mem::swap(&mut desk.events, &mut desk.last_events);
    desk.events.clear();
    if gross.is_odd || !market.all_live() {
        refuse(market, rules, book, orders, desk);
        gross = desk.arch.dispatch(CutWeights { rules, book, desk });
    }
    limit(rules, book, &gross, desk);
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
        lane_sums::set(&mut desk.orders, symbol, f64::NAN);
    }
}

/// Steps 3 and 4: tells of the cut weights and scales what is new.
///
/// What is new has the gross that is left.
fn limit(rules: &Rules, book: &Book, gross: &Gross, desk: &mut Desk) {
    if gross.is_cut {
        report_cut_weights(desk);
    }
    if let Some(scale) = gross.scale(rules.limits().max_gross) {
        desk.arch.dispatch(ScaleAdded { rules, book, desk, scale });
        desk.events.push(gross.limited(scale));
    }
}

/// Steps 2 and 3 outside of a plain step.
struct CutWeights<'a> {
    rules: &'a Rules,
    book: &'a Book,
    desk: &'a mut Desk,
}

impl WithSimd for CutWeights<'_> {
    type Output = Gross;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> Gross {
        let layout = Layout::<S, false>::new(simd, self.book.n_symbols());
        cut(layout, &Terms::all(simd, self.rules), self.book, self.desk)
    }
}

/// Steps 2 and 3: cuts each weight to `max_weight`.
#[inline(always)]
pub(crate) fn cut<S: Simd, const ONE: bool>(
    layout: Layout<S, ONE>,
    terms: &Terms<S>,
    book: &Book,
    desk: &mut Desk,
) -> Gross {
    let (orders, current) = (layout.row(&desk.orders), layout.row(&book.weights));
    let targets = layout.row_mut(&mut desk.targets);
    let mut sums = [[0.0; LANES]; 2];
    let (mut lost, mut odd) = (terms.nowhere, terms.nowhere);
    let mut lane = 0;
    while lane < layout.n_lanes {
        let zero = terms.zero;
        let (mut added, mut kept) = (zero, zero);
        let mut i = lane;
        while i < layout.n {
            let cut = terms.cut(orders.get(i), current.get(i));
            targets[i] = cut.target.value();
            kept = kept + cut.kept;
            added = added + cut.added;
            lost = lost.or(cut.lost);
            odd = odd.or(terms.odd(orders.get(i)));
            i += layout.per_block;
        }
        for (sum, of) in sums.iter_mut().zip([added, kept]) {
            store(sum, lane, of);
        }
        lane += 1;
    }
    let [added, kept] = sums.map(|sum| lane_sums::total(&sum));
    Gross { added, kept, is_cut: lost.any(), is_odd: odd.any() }
}

/// Step 4 outside of a plain step.
struct ScaleAdded<'a> {
    rules: &'a Rules,
    book: &'a Book,
    desk: &'a mut Desk,
    scale: f64,
}

impl WithSimd for ScaleAdded<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let layout = Layout::<S, false>::new(simd, self.book.n_symbols());
        scale_added(layout, &Terms::all(simd, self.rules), self.book, self.desk, self.scale);
    }
}

/// Step 4: scales the part of each weight that is not held already.
#[inline(always)]
pub(crate) fn scale_added<S: Simd, const ONE: bool>(
    layout: Layout<S, ONE>,
    terms: &Terms<S>,
    book: &Book,
    desk: &mut Desk,
    scale: f64,
) {
    let (current, scale) = (layout.row(&book.weights), layout.splat(scale));
    let targets = layout.row_mut(&mut desk.targets);
    let mut i = 0;
    while i < layout.n {
        let target = Vector::new(layout.simd, targets[i]);
        targets[i] = terms.scale(target, current.get(i), scale).value();
        i += 1;
    }
}

fn report_cut_weights(desk: &mut Desk) {
    for symbol in 0..desk.orders.len() * LANES {
        let (requested, allowed) = (lane_sums::get(&desk.orders, symbol), lane_sums::get(&desk.targets, symbol));
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
    let weights = desk.targets.iter().zip(&book.weights);
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
        if lane_sums::get(&desk.sized, symbol) != 0.0 && !as_of.closes(symbol) {
            desk.events.push(Event::StalePrice { symbol, price: book.mark(symbol) });
        }
    }
}
