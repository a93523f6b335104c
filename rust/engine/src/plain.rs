//! A step on which nothing has to be told: every order is filled whole, and nothing is paid out, split or settled.
//!
//! The numbers are those of `execution` and `settlement`, expression by expression, in one pass instead of many. What
//! does not fit is left to them: nothing here has an effect before it is known that all of it fits.

use pulp::{Simd, WithSimd};

use crate::book::Book;
use crate::costs::StepCosts;
use crate::dataset::Dataset;
use crate::execution::MAX_COST;
use crate::lanes::{self, Block, LANES};
use crate::settlement::Accrual;
use crate::simd::{Layout, Row, Vector, store};
use crate::sizing;
use crate::step::{Desk, Rules, Stepped};

/// Carries out the orders in `desk`, or returns nothing and leaves `book` alone where the step is not plain.
pub(crate) fn step(market: &Dataset, rules: &Rules, book: &mut Book, desk: &mut Desk) -> Option<Stepped> {
    let jitters = rules.costs().slippage_jitter > 0.0;
    if market.has_actions(book.bar + 1) || rules.rates.slippage >= MAX_COST || (jitters && rules.tables.is_none()) {
        return None;
    }
    let varies = jitters || rules.rates.impact > 0.0 || rules.limits().max_participation.is_some();
    let pass = match (market.n_symbols() <= LANES, market.is_whole(), varies, rules.owes()) {
        (true, true, false, false) => run::<true, false, false, false>,
        (true, true, false, true) => run::<true, false, false, true>,
        (true, true, true, false) => run::<true, false, true, false>,
        (true, true, true, true) => run::<true, false, true, true>,
        (true, false, false, _) => run::<true, true, false, true>,
        (true, false, true, _) => run::<true, true, true, true>,
        (false, true, false, false) => run::<false, false, false, false>,
        (false, true, false, true) => run::<false, false, false, true>,
        (false, true, true, false) => run::<false, false, true, false>,
        (false, true, true, true) => run::<false, false, true, true>,
        (false, false, false, _) => run::<false, true, false, true>,
        (false, false, true, _) => run::<false, true, true, true>,
    };
    pass(market, rules, book, desk)
}

fn run<const ONE: bool, const GAPS: bool, const VARIES: bool, const OWES: bool>(
    market: &Dataset,
    rules: &Rules,
    book: &mut Book,
    desk: &mut Desk,
) -> Option<Stepped> {
    desk.arch.dispatch(Plain::<ONE, GAPS, VARIES, OWES> { market, rules, book, desk })
}

/// A plain step.
///
/// With `ONE` there are at most eight symbols. With `GAPS` a price may be missing. With `VARIES` the cost of a fill
/// depends on its size, bar or symbol. Without `OWES` there are neither shorts nor margins.
struct Plain<'a, const ONE: bool, const GAPS: bool, const VARIES: bool, const OWES: bool> {
    market: &'a Dataset,
    rules: &'a Rules,
    book: &'a mut Book,
    desk: &'a mut Desk,
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

impl<const ONE: bool, const GAPS: bool, const VARIES: bool, const OWES: bool> WithSimd
    for Plain<'_, ONE, GAPS, VARIES, OWES>
{
    type Output = Option<Stepped>;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> Option<Stepped> {
        let Self { market, rules, book, desk } = self;
        let layout = Layout::<S, ONE>::new(simd, market.n_symbols());
        let gross = sizing::cut(layout, rules, book, desk);
        if gross.odd > 0.0 || gross.cut > 0.0 {
            return None;
        }
        let scale = gross.scale(rules.limits().max_gross);
        if let Some(scale) = scale {
            sizing::scale_added(layout, book, desk, scale);
        }
        let sums = trade::<S, ONE, GAPS, VARIES, OWES>(layout, market, rules, book, desk);
        if (GAPS || VARIES) && lanes::total(&sums.misfit) > 0.0 {
            return None;
        }
        let stepped = settle::<OWES>(market, rules, book, &sums)?;
        std::mem::swap(&mut book.shares, &mut desk.shares);
        std::mem::swap(&mut book.marks, &mut desk.marks);
        weigh(layout, book);
        std::mem::swap(&mut desk.events, &mut desk.last_events);
        desk.events.clear();
        if let Some(scale) = scale {
            desk.events.push(gross.limited(scale));
        }
        Some(stepped)
    }
}

