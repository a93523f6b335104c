//! A plain step of one account: its symbols side by side.

use pulp::{Scalar, Simd, WithSimd};

use crate::book::Book;
use crate::dataset::Dataset;
use crate::lanes::{self, Block, LANES};
use crate::plain::account::{Dues, Sums, costs, settle};
use crate::plain::order::{Depth, Order, Terms};
use crate::plain::whose::Whose;
use crate::plain::{Features, Rows};
use crate::simd::{Layout, Row, Vector, store};
use crate::sizing;
use crate::step::{Desk, Rules, Stepped};

/// Carries out the orders in `desk`, if the step is plain.
///
/// Where it is not, returns nothing and leaves `book` alone.
pub(crate) fn step(market: &Dataset, rules: &Rules, book: &mut Book, desk: &mut Desk) -> Option<Stepped> {
    let Features { gaps, varies, owes } = Features::of(market, Whose::One(rules))?;
    if market.has_actions(book.bar + 1) {
        return None;
    }
    let pass = match (market.n_symbols() <= LANES, gaps, varies, owes) {
        (true, false, false, false) => run::<true, false, false, false>,
        (true, false, false, true) => run::<true, false, false, true>,
        (true, false, true, false) => run::<true, false, true, false>,
        (true, false, true, true) => run::<true, false, true, true>,
        (true, true, false, _) => run::<true, true, false, true>,
        (true, true, true, _) => run::<true, true, true, true>,
        (false, false, false, false) => run::<false, false, false, false>,
        (false, false, false, true) => run::<false, false, false, true>,
        (false, false, true, false) => run::<false, false, true, false>,
        (false, false, true, true) => run::<false, false, true, true>,
        (false, true, false, _) => run::<false, true, false, true>,
        (false, true, true, _) => run::<false, true, true, true>,
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
/// With `ONE` it is of at most eight symbols; the others are as in [`Terms::fill`].
struct Plain<'a, const ONE: bool, const GAPS: bool, const VARIES: bool, const OWES: bool> {
    market: &'a Dataset,
    rules: &'a Rules,
    book: &'a mut Book,
    desk: &'a mut Desk,
}

impl<const ONE: bool, const GAPS: bool, const VARIES: bool, const OWES: bool> WithSimd
    for Plain<'_, ONE, GAPS, VARIES, OWES>
{
    type Output = Option<Stepped>;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> Option<Stepped> {
        let Self { market, rules, book, desk } = self;
        let layout = Layout::<S, ONE>::new(simd, market.n_symbols());
        let terms = Terms::new(simd, rules);
        let gross = sizing::cut(layout, &terms, book, desk);
        if gross.is_odd || gross.is_cut {
            return None;
        }
        let scale = gross.scale(rules.limits().max_gross);
        if let Some(scale) = scale {
            sizing::scale_added(layout, &terms, book, desk, scale);
        }
        let rows = Rows::new(market, rules, book);
        let sums = trade::<S, ONE, GAPS, VARIES, OWES>(layout, &terms, rows, book, desk)?;
        let one = Scalar::new();
        let value = |value| Vector::splat(one, value);
        let dues = Dues::of(one, market, Whose::One(rules), 0);
        let settled = settle::<_, OWES, true>(one, &dues, (value(book.cash), value(book.nav)), sums.map(value));
        if settled.misfit.any() {
            return None;
        }
        let accrued = (settled.own.value(), settled.idle.value(), settled.borrow.value());
        let (costs, interest) = costs((settled.fee.value(), sums.slipped, sums.pushed), accrued);
        let stepped = Stepped {
            nav: settled.nav.value(),
            reward: settled.reward.value(),
            costs,
            interest,
            dividends: 0.0,
            settlement: 0.0,
            shortfall: 0.0,
            turnover: settled.turnover.value(),
            terminated: false,
        };
        (book.bar, book.cash, book.nav) = (book.bar + 1, settled.cash.value(), stepped.nav);
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
///
/// Returns nothing where an order cannot be filled whole.
#[inline(always)]
fn trade<S: Simd, const ONE: bool, const GAPS: bool, const VARIES: bool, const OWES: bool>(
    layout: Layout<S, ONE>,
    terms: &Terms<S>,
    rows: Rows<'_>,
    book: &Book,
    desk: &mut Desk,
) -> Option<Sums<f64>> {
    let (asked, targets, current) = (layout.row(&desk.orders), layout.row(&desk.targets), layout.row(&book.weights));
    let (held, marks) = (layout.row(&book.shares), layout.row(&book.marks));
    let (decided, fills, closes) = (layout.row(rows.decided), layout.row(rows.fill), layout.row(rows.close));
    let row = |blocks: Option<_>| blocks.map(|blocks| layout.row(blocks));
    let (slippage, volume) = (row(rows.slippage), row(rows.volume));
    let ratios = rows.ratios.map(|(ratio, root)| (layout.row(ratio), layout.row(root)));
    let (shares_after, marks_after) = (layout.row_mut(&mut desk.shares), layout.row_mut(&mut desk.marks));
    let nav = layout.splat(book.nav);
    let (mut sums, mut misfit) = ([[0.0; LANES]; 7], terms.nowhere);
    // Lane by lane, so that a sum stays in one register.
    let mut lane = 0;
    while lane < layout.n_lanes {
        let mut lanes = [terms.zero; 7];
        let mut i = lane;
        while i < layout.n {
            let order = Order {
                asked: asked.get(i),
                target: targets.get(i),
                current: current.get(i),
                held: held.get(i),
                // Where nothing is missing the mark is the close: one row for all accounts.
                mark: if GAPS { marks.get(i) } else { decided.get(i) },
                nav,
                decided: decided.get(i),
                fill: fills.get(i),
                close: closes.get(i),
            };
            let at = |row: Option<Row<'_, S>>| row.map(|row| row.get(i));
            let depth = Depth {
                slippage: at(slippage),
                volume: at(volume),
                ratio: ratios.map(|(ratio, root)| (ratio.get(i), root.get(i))),
            };
            let fill = terms.fill::<GAPS, VARIES, OWES>(&order, depth);
            let parts = [fill.flow, fill.traded, fill.slipped, fill.pushed, fill.short, fill.value, fill.gross];
            misfit = if GAPS || VARIES { misfit.or(fill.misfit) } else { misfit };
            for (sum, part) in lanes.iter_mut().zip(parts) {
                *sum = *sum + part;
            }
            shares_after[i] = fill.shares.value();
            marks_after[i] = fill.mark.value();
            i += layout.per_block;
        }
        for (sum, of) in sums.iter_mut().zip(lanes) {
            store(sum, lane, of);
        }
        lane += 1;
    }
    let total = |sum: &Block| lanes::total(sum);
    let [flow, traded, slipped, pushed, short, value, gross] = &sums;
    if (GAPS || VARIES) && misfit.any() {
        return None;
    }
    Some(Sums {
        flow: total(flow),
        traded: total(traded),
        slipped: total(slipped),
        pushed: if VARIES { total(pushed) } else { 0.0 },
        short: if OWES { total(short) } else { 0.0 },
        value: total(value),
        gross: if OWES { total(gross) } else { 0.0 },
    })
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
