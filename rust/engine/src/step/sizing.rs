//! Steps 1 to 5 of the timeline: targets at close t, and the shares to trade.

use pulp::{Simd, WithSimd};

use crate::account::book::Book;
use crate::account::event::{Event, LimitReason, RefusalReason};
use crate::account::gross_exposure::GrossExposure;
use crate::account::rules::{MAX_ABS_WEIGHT, Rules};
use crate::account::workspace::{Detail, Workspace};
use crate::error::StepError;
use crate::fast_path::OrderTerms;
use crate::market::dataset::Dataset;
use crate::vector::lane_sums::{self, Block, LANES, each};
use crate::vector::simd::{Layout, Vector, store};

/// Steps 1 to 4: reads the orders and cuts the weights to the limits.
///
/// A refused order becomes a hold.
pub(crate) fn accept(
    market: &Dataset,
    rules: &Rules,
    book: &Book,
    orders: &[f64],
    workspace: &mut Workspace,
) -> Result<(), StepError> {
    let mut gross = workspace.arch.dispatch(CutWeights { rules, book, workspace });
    if gross.needs_refusal
        && let Some(index) = orders.iter().position(|weight| weight.is_infinite())
    {
        return Err(StepError::WeightNotFinite { index, weight: orders[index] });
    }
    std::mem::swap(&mut workspace.events, &mut workspace.last_events);
    workspace.events.clear();
    if gross.needs_refusal || !market.all_live() {
        refuse(market, rules, book, orders, workspace);
        gross = workspace.arch.dispatch(CutWeights { rules, book, workspace });
    }
    limit(rules, book, &gross, workspace);
    Ok(())
}

fn refuse(market: &Dataset, rules: &Rules, book: &Book, orders: &[f64], workspace: &mut Workspace) {
    for (symbol, &weight) in orders.iter().enumerate() {
        if let Some(reason) = refusal(market, rules, book, symbol, weight) {
            workspace.events.push(Event::Refused { symbol, weight, reason });
            lane_sums::set(&mut workspace.orders, symbol, f64::NAN);
        }
    }
}

/// Returns why the weight of a symbol is refused (step 1); NaN is a hold.
pub(crate) fn refusal(
    market: &Dataset,
    rules: &Rules,
    book: &Book,
    symbol: usize,
    weight: f64,
) -> Option<RefusalReason> {
    if weight.is_nan() {
        return None;
    }
    let as_of = market.as_of(book.bar);
    if weight != 0.0 && !as_of.has_closed(symbol) {
        Some(RefusalReason::UnknownSymbol)
    } else if weight.abs() > MAX_ABS_WEIGHT {
        Some(RefusalReason::WeightOutOfRange)
    } else if weight < 0.0 && !rules.limits().allow_short {
        Some(RefusalReason::ShortNotAllowed)
    } else if weight != 0.0 && as_of.is_settled(symbol) {
        Some(RefusalReason::SettledSymbol)
    } else {
        None
    }
}

/// Steps 3 and 4: reports cut weights and scales new exposure.
///
/// New exposure gets the gross that is left.
fn limit(rules: &Rules, book: &Book, gross: &GrossExposure, workspace: &mut Workspace) {
    if gross.is_cut {
        report_cut_weights(workspace);
    }
    if let Some(scale) = gross.scale(rules.limits().max_gross) {
        workspace.arch.dispatch(ScaleAdded { rules, book, workspace, scale });
        workspace.events.push(gross.limited(scale));
    }
}

/// Steps 2 and 3 outside of the fast path.
struct CutWeights<'a> {
    rules: &'a Rules,
    book: &'a Book,
    workspace: &'a mut Workspace,
}

impl WithSimd for CutWeights<'_> {
    type Output = GrossExposure;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> GrossExposure {
        let layout = Layout::<S, false>::new(simd, self.book.n_symbols());
        cut(layout, &OrderTerms::all(simd, self.rules), self.book, self.workspace)
    }
}

/// Steps 2 and 3: cuts each weight to `max_weight`.
#[inline(always)]
pub(crate) fn cut<S: Simd, const ONE: bool>(
    layout: Layout<S, ONE>,
    terms: &OrderTerms<S>,
    book: &Book,
    workspace: &mut Workspace,
) -> GrossExposure {
    let (orders, current) = (layout.row(&workspace.orders), layout.row(&book.weights));
    let targets = layout.row_mut(&mut workspace.targets);
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
    GrossExposure { added, kept, is_cut: lost.any(), needs_refusal: odd.any() }
}

/// Step 4 outside of the fast path.
struct ScaleAdded<'a> {
    rules: &'a Rules,
    book: &'a Book,
    workspace: &'a mut Workspace,
    scale: f64,
}

impl WithSimd for ScaleAdded<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let layout = Layout::<S, false>::new(simd, self.book.n_symbols());
        scale_added(layout, &OrderTerms::all(simd, self.rules), self.book, self.workspace, self.scale);
    }
}

/// Step 4: scales the part of each weight that is not held already.
#[inline(always)]
pub(crate) fn scale_added<S: Simd, const ONE: bool>(
    layout: Layout<S, ONE>,
    terms: &OrderTerms<S>,
    book: &Book,
    workspace: &mut Workspace,
    scale: f64,
) {
    let (current, scale) = (layout.row(&book.weights), layout.splat(scale));
    let targets = layout.row_mut(&mut workspace.targets);
    let mut i = 0;
    while i < layout.n {
        let target = Vector::new(layout.simd, targets[i]);
        targets[i] = terms.scale(target, current.get(i), scale).value();
        i += 1;
    }
}

fn report_cut_weights(workspace: &mut Workspace) {
    for symbol in 0..workspace.orders.len() * LANES {
        let (requested, allowed) =
            (lane_sums::get(&workspace.orders, symbol), lane_sums::get(&workspace.targets, symbol));
        if requested.abs() > allowed.abs() {
            let reason = LimitReason::MaxWeight;
            workspace.events.push(Event::Limited { symbol: Some(symbol), requested, allowed, reason });
        }
    }
}

/// Step 5: converts weights into shares at the marks of close t.
///
/// A target equal to the current weight trades nothing.
pub(crate) fn size(market: &Dataset, book: &Book, workspace: &mut Workspace) {
    workspace.shares.copy_from_slice(&book.shares);
    workspace.marks.copy_from_slice(&book.marks);
    let weights = workspace.targets.iter().zip(&book.weights);
    for ((sized, (target, current)), (shares, mark)) in
        workspace.sized.iter_mut().zip(weights).zip(workspace.shares.iter().zip(&workspace.marks))
    {
        let order: Block = each(|k| target[k] * book.nav / mark[k] - shares[k]);
        *sized = each(|k| if target[k] == current[k] { 0.0 } else { order[k] });
    }
    if workspace.detail == Detail::Full {
        workspace.avg_prices.copy_from_slice(&book.avg_prices);
    }
    if market.has_gaps() {
        report_stale_prices(market, book, workspace);
    }
}

fn report_stale_prices(market: &Dataset, book: &Book, workspace: &mut Workspace) {
    let as_of = market.as_of(book.bar);
    for symbol in 0..market.n_symbols() {
        if lane_sums::get(&workspace.sized, symbol) != 0.0 && !as_of.closes(symbol) {
            workspace.events.push(Event::StalePrice { symbol, price: book.mark(symbol) });
        }
    }
}
