//! A plain step of one account: its symbols side by side.

use pulp::{Scalar, Simd, WithSimd};

use crate::account::book::Book;
use crate::account::costs::StepCosts;
use crate::account::gross_exposure::Gross;
use crate::account::lane_terms::Whose;
use crate::account::outcome::Stepped;
use crate::account::rules::Rules;
use crate::account::workspace::{Desk, Detail};
use crate::fast_path::account_vector::{Dues, costs, settle};
use crate::fast_path::bar_rows::Rows;
use crate::fast_path::features::Features;
use crate::fast_path::order_vector::Terms;
use crate::fast_path::single_trade::{Trade, weigh};
use crate::market::dataset::Dataset;
use crate::vector::lane_sums::{self, LANES};
use crate::vector::simd::{Layout, Vector};

/// Carries out the orders in `desk`, if the step is plain.
///
/// Where it is not, returns nothing and leaves `book` alone.
pub(crate) fn step(market: &Dataset, rules: &Rules, book: &mut Book, desk: &mut Desk) -> Option<Stepped> {
    let Features { gaps, varies, owes } = Features::of(market, Whose::all(rules))?;
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
    let arch = desk.arch;
    if desk.detail == Detail::Growth {
        return arch.dispatch(Plain::<ONE, GAPS, VARIES, OWES, false> { market, rules, book, desk });
    }
    arch.dispatch(Plain::<ONE, GAPS, VARIES, OWES, true> { market, rules, book, desk })
}

/// A plain step.
///
/// With `ONE` it is of at most eight symbols. With `TELLS` it says what was paid for what; the others are as in
/// [`Terms::fill`].
struct Plain<'a, const ONE: bool, const GAPS: bool, const VARIES: bool, const OWES: bool, const TELLS: bool> {
    market: &'a Dataset,
    rules: &'a Rules,
    book: &'a mut Book,
    desk: &'a mut Desk,
}

impl<const ONE: bool, const GAPS: bool, const VARIES: bool, const OWES: bool, const TELLS: bool> WithSimd
    for Plain<'_, ONE, GAPS, VARIES, OWES, TELLS>
{
    type Output = Option<Stepped>;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> Option<Stepped> {
        let Self { market, rules, book, desk } = self;
        let layout = Layout::<S, ONE>::new(simd, market.n_symbols());
        let rows = Rows::at(market, rules.tables.as_deref(), book.bar);
        let whose = Whose::all(rules);
        let trade = Trade { layout, terms: Terms::all(simd, rules), rows };
        let Desk { orders, shares, marks, .. } = desk;
        let mut totals = trade.run::<GAPS, VARIES, OWES, TELLS>(orders, book.held(), (shares, marks), None)?;
        let (added, kept) = (lane_sums::total(&totals.added), lane_sums::total(&totals.kept));
        let gross = Gross { added, kept, is_cut: false, is_odd: false };
        let scale = gross.scale(rules.limits().max_gross);
        if scale.is_some() {
            // What came of the weights as they were is written over: nothing of it has left the desk. Twice in words, since
            // a closure called twice is not inlined, and so is compiled for the least of machines.
            totals = trade.run::<GAPS, VARIES, OWES, TELLS>(orders, book.held(), (shares, marks), scale)?;
        }
        let sums = totals.money.map(|lanes| lane_sums::total(&lanes));
        let one = Scalar::new();
        let value = |value| Vector::splat(one, value);
        let dues = Dues::of(one, market, &whose.numbers_of(one, 0), whose.traits().accrues);
        let settled = settle::<_, OWES, TELLS>(one, &dues, (value(book.cash), value(book.nav)), sums.map(value));
        if settled.misfit.any() {
            return None;
        }
        let (costs, interest) = if TELLS {
            let accrued = (settled.own.value(), settled.idle.value(), settled.borrow.value());
            costs((settled.fee.value(), sums.slipped, sums.pushed), accrued)
        } else {
            (StepCosts::UNTOLD, f64::NAN)
        };
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
        if GAPS {
            std::mem::swap(&mut book.marks, &mut desk.marks);
        } else {
            book.marks.copy_from_slice(market.closes(book.bar));
        }
        weigh(layout, (&book.shares, &book.marks, book.nav), &mut book.weights, None);
        std::mem::swap(&mut desk.events, &mut desk.last_events);
        desk.events.clear();
        if let Some(scale) = scale {
            desk.events.push(gross.limited(scale));
        }
        Some(stepped)
    }
}
