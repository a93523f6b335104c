//! A step on which nothing has to be told.
//!
//! Every order is filled whole, and nothing is paid out, split or settled.
//!
//! The numbers are those of `execution` and `settlement`, expression by expression, in one pass instead of many. What
//! does not fit is left to them: nothing here has an effect before it is known that all of it fits.

use pulp::{Simd, WithSimd};

use crate::book::Book;
use crate::costs::StepCosts;
use crate::dataset::Dataset;
use crate::execution::MAX_COST;
use crate::lanes::{self, Block};
use crate::settlement::Accrual;
use crate::simd::{Row, Vector, per_block, row_mut, store};
use crate::step::{Desk, Rules, Stepped};

/// Carries out the targets in `desk`.
///
/// Returns nothing and leaves `book` alone where the step is not plain.
pub(crate) fn step(market: &Dataset, rules: &Rules, book: &mut Book, desk: &mut Desk) -> Option<Stepped> {
    let jitters = rules.costs().slippage_jitter > 0.0;
    if market.has_actions(book.bar + 1) || rules.rates.slippage >= MAX_COST || (jitters && desk.tables.is_none()) {
        return None;
    }
    let varies = jitters || rules.rates.impact > 0.0 || rules.limits().max_participation.is_some();
    let arch = desk.arch;
    let sums = match (market.is_whole(), varies) {
        (true, false) => arch.dispatch(Trade::<false, false> { market, rules, book, desk }),
        (true, true) => arch.dispatch(Trade::<false, true> { market, rules, book, desk }),
        (false, false) => arch.dispatch(Trade::<true, false> { market, rules, book, desk }),
        (false, true) => arch.dispatch(Trade::<true, true> { market, rules, book, desk }),
    };
    if lanes::total(&sums.misfit) > 0.0 {
        return None;
    }
    settle(market, rules, book, desk, &sums)
}

/// What a pass over all symbols adds up, lane by lane.
#[derive(Default)]
struct Sums {
    flow: Block,
    traded: Block,
    slipped: Block,
    pushed: Block,
    /// Value of shorts at reference prices.
    short: Block,
    /// Value of positions at their new marks, signed and not.
    value: Block,
    gross: Block,
    /// Above 0 where an order cannot be filled whole.
    misfit: Block,
}

/// Sizes and fills every order and marks every position.
///
/// With `GAPS` a price may be missing; with `VARIES` the cost of a fill depends on its size, bar or symbol.
struct Trade<'a, const GAPS: bool, const VARIES: bool> {
    market: &'a Dataset,
    rules: &'a Rules,
    book: &'a Book,
    desk: &'a mut Desk,
}

impl<const GAPS: bool, const VARIES: bool> WithSimd for Trade<'_, GAPS, VARIES> {
    type Output = Sums;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> Sums {
        let Self { market, rules, book, desk } = self;
        let (bar, per_block) = (book.bar + 1, per_block(simd));
        let Desk { tables, targets, current, shares, marks, .. } = desk;
        let tables = tables.as_deref();
        let n = book.shares.len() * per_block;
        let row = |blocks| Row::new(simd, blocks, n);
        let (targets, current) = (row(targets), row(current));
        let (held, marked) = (row(&book.shares), row(&book.marks));
        let (decided, fills, closes) =
            (row(market.closes(book.bar)), row(market.fill_prices(bar)), row(market.closes(bar)));
        let (shares, marks) = (row_mut(simd, shares, n), row_mut(simd, marks, n));
        let bearing = Bearing {
            simd,
            rules,
            nav: Vector::splat(simd, book.nav),
            volume: market.volumes(bar).map(row),
            drawn: tables.and_then(|tables| tables.slippage(bar)).map(row),
            ratios: tables.and_then(|tables| tables.ratios(bar)).map(|(ratio, root)| (row(ratio), row(root))),
        };
        let splat = |value| Vector::splat(simd, value);
        let (zero, one, nav) = (splat(0.0), splat(1.0), splat(book.nav));
        let mut sums = Sums::default();
        // Lane by lane, so that a sum stays in one register; a lane beyond the last symbol has nothing in it.
        let mut lane = 0;
        while lane < per_block && lane * S::F64_LANES < market.n_symbols() {
            let (mut flow, mut traded, mut slipped, mut pushed) = (zero, zero, zero, zero);
            let (mut short, mut value, mut gross, mut misfit) = (zero, zero, zero, zero);
            let mut i = lane;
            while i < n {
                let (target, mark) = (targets.get(i), marked.get(i));
                let order = target * nav / mark - held.get(i);
                let order = target.equals(current.get(i)).select(zero, order);
                let size = order.abs();
                let (mut price, mut close) = (fills.get(i), closes.get(i));
                if GAPS {
                    // A short that has a reference price but no fill is charged at that price, which is not in this row.
                    let owed = zero.exceeds(held.get(i)).select(one, zero);
                    misfit = misfit + price.is_number().select(zero, size + owed);
                    misfit = misfit + decided.get(i).is_number().select(zero, size);
                    price = price.is_number().select(price, mark);
                    close = close.is_number().select(close, mark);
                }
                let (mut slippage, mut impact) = (splat(rules.rates.slippage), zero);
                if VARIES {
                    (slippage, impact) = bearing.cost(i, size, mark, &mut misfit);
                }
                let cost = (slippage + impact).signed_as(order);
                let fill_price = price * (one + cost);
                flow = flow + order * fill_price;
                traded = traded + size * fill_price;
                slipped = slipped + size * price * slippage;
                if VARIES {
                    pushed = pushed + size * price * impact;
                }
                let after = held.get(i) + order;
                short = short + zero.exceeds(after).select(-after, zero) * price;
                value = value + after * close;
                gross = gross + after.abs() * close;
                shares[i] = after.value();
                marks[i] = close.value();
                i += per_block;
            }
            store(&mut sums.flow, lane, flow);
            store(&mut sums.traded, lane, traded);
            store(&mut sums.slipped, lane, slipped);
            store(&mut sums.pushed, lane, pushed);
            store(&mut sums.short, lane, short);
            store(&mut sums.value, lane, value);
            store(&mut sums.gross, lane, gross);
            store(&mut sums.misfit, lane, misfit);
            lane += 1;
        }
        sums
    }
}