/// Sizes and fills every order and marks every position.
#[inline(always)]
fn trade<S: Simd, const ONE: bool, const GAPS: bool, const VARIES: bool, const OWES: bool>(
    layout: Layout<S, ONE>,
    market: &Dataset,
    rules: &Rules,
    book: &Book,
    desk: &mut Desk,
) -> Sums {
    let bar = book.bar + 1;
    let (orders, targets, current) = (layout.row(&desk.orders), layout.row(&desk.targets), layout.row(&book.weights));
    let (held, marked) = (layout.row(&book.shares), layout.row(&book.marks));
    let (fills, closes) = (layout.row(market.fill_prices(bar)), layout.row(market.closes(bar)));
    let decided = layout.row(market.closes(book.bar));
    let (shares, marks) = (layout.row_mut(&mut desk.shares), layout.row_mut(&mut desk.marks));
    let bearing = Bearing::new(layout, market, rules, book);
    let splat = |value| layout.splat(value);
    let (zero, one, nav) = (splat(0.0), splat(1.0), splat(book.nav));
    let mut sums = Sums::default();
    // Lane by lane, so that a sum stays in one register.
    let mut lane = 0;
    while lane < layout.n_lanes {
        let (mut flow, mut traded, mut slipped, mut pushed) = (zero, zero, zero, zero);
        let (mut short, mut value, mut gross, mut misfit) = (zero, zero, zero, zero);
        let mut i = lane;
        while i < layout.n {
            let (target, mark, before) = (targets.get(i), marked.get(i), held.get(i));
            let order = target * nav / mark - before;
            let order = target.equals(current.get(i)).select(zero, order);
            let size = order.abs();
            let (mut price, mut close) = (fills.get(i), closes.get(i));
            if GAPS {
                // A short that has a reference price but no fill is charged at that price, which is not in this row.
                let owed = zero.exceeds(before).select(one, zero);
                misfit = misfit + price.is_number().select(zero, size + owed);
                // Told of as refused, or as sized on a stale price.
                let asked = orders.get(i).is_number().select(orders.get(i).abs(), zero);
                misfit = misfit + decided.get(i).is_number().select(zero, asked);
                price = price.is_number().select(price, mark);
                close = close.is_number().select(close, mark);
            }
            let (mut slippage, mut impact) = (splat(rules.rates.slippage), zero);
            if VARIES {
                (slippage, impact) = bearing.cost(i, size, mark, &mut misfit);
            }
            let fill_price = price * (one + (slippage + impact).signed_as(order));
            flow = flow + order * fill_price;
            traded = traded + size * fill_price;
            slipped = slipped + size * price * slippage;
            if VARIES {
                pushed = pushed + size * price * impact;
            }
            let after = before + order;
            value = value + after * close;
            if OWES {
                short = short + zero.exceeds(after).select(-after, zero) * price;
                gross = gross + after.abs() * close;
            }
            shares[i] = after.value();
            marks[i] = close.value();
            i += layout.per_block;
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

impl<'a, S: Simd> Bearing<'a, S> {
    #[inline(always)]
    fn new<const ONE: bool>(layout: Layout<S, ONE>, market: &'a Dataset, rules: &'a Rules, book: &Book) -> Self {
        let (bar, tables) = (book.bar + 1, rules.tables.as_deref());
        let ratios = tables.and_then(|tables| tables.ratios(bar));
        Self {
            simd: layout.simd,
            rules,
            nav: layout.splat(book.nav),
            volume: market.volumes(bar).map(|row| layout.row(row)),
            drawn: tables.and_then(|tables| tables.slippage(bar)).map(|row| layout.row(row)),
            ratios: ratios.map(|(ratio, root)| (layout.row(ratio), layout.row(root))),
        }
    }

    /// Returns the slippage and the impact of orders; marks those above what a fill can bear.
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
#[inline(always)]
fn settle<const OWES: bool>(market: &Dataset, rules: &Rules, book: &mut Book, sums: &Sums) -> Option<Stepped> {
    let traded = lanes::total(&sums.traded);
    let fee = rules.rates.fee * traded;
    let cash = book.cash - (lanes::total(&sums.flow) + fee);
    let short = if OWES && rules.limits().allow_short { lanes::total(&sums.short) } else { 0.0 };
    let accrual = Accrual::new(market, rules, cash, short);
    let cash = cash + accrual.idle - accrual.borrow;
    let nav = cash + lanes::total(&sums.value);
    let margin = rules.limits().maintenance_margin;
    if !nav.is_finite() || nav <= 0.0 || (OWES && margin > 0.0 && nav < margin * lanes::total(&sums.gross)) {
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
    Some(stepped)
}

/// Brings the weights of an account up to its shares, marks and NAV.
#[inline(always)]
fn weigh<S: Simd, const ONE: bool>(layout: Layout<S, ONE>, book: &mut Book) {
    let (shares, marks) = (layout.row(&book.shares), layout.row(&book.marks));
    let weights = layout.row_mut(&mut book.weights);
    let (zero, nav) = (layout.splat(0.0), layout.splat(book.nav));
    let mut i = 0;
    while i < layout.n {
        let held = shares.get(i);
        weights[i] = held.equals(zero).select(zero, held * marks.get(i) / nav).value();
        i += 1;
    }
}
