//! Steps 4 and 11 to 14 of accounts, each in one element of a vector.

use pulp::Simd;

use crate::costs::StepCosts;
use crate::dataset::Dataset;
use crate::simd::{Mask, Vector};
use crate::sizing::GROSS_TOLERANCE;
use crate::step::Rules;

/// Sums over the symbols of an account.
#[derive(Clone, Copy)]
pub(crate) struct Sums<V> {
    pub(crate) flow: V,
    pub(crate) traded: V,
    pub(crate) slipped: V,
    pub(crate) pushed: V,
    /// Value of shorts at reference prices.
    pub(crate) short: V,
    /// Value of positions at their new marks, signed and not.
    pub(crate) value: V,
    pub(crate) gross: V,
}

/// An account after a step.
pub(crate) struct Settled<S: Simd> {
    pub(crate) cash: Vector<S>,
    pub(crate) nav: Vector<S>,
    pub(crate) reward: Vector<S>,
    pub(crate) turnover: Vector<S>,
    pub(crate) fee: Vector<S>,
    /// On the account's own cash: interest if that is above 0, else financing.
    pub(crate) idle: Vector<S>,
    pub(crate) own: Vector<S>,
    pub(crate) borrow: Vector<S>,
    /// Above 0 where the account would be closed by force.
    pub(crate) misfit: Vector<S>,
}

/// Pays, accrues and values accounts of `cash` and `nav`.
///
/// Without `TELLS` only what moves the account is computed.
#[inline(always)]
pub(crate) fn settle<S: Simd, const OWES: bool, const TELLS: bool>(
    simd: S,
    market: &Dataset,
    rules: &Rules,
    (cash, nav_before): (Vector<S>, Vector<S>),
    sums: Sums<Vector<S>>,
) -> Settled<S> {
    let splat = |value| Vector::splat(simd, value);
    let (zero, one, rates) = (splat(0.0), splat(1.0), &rules.rates);
    let fee = splat(rates.fee) * sums.traded;
    let cash = cash - (sums.flow + fee);
    let owes = OWES && rules.limits().allow_short;
    let short = if owes { sums.short } else { zero };
    let own = cash - short;
    let ppy = splat(market.periods_per_year());
    let (mut cash, mut idle, mut borrow) = (cash, zero, zero);
    // Where nothing is owed, cash at no rate stays as it is, to the sign of a zero.
    if TELLS || owes || rates.cash != 0.0 || rates.financing != 0.0 {
        let rate = own.reaches(zero).select(splat(rates.cash), splat(rates.financing));
        idle = own * rate / ppy;
        cash = cash + idle;
    }
    if TELLS || owes {
        borrow = short * splat(rates.borrow) / ppy;
        cash = cash - borrow;
    }
    let nav = cash + sums.value;
    // Neither a ruin nor a number beyond f64: those are not above 0 and at most its largest.
    let mut misfit = nav.exceeds(zero).select(zero, one) + splat(f64::MAX).reaches(nav).select(zero, one);
    if OWES && rules.limits().maintenance_margin > 0.0 {
        let called: Mask<S> = (splat(rules.limits().maintenance_margin) * sums.gross).exceeds(nav);
        misfit = misfit + called.select(one, zero);
    }
    let (reward, turnover) = (nav / nav_before - one, sums.traded / nav_before);
    Settled { cash, nav, reward, turnover, fee, idle, own, borrow, misfit }
}

/// Returns the factor that brings what is new within `max_gross` (step 4), else 1.
#[inline(always)]
pub(crate) fn scale<S: Simd>(simd: S, max_gross: f64, added: Vector<S>, kept: Vector<S>) -> (Vector<S>, Mask<S>) {
    let splat = |value| Vector::splat(simd, value);
    let (zero, budget) = (splat(0.0), splat(max_gross));
    let left = budget - kept;
    let scale = left.exceeds(zero).select(left / added, zero);
    (scale, (added + kept).exceeds(splat(max_gross * GROSS_TOLERANCE)))
}

/// Returns the costs of a step by kind and its interest.
///
/// They come of fees, slippage and impact, and of what accrued.
#[inline(always)]
pub(crate) fn costs((fee, slippage, impact): (f64, f64, f64), accrued: (f64, f64, f64)) -> (StepCosts, f64) {
    let (own, idle, borrow) = accrued;
    let (financing, interest) = if own < 0.0 { (-idle, 0.0) } else { (0.0, idle) };
    (StepCosts { fee, slippage, impact, financing, borrow, liquidation: 0.0 }, interest)
}

impl<V: Copy> Sums<V> {
    /// Returns these sums in another form.
    #[inline(always)]
    pub(crate) fn map<W>(&self, of: impl Fn(V) -> W) -> Sums<W> {
        Sums {
            flow: of(self.flow),
            traded: of(self.traded),
            slipped: of(self.slipped),
            pushed: of(self.pushed),
            short: of(self.short),
            value: of(self.value),
            gross: of(self.gross),
        }
    }
}