/// What a fill costs by its size, bar and symbol, and whether it can be borne.
struct Bearing<'a, S: Simd> {
    simd: S,
    rules: &'a Rules,
    nav: Vector<S>,
    volume: Option<Row<'a, S>>,
    drawn: Option<Row<'a, S>>,
    /// Capital over volume, and its root.
    ratios: Option<(Row<'a, S>, Row<'a, S>)>,
}

impl<S: Simd> Bearing<'_, S> {
    /// Returns the slippage and the impact of orders.
    ///
    /// It marks those above what a fill can bear.
    #[inline(always)]
    fn cost(&self, i: usize, size: Vector<S>, mark: Vector<S>, misfit: &mut Vector<S>) -> (Vector<S>, Vector<S>) {
        let splat = |value| Vector::splat(self.simd, value);
        let zero = splat(0.0);
        let slippage = self.drawn.map_or(splat(self.rules.rates.slippage), |drawn| drawn.get(i));
        let (ratio, root) = self.ratio(i, mark);
        if let Some(most) = self.rules.limits().max_participation {
            // What is within a rounding of the bound is measured again by step 9 itself.
            let most = splat(most * (1.0 - 1e-9));
            *misfit = *misfit + (size * ratio).exceeds(most).select(size, zero);
        }
        let mut impact = zero;
        if self.rules.rates.impact > 0.0 {
            // An endless coefficient times the root of nothing is not nothing.
            impact = size.exceeds(zero).select(splat(self.rules.rates.impact) * root * size.sqrt(), zero);
        }
        *misfit = *misfit + (slippage + impact).reaches(splat(MAX_COST)).select(size, zero);
        (slippage, impact)
    }

    /// Returns what share of the market one share is, and its root.
    #[inline(always)]
    fn ratio(&self, i: usize, mark: Vector<S>) -> (Vector<S>, Vector<S>) {
        if let Some((ratio, root)) = self.ratios {
            return (ratio.get(i), root.get(i));
        }
        let mut ratio = mark / self.nav;
        if let Some(volume) = self.volume {
            let volume = volume.get(i);
            let capital = Vector::splat(self.simd, self.rules.costs().capital);
            ratio = volume.is_number().select(capital / volume, ratio);
        }
        (ratio, ratio.sqrt())
    }
}

/// Pays, accrues and values the account; nothing where it would be closed by force.
fn settle(market: &Dataset, rules: &Rules, book: &mut Book, desk: &mut Desk, sums: &Sums) -> Option<Stepped> {
    let traded = lanes::total(&sums.traded);
    let fee = rules.rates.fee * traded;
    let cash = book.cash - (lanes::total(&sums.flow) + fee);
    let short = if rules.limits().allow_short { lanes::total(&sums.short) } else { 0.0 };
    let accrual = Accrual::new(market, rules, cash, short);
    let cash = cash + accrual.idle - accrual.borrow;
    let nav = cash + lanes::total(&sums.value);
    let margin = rules.limits().maintenance_margin;
    if !nav.is_finite() || nav <= 0.0 || (margin > 0.0 && nav < margin * lanes::total(&sums.gross)) {
        return None;
    }
    let costs = StepCosts {
        fee,
        slippage: lanes::total(&sums.slipped),
        impact: lanes::total(&sums.pushed),
        financing: accrual.financing(),
        borrow: accrual.borrow,
        liquidation: 0.0,
    };
    let stepped = Stepped {
        nav,
        reward: nav / book.nav - 1.0,
        costs,
        interest: accrual.interest(),
        dividends: 0.0,
        settlement: 0.0,
        shortfall: 0.0,
        turnover: traded / book.nav,
        terminated: false,
    };
    (book.bar, book.cash, book.nav) = (book.bar + 1, cash, nav);
    std::mem::swap(&mut book.shares, &mut desk.shares);
    std::mem::swap(&mut book.marks, &mut desk.marks);
    Some(stepped)
}
