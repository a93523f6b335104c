//! Steps 2 to 13 of one account: its symbols side by side.

use pulp::Simd;

use crate::account::account_view::Held;
use crate::fast_path::account_vector::Sums;
use crate::fast_path::bar_rows::Rows;
use crate::fast_path::order_vector::{Order, Terms};
use crate::vector::lane_sums::{Block, LANES};
use crate::vector::simd::{Layout, store};

/// What the orders of an account are carried out with.
pub(crate) struct Trade<'a, S: Simd, const ONE: bool> {
    pub(crate) layout: Layout<S, ONE>,
    pub(crate) terms: Terms<S>,
    pub(crate) rows: Rows<'a>,
}

/// What fills came to, each sum in the contract's lanes.
#[derive(Clone, Debug)]
pub(crate) struct Totals<V> {
    pub(crate) money: Sums<V>,
    /// Gross weights, new and already held, before any scaling.
    pub(crate) added: V,
    pub(crate) kept: V,
}

impl<V: Copy> Totals<V> {
    /// Returns totals that are all one.
    #[inline(always)]
    pub(crate) fn of(one: V) -> Self {
        let money = Sums { flow: one, traded: one, slipped: one, pushed: one, short: one, value: one, gross: one };
        Self { money, added: one, kept: one }
    }
}

impl Totals<[Block; LANES]> {
    /// Writes those totals of an account that move money.
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
    /// They go where they are given room.
    ///
    /// What is new of a weight is scaled by `scale`, if there is one. Returns nothing where a weight is cut or refused,
    /// or an order cannot be filled whole. Without `GAPS` no marks are written: they are the closes. With `TELLS` it
    /// says what was paid for what; the others are as in [`Terms::fill`].
    #[inline(always)]
    pub(crate) fn run<const GAPS: bool, const VARIES: bool, const OWES: bool, const TELLS: bool>(
        &self,
        asked: &[Block],
        before: Held<'_>,
        (shares_after, marks_after): (&mut [Block], &mut [Block]),
        scale: Option<f64>,
    ) -> Option<Totals<Block>> {
        let Self { layout, terms, rows } = self;
        let (asked, current) = (layout.row(asked), layout.row(before.weights));
        let (held, marks) = (layout.row(before.shares), layout.row(before.marks));
        let (decided, fills, closes) = (layout.row(rows.decided), layout.row(rows.fill), layout.row(rows.close));
        let row = |blocks: Option<_>| blocks.map(|blocks| layout.row(blocks));
        let (slippage, volume) = (row(rows.slippage), row(rows.volume));
        let roots = row(rows.roots);
        let (shares_after, marks_after) = (layout.row_mut(shares_after), layout.row_mut(marks_after));
        let (nav, scale) = (layout.splat(before.nav), scale.map(|scale| layout.splat(scale)));
        let (mut sums, mut misfit) = ([[0.0; LANES]; 9], terms.nowhere);
        // Lane by lane, so that a sum stays in one register.
        let mut lane = 0;
        while lane < layout.n_lanes {
            let (mut lanes, mut added, mut kept) = ([terms.zero; 7], terms.zero, terms.zero);
            let mut i = lane;
            while i < layout.n {
                let cut = terms.cut(asked.get(i), current.get(i));
                let mut target = cut.target;
                // Not `map_or`, which is a call and hands vectors over by way of memory.
                if let Some(scale) = scale {
                    target = terms.scale(target, current.get(i), scale);
                }
                let order = Order {
                    asked: asked.get(i),
                    target,
                    current: current.get(i),
                    held: held.get(i),
                    // Where nothing is missing the mark is the close: one row for all accounts.
                    mark: if GAPS { marks.get(i) } else { decided.get(i) },
                    nav,
                    decided: decided.get(i),
                    fill: fills.get(i),
                    close: closes.get(i),
                };
                let mut depth = terms.flat();
                if VARIES {
                    // Not `map_or`, as above.
                    if let Some(slippage) = slippage {
                        depth.slippage = slippage.get(i);
                    }
                    depth.root = if let Some(roots) = roots {
                        roots.get(i)
                    } else {
                        terms.root(volume.map(|volume| volume.get(i)), order.mark, nav)
                    };
                }
                let fill = terms.fill::<GAPS, VARIES, OWES>(&order, depth);
                misfit = misfit.or(cut.lost).or(terms.low(order.asked));
                misfit = if GAPS || VARIES { misfit.or(fill.misfit) } else { misfit };
                let (slipped, pushed) = if TELLS { (fill.slipped, fill.pushed) } else { (terms.zero, terms.zero) };
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
            misfit = misfit.or(terms.high(added, kept));
            store(&mut sums[7], lane, added);
            store(&mut sums[8], lane, kept);
            lane += 1;
        }
        if misfit.any() {
            return None;
        }
        let [flow, traded, slipped, pushed, short, value, gross, added, kept] = sums;
        Some(Totals { money: Sums { flow, traded, slipped, pushed, short, value, gross }, added, kept })
    }
}

/// Writes the weights of shares at their marks, as fractions of a NAV.
///
/// Where there is room for them, the shares too.
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
