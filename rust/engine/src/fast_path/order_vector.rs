//! Steps 2 to 13 for one vector of orders.
//!
//! The elements are several symbols of one account, or one symbol of several accounts.

use pulp::Simd;

use crate::account::block_terms::BlockTerms;
use crate::account::costs::MAX_COST;
use crate::account::lane_terms::{TermKind, TermVectors};
use crate::account::rules::{MAX_ABS_WEIGHT, Rules};
use crate::vector::simd::{Mask, Vector};

/// The terms of a vector of orders.
#[derive(Clone, Copy)]
pub(crate) struct OrderTerms<S: Simd> {
    pub(crate) simd: S,
    pub(crate) nowhere: Mask<S>,
    pub(crate) zero: Vector<S>,
    pub(crate) one: Vector<S>,
    max_weight: Vector<S>,
    highest: Vector<S>,
    lowest: Vector<S>,
    pub(crate) slippage: Vector<S>,
    impact: Vector<S>,
    capital: Vector<S>,
    /// See [`TermKind::Most`].
    most: Vector<S>,
    max_cost: Vector<S>,
}

/// Inputs of the cost of a fill, apart from its size.
#[derive(Clone, Copy)]
pub(crate) struct CostInputs<S: Simd> {
    pub(crate) slippage: Vector<S>,
    /// Square root of the share of the market that one share is.
    pub(crate) root: Vector<S>,
}

/// A weight after step 3.
pub(crate) struct Cut<S: Simd> {
    pub(crate) target: Vector<S>,
    pub(crate) added: Vector<S>,
    pub(crate) kept: Vector<S>,
    /// Orders cut by the limit.
    pub(crate) lost: Mask<S>,
}

/// Inputs of a fill.
#[derive(Clone, Copy)]
pub(crate) struct Order<S: Simd> {
    pub(crate) ordered: Vector<S>,
    pub(crate) target: Vector<S>,
    pub(crate) current: Vector<S>,
    pub(crate) held: Vector<S>,
    pub(crate) mark: Vector<S>,
    pub(crate) nav: Vector<S>,
    pub(crate) decided: Vector<S>,
    pub(crate) fill: Vector<S>,
    pub(crate) close: Vector<S>,
}

/// Results of a fill.
pub(crate) struct Fill<S: Simd> {
    pub(crate) shares: Vector<S>,
    pub(crate) mark: Vector<S>,
    pub(crate) flow: Vector<S>,
    pub(crate) traded: Vector<S>,
    pub(crate) slipped: Vector<S>,
    pub(crate) pushed: Vector<S>,
    pub(crate) short: Vector<S>,
    pub(crate) value: Vector<S>,
    pub(crate) gross: Vector<S>,
    /// Orders that cannot be filled in full.
    pub(crate) declined: Mask<S>,
}

impl<S: Simd> OrderTerms<S> {
    /// Returns the terms of rules that all elements share.
    #[inline(always)]
    pub(crate) fn all(simd: S, rules: &Rules) -> Self {
        Self::of(simd, &BlockTerms::all(rules).numbers_of(simd, 0))
    }

    /// Returns the terms of a vector of accounts.
    #[inline(always)]
    pub(crate) fn of(simd: S, rules: &TermVectors<S>) -> Self {
        let splat = |value| Vector::splat(simd, value);
        Self {
            simd,
            nowhere: Mask::none(simd),
            zero: splat(0.0),
            one: splat(1.0),
            max_weight: rules.get(TermKind::MaxWeight),
            highest: splat(MAX_ABS_WEIGHT),
            lowest: rules.get(TermKind::Lowest),
            slippage: rules.get(TermKind::Slippage),
            impact: rules.get(TermKind::Impact),
            capital: rules.get(TermKind::Capital),
            most: rules.get(TermKind::Most),
            max_cost: splat(MAX_COST),
        }
    }

    /// Steps 2 and 3: cuts a weight to `max_weight`.
    ///
    /// A hold is the current weight.
    #[inline(always)]
    pub(crate) fn cut(&self, order: Vector<S>, holds: Vector<S>) -> Cut<S> {
        let weight = order.is_number().select(order, holds);
        let base = self.same_side(weight, holds);
        let cap = base.or_more(self.max_weight);
        let ordered = weight.abs();
        let size = cap.or_less(ordered);
        let kept = base.or_less(size);
        Cut { target: size.signed_as(weight), added: size - kept, kept, lost: ordered.exceeds(size) }
    }

    /// Returns the orders that are forbidden shorts or out of range.
    #[inline(always)]
    pub(crate) fn odd(&self, order: Vector<S>) -> Mask<S> {
        order.abs().exceeds(self.highest).or(self.low(order))
    }

