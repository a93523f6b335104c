//! Steps 2 to 13 of one account, vectorized over its symbols.

use pulp::Simd;

use crate::account::account_view::AccountView;
use crate::fast_path::account_vector::Sums;
use crate::fast_path::bar_rows::Rows;
use crate::fast_path::order_vector::{Order, OrderTerms};
use crate::vector::lane_sums::{Block, LANES};
use crate::vector::simd::{Layout, store};

/// Inputs of the trades of an account.
pub(crate) struct Trade<'a, S: Simd, const ONE: bool> {
    pub(crate) layout: Layout<S, ONE>,
    pub(crate) terms: OrderTerms<S>,
    pub(crate) rows: Rows<'a>,
}

/// Totals of the fills, in the lanes of the contract.
#[derive(Clone, Debug)]
pub(crate) struct Totals<V> {
    pub(crate) money: Sums<V>,
    /// Gross weights, new and already held, before scaling.
    pub(crate) added: V,
    pub(crate) kept: V,
}

impl<V: Copy> Totals<V> {
    /// Returns totals with one value in all fields.
    #[inline(always)]
    pub(crate) fn of(one: V) -> Self {
        let money = Sums { flow: one, traded: one, slipped: one, pushed: one, short: one, value: one, gross: one };
        Self { money, added: one, kept: one }
    }
}

impl Totals<[Block; LANES]> {
    /// Stores the totals of an account that move money.
    #[inline(always)]
    pub(crate) fn put(&mut self, account: usize, of: &Totals<Block>) {
        (self.added[account], self.kept[account]) = (of.added, of.kept);
        (self.money.flow[account], self.money.traded[account]) = (of.money.flow, of.money.traded);
        (self.money.value[account], self.money.gross[account]) = (of.money.value, of.money.gross);
        self.money.short[account] = of.money.short;
    }
}

impl<S: Simd, const ONE: bool> Trade<'_, S, ONE> {
    /// Cuts, sizes and fills every order and marks every position.
    ///
    /// New exposure is scaled by `scale`, if present. Returns `None` if a weight is cut or refused, or an order cannot
    /// be filled in full. Without `GAPS` no marks are written: they are the closes. With `REPORTS` it computes the cost
    /// components. The other parameters are those of [`OrderTerms::fill`].
    #[inline(always)]
    pub(crate) fn run<const GAPS: bool, const VARIES: bool, const OWES: bool, const REPORTS: bool>(
        &self,
        ordered: &[Block],
        before: AccountView<'_>,
        (shares_after, marks_after): (&mut [Block], &mut [Block]),
        scale: Option<f64>,
    ) -> Option<Totals<Block>> {
        let Self { layout, terms, rows } = self;
        let (ordered, current) = (layout.row(ordered), layout.row(before.weights));
        let (held, marks) = (layout.row(before.shares), layout.row(before.marks));
        let (decided, fills, closes) = (layout.row(rows.decided), layout.row(rows.fill), layout.row(rows.close));
        let row = |blocks: Option<_>| blocks.map(|blocks| layout.row(blocks));
        let (slippage, volume) = (row(rows.slippage), row(rows.volume));
        let roots = row(rows.roots);
        let (shares_after, marks_after) = (layout.row_mut(shares_after), layout.row_mut(marks_after));
        let (nav, scale) = (layout.splat(before.nav), scale.map(|scale| layout.splat(scale)));
        let (mut sums, mut declined) = ([[0.0; LANES]; 9], terms.nowhere);
        // Lane by lane, so that each sum stays in one register.
        let mut lane = 0;
        while lane < layout.n_lanes {
            let (mut lanes, mut added, mut kept) = ([terms.zero; 7], terms.zero, terms.zero);
            let mut i = lane;
            while i < layout.n {
                let cut = terms.cut(ordered.get(i), current.get(i));
                let mut target = cut.target;
                // Not `map_or`, which compiles to a call that passes vectors through memory.
                if let Some(scale) = scale {
                    target = terms.scale(target, current.get(i), scale);
                }
                let order = Order {
                    ordered: ordered.get(i),
                    target,
                    current: current.get(i),
                    held: held.get(i),
                    // Without gaps the mark is the close: one row for all accounts.
                    mark: if GAPS { marks.get(i) } else { decided.get(i) },
                    nav,
                    decided: decided.get(i),
                    fill: fills.get(i),
                    close: closes.get(i),
                };
                let mut cost_input = terms.flat();
                if VARIES {
                    // Not `map_or`, for the same reason.
                    if let Some(slippage) = slippage {
                        cost_input.slippage = slippage.get(i);
                    }
                    cost_input.root = if let Some(roots) = roots {
                        roots.get(i)
                    } else {
                        terms.root(volume.map(|volume| volume.get(i)), order.mark, nav)
                    };
                }
                let fill = terms.fill::<GAPS, VARIES, OWES>(&order, cost_input);
                declined = declined.or(cut.lost).or(terms.low(order.ordered));
                declined = if GAPS || VARIES { declined.or(fill.declined) } else { declined };
                let (slipped, pushed) = if REPORTS { (fill.slipped, fill.pushed) } else { (terms.zero, terms.zero) };
                let parts = [fill.flow, fill.traded, slipped, pushed, fill.short, fill.value, fill.gross];
                for (sum, part) in lanes.iter_mut().zip(parts) {
                    *sum = *sum + part;
                }
                (added, kept) = (added + cut.added, kept + cut.kept);
                shares_after[i] = fill.shares.value();
                if GAPS {
                    marks_after[i] = fill.mark.value();
                }
                i += layout.per_block;
            }
            for (sum, of) in sums.iter_mut().zip(lanes) {
                store(sum, lane, of);
            }
            declined = declined.or(terms.high(added, kept));
            store(&mut sums[7], lane, added);
            store(&mut sums[8], lane, kept);
            lane += 1;
        }
        if declined.any() {
            return None;
        }
        let [flow, traded, slipped, pushed, short, value, gross, added, kept] = sums;
        Some(Totals { money: Sums { flow, traded, slipped, pushed, short, value, gross }, added, kept })
    }
}

/// Writes the weights of shares at their marks, as fractions of a NAV.
///
/// It also copies the shares, if there is an output for them.
#[inline(always)]
pub(crate) fn weigh<S: Simd, const ONE: bool>(
    layout: Layout<S, ONE>,
    (shares, marks, nav): (&[Block], &[Block], f64),
    weights: &mut [Block],
    kept: Option<&mut [Block]>,
) {
    let (shares, marks) = (layout.row(shares), layout.row(marks));
    let weights = layout.row_mut(weights);
    let mut kept = kept.map(|kept| layout.row_mut(kept));
    let (zero, nav) = (layout.splat(0.0), layout.splat(nav));
    let mut i = 0;
    while i < layout.n {
        let held = shares.get(i);
        if let Some(kept) = &mut kept {
            kept[i] = held.value();
        }
        weights[i] = held.equals(zero).select(zero, held * marks.get(i) / nav).value();
        i += 1;
    }
}
