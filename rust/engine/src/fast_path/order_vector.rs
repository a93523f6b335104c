//! Steps 2 to 13 of one vector.
//!
//! It holds several symbols of one account, or one symbol of several accounts.

use pulp::Simd;

use crate::account::costs::MAX_COST;
use crate::account::lane_terms::{Number, Numbers, Whose};
use crate::account::rules::{MAX_ABS_WEIGHT, Rules};
use crate::vector::simd::{Mask, Vector};

/// The numbers of the rules, in every element of a vector.
#[derive(Clone, Copy)]
pub(crate) struct Terms<S: Simd> {
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
    /// See [`Number::Most`].
    most: Vector<S>,
    max_cost: Vector<S>,
}

/// What the cost of a fill depends on, beside its size.
#[derive(Clone, Copy)]
pub(crate) struct Depth<S: Simd> {
    pub(crate) slippage: Vector<S>,
    /// The root of what share of the market one share is.
    pub(crate) root: Vector<S>,
}

/// A weight after step 3.
pub(crate) struct Cut<S: Simd> {
    pub(crate) target: Vector<S>,
    pub(crate) added: Vector<S>,
    pub(crate) kept: Vector<S>,
    /// Where the limit took something away.
    pub(crate) lost: Mask<S>,
}

/// What a fill is made from.
#[derive(Clone, Copy)]
pub(crate) struct Order<S: Simd> {
    pub(crate) asked: Vector<S>,
    pub(crate) target: Vector<S>,
    pub(crate) current: Vector<S>,
    pub(crate) held: Vector<S>,
    pub(crate) mark: Vector<S>,
    pub(crate) nav: Vector<S>,
    pub(crate) decided: Vector<S>,
    pub(crate) fill: Vector<S>,
    pub(crate) close: Vector<S>,
}

/// What a fill came to.
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
    /// Where the order cannot be filled whole.
    pub(crate) misfit: Mask<S>,
}

impl<S: Simd> Terms<S> {
    /// Returns the terms of rules that all elements share.
    #[inline(always)]
    pub(crate) fn all(simd: S, rules: &Rules) -> Self {
        Self::of(simd, &Whose::all(rules).numbers_of(simd, 0))
    }

    /// Returns the terms of rules.
    #[inline(always)]
    pub(crate) fn of(simd: S, rules: &Numbers<S>) -> Self {
        let splat = |value| Vector::splat(simd, value);
        Self {
            simd,
            nowhere: Mask::none(simd),
            zero: splat(0.0),
            one: splat(1.0),
            max_weight: rules.get(Number::MaxWeight),
            highest: splat(MAX_ABS_WEIGHT),
            lowest: rules.get(Number::Lowest),
            slippage: rules.get(Number::Slippage),
            impact: rules.get(Number::Impact),
            capital: rules.get(Number::Capital),
            most: rules.get(Number::Most),
            max_cost: splat(MAX_COST),
        }
    }

    /// Steps 2 and 3: cuts a weight to `max_weight`.
    ///
    /// A hold is the weight that is already there.
    #[inline(always)]
    pub(crate) fn cut(&self, order: Vector<S>, holds: Vector<S>) -> Cut<S> {
        let weight = order.is_number().select(order, holds);
        let base = self.same_side(weight, holds);
        let cap = base.or_more(self.max_weight);
        let asked = weight.abs();
        let size = cap.or_less(asked);
        let kept = base.or_less(size);
        Cut { target: size.signed_as(weight), added: size - kept, kept, lost: asked.exceeds(size) }
    }

    /// Returns where an order is a short that is not allowed, or out of range.
    #[inline(always)]
    pub(crate) fn odd(&self, order: Vector<S>) -> Mask<S> {
        order.abs().exceeds(self.highest).or(self.low(order))
    }

    /// Returns where an order is a short that is not allowed.
    #[inline(always)]
    pub(crate) fn low(&self, order: Vector<S>) -> Mask<S> {
        self.lowest.exceeds(order)
    }

    /// Returns where one of several orders may be out of range.
    ///
    /// Of sums of what they add and keep. An order beyond the range that was not cut is in a sum of at least the range, to
    /// a rounding, for which there is room. Where none is, only time is lost.
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

    /// Returns the exposure an order may keep under any limit.
    ///
    /// It is |holds| where `holds` has the sign of `weight`, else 0.
    #[inline(always)]
    fn same_side(&self, weight: Vector<S>, holds: Vector<S>) -> Vector<S> {
        holds.along(weight).or_more(self.zero)
    }

    /// Steps 5 to 13: sizes an order, fills it and marks what is held.
    ///
    /// With `GAPS` a price may be missing. With `VARIES` the cost depends on the fill. Without `OWES` nothing is short.
    #[inline(always)]
    pub(crate) fn fill<const GAPS: bool, const VARIES: bool, const OWES: bool>(
        &self,
        order: &Order<S>,
        depth: Depth<S>,
    ) -> Fill<S> {
        let Order { asked, target, current, held, mark, nav, decided, fill: mut price, mut close } = *order;
        let zero = self.zero;
        let sized = target * nav / mark - held;
        let sized = target.equals(current).select(zero, sized);
        let size = sized.abs();
        let trades = size.exceeds(zero);
        let mut misfit = self.nowhere;
        if GAPS {
            // A short that has a reference price but no fill is charged at that price, which is not in this row.
            misfit = price.is_number().not().and(trades.or(zero.exceeds(held)));
            // Told of as refused, or as sized on a stale price.
            misfit = misfit.or(decided.is_number().not().and(trades.or(asked.abs().exceeds(zero))));
            price = price.is_number().select(price, mark);
            close = close.is_number().select(close, mark);
        }
        let (mut slippage, mut impact) = (self.slippage, zero);
        if VARIES {
            slippage = depth.slippage;
            // The square of a root is what it is the root of but for a rounding, which `most` has room for.
            misfit = misfit.or((size * depth.root * depth.root).exceeds(self.most).and(trades));
            // An endless coefficient times the root of nothing is not nothing.
            impact = trades.select(self.impact * depth.root * size.sqrt(), zero);
            misfit = misfit.or((slippage + impact).reaches(self.max_cost).and(trades));
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
            // That of the size, to the bit: no slippage turns the sign of a price.
            traded: flow.abs(),
            slipped: size * price * slippage,
            pushed: if VARIES { size * price * impact } else { zero },
            short,
            value: shares * close,
            gross,
            misfit,
        }
    }

    /// Returns the root of what share of the market one share is.
    ///
    /// Of `volume`, or, where there is none, of the account.
    #[inline(always)]
    pub(crate) fn root(&self, volume: Option<Vector<S>>, mark: Vector<S>, nav: Vector<S>) -> Vector<S> {
        let mut ratio = mark / nav;
        if let Some(volume) = volume {
            ratio = volume.is_number().select(self.capital / volume, ratio);
        }
        ratio.sqrt()
    }

    /// Returns that the cost of a fill depends on its size alone.
    #[inline(always)]
    pub(crate) fn flat(&self) -> Depth<S> {
        Depth { slippage: self.slippage, root: self.zero }
    }
}