    /// Returns the orders that are forbidden shorts.
    #[inline(always)]
    pub(crate) fn low(&self, order: Vector<S>) -> Mask<S> {
        self.lowest.exceeds(order)
    }

    /// Returns whether one of several orders may be out of range.
    ///
    /// The arguments are sums over the orders. An uncut order out of range makes a sum of at least the range, less a
    /// rounding, which the comparison allows for. A false positive only costs time.
    #[inline(always)]
    pub(crate) fn high(&self, added: Vector<S>, kept: Vector<S>) -> Mask<S> {
        const SAFE: f64 = 0.99 * MAX_ABS_WEIGHT;
        (added + kept).exceeds(Vector::splat(self.simd, SAFE))
    }

    /// Step 4: scales the part of a weight that is not held already.
    #[inline(always)]
    pub(crate) fn scale(&self, target: Vector<S>, holds: Vector<S>, scale: Vector<S>) -> Vector<S> {
        let (size, base) = (target.abs(), self.same_side(target, holds));
        let keep = base.or_less(size);
        (keep + (size - keep) * scale).signed_as(target)
    }

    /// Returns the exposure that an order may keep under any limit.
    ///
    /// It is |holds| if `holds` has the sign of `weight`, else 0.
    #[inline(always)]
    fn same_side(&self, weight: Vector<S>, holds: Vector<S>) -> Vector<S> {
        holds.along(weight).or_more(self.zero)
    }

    /// Steps 5 to 13: sizes an order, fills it and marks the position.
    ///
    /// With `GAPS` a price may be missing. With `VARIES` the cost depends on the fill. Without `OWES` no position is
    /// short.
    #[inline(always)]
    pub(crate) fn fill<const GAPS: bool, const VARIES: bool, const OWES: bool>(
        &self,
        order: &Order<S>,
        cost_input: CostInputs<S>,
    ) -> Fill<S> {
        let Order { ordered, target, current, held, mark, nav, decided, fill: mut price, mut close } = *order;
        let zero = self.zero;
        let sized = target * nav / mark - held;
        let sized = target.equals(current).select(zero, sized);
        let size = sized.abs();
        let trades = size.exceeds(zero);
        let mut declined = self.nowhere;
        if GAPS {
            // A short with a reference price and no fill is charged at the reference price, which this row does not
            // have.
            declined = price.is_number().not().and(trades.or(zero.exceeds(held)));
            // The full step reports these orders as refused, or as sized on a stale price.
            declined = declined.or(decided.is_number().not().and(trades.or(ordered.abs().exceeds(zero))));
            price = price.is_number().select(price, mark);
            close = close.is_number().select(close, mark);
        }
        let (mut slippage, mut impact) = (self.slippage, zero);
        if VARIES {
            slippage = cost_input.slippage;
            // The square of a root differs from its argument by a rounding, which `most` allows for.
            declined = declined.or((size * cost_input.root * cost_input.root).exceeds(self.most).and(trades));
            // Infinity times the root of zero is NaN.
            impact = trades.select(self.impact * cost_input.root * size.sqrt(), zero);
            declined = declined.or((slippage + impact).reaches(self.max_cost).and(trades));
        }
        let fill_price = price * (self.one + (slippage + impact).signed_as(sized));
        let (flow, shares) = (sized * fill_price, held + sized);
        let (mut short, mut gross) = (zero, zero);
        if OWES {
            short = (-shares).or_more(zero) * price;
            gross = shares.abs() * close;
        }
        Fill {
            shares,
            mark: close,
            flow,
            // The absolute value has the same bits: no slippage changes the sign of a price.
            traded: flow.abs(),
            slipped: size * price * slippage,
            pushed: if VARIES { size * price * impact } else { zero },
            short,
            value: shares * close,
            gross,
            declined,
        }
    }

    /// Returns the square root of the share of the market that one share is.
    ///
    /// The market is `volume` or, without volume, the account.
    #[inline(always)]
    pub(crate) fn root(&self, volume: Option<Vector<S>>, mark: Vector<S>, nav: Vector<S>) -> Vector<S> {
        let mut ratio = mark / nav;
        if let Some(volume) = volume {
            ratio = volume.is_number().select(self.capital / volume, ratio);
        }
        ratio.sqrt()
    }

    /// Returns the inputs of a cost that does not vary.
    #[inline(always)]
    pub(crate) fn flat(&self) -> CostInputs<S> {
        CostInputs { slippage: self.slippage, root: self.zero }
    }
}
