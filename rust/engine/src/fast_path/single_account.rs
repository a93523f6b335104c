//! The fast-path step of one account, vectorized over its symbols.

use pulp::{Scalar, Simd, WithSimd};

use crate::account::block_terms::BlockTerms;
use crate::account::book::Book;
use crate::account::costs::StepCosts;
use crate::account::gross_exposure::GrossExposure;
use crate::account::outcome::Stepped;
use crate::account::rules::Rules;
use crate::account::workspace::{Detail, Workspace};
use crate::fast_path::account_vector::{LaneCharges, costs, settle};
use crate::fast_path::bar_rows::Rows;
use crate::fast_path::features::Features;
use crate::fast_path::order_vector::OrderTerms;
use crate::fast_path::single_trade::{Trade, weigh};
use crate::market::dataset::Dataset;
use crate::vector::lane_sums::{self, LANES};
use crate::vector::simd::{Layout, Vector};

/// Steps the orders in `workspace` if the fast path supports the step.
///
/// Otherwise returns `None` and leaves `book` unchanged.
pub(crate) fn step(market: &Dataset, rules: &Rules, book: &mut Book, workspace: &mut Workspace) -> Option<Stepped> {
    let Features { gaps, varies, owes } = Features::of(market, BlockTerms::all(rules))?;
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
    pass(market, rules, book, workspace)
}

fn run<const ONE: bool, const GAPS: bool, const VARIES: bool, const OWES: bool>(
    market: &Dataset,
    rules: &Rules,
    book: &mut Book,
    workspace: &mut Workspace,
) -> Option<Stepped> {
    let arch = workspace.arch;
    if workspace.detail == Detail::RewardInputs {
        return arch.dispatch(FastStep::<ONE, GAPS, VARIES, OWES, false> { market, rules, book, workspace });
    }
    arch.dispatch(FastStep::<ONE, GAPS, VARIES, OWES, true> { market, rules, book, workspace })
}

/// A fast-path step.
///
/// With `ONE` the account has at most eight symbols. With `REPORTS` it computes the cost components. The other
/// parameters are those of [`OrderTerms::fill`].
struct FastStep<'a, const ONE: bool, const GAPS: bool, const VARIES: bool, const OWES: bool, const REPORTS: bool> {
    market: &'a Dataset,
    rules: &'a Rules,
    book: &'a mut Book,
    workspace: &'a mut Workspace,
}

impl<const ONE: bool, const GAPS: bool, const VARIES: bool, const OWES: bool, const REPORTS: bool> WithSimd
    for FastStep<'_, ONE, GAPS, VARIES, OWES, REPORTS>
{
    type Output = Option<Stepped>;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> Option<Stepped> {
        let Self { market, rules, book, workspace } = self;
        let layout = Layout::<S, ONE>::new(simd, market.n_symbols());
        let rows = Rows::at(market, rules.tables.as_deref(), book.bar);
        let terms = BlockTerms::all(rules);
        let trade = Trade { layout, terms: OrderTerms::all(simd, rules), rows };
        let Workspace { orders, shares, marks, .. } = workspace;
        let mut totals = trade.run::<GAPS, VARIES, OWES, REPORTS>(orders, book.held(), (shares, marks), None)?;
        let (added, kept) = (lane_sums::total(&totals.added), lane_sums::total(&totals.kept));
        let gross = GrossExposure { added, kept, is_cut: false, needs_refusal: false };
        let scale = gross.scale(rules.limits().max_gross);
        if scale.is_some() {
            // The second pass overwrites the first, which has written to the workspace only. The call is written twice:
            // a closure that is called twice is not inlined, and would be compiled for the baseline CPU.
            totals = trade.run::<GAPS, VARIES, OWES, REPORTS>(orders, book.held(), (shares, marks), scale)?;
        }
        let sums = totals.money.map(|lanes| lane_sums::total(&lanes));
        let one = Scalar::new();
        let value = |value| Vector::splat(one, value);
        let charges = LaneCharges::of(one, market, &terms.numbers_of(one, 0), terms.traits().accrues);
        let settled = settle::<_, OWES, REPORTS>(one, &charges, (value(book.cash), value(book.nav)), sums.map(value));
        if settled.declined.any() {
            return None;
        }
        let (costs, interest) = if REPORTS {
            let accrued = (settled.own.value(), settled.idle.value(), settled.borrow.value());
            costs((settled.fee.value(), sums.slipped, sums.pushed), accrued)
        } else {
            (StepCosts::NOT_COMPUTED, f64::NAN)
        };
        let stepped = Stepped {
            nav: settled.nav.value(),
            reward: settled.reward.value(),
            costs,
            interest,
            funding: 0.0,
            dividends: 0.0,
            settlement: 0.0,
            shortfall: 0.0,
            turnover: settled.turnover.value(),
            forced_turnover: 0.0,
            terminated: false,
        };
        (book.bar, book.cash, book.nav) = (book.bar + 1, settled.cash.value(), stepped.nav);
        std::mem::swap(&mut book.shares, &mut workspace.shares);
        if GAPS {
            std::mem::swap(&mut book.marks, &mut workspace.marks);
        } else {
            book.marks.copy_from_slice(market.closes(book.bar));
        }
        weigh(layout, (&book.shares, &book.marks, book.nav), &mut book.weights, None);
        std::mem::swap(&mut workspace.events, &mut workspace.last_events);
        workspace.events.clear();
        if let Some(scale) = scale {
            workspace.events.push(gross.limited(scale));
        }
        Some(stepped)
    }
}
