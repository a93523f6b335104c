//! Steps 4 and 11 to 14 for a vector of accounts, one per element.

use pulp::Simd;

use crate::account::costs::StepCosts;
use crate::account::lane_terms::{TermKind, TermVectors};
use crate::market::dataset::Dataset;
use crate::vector::simd::{Mask, Vector};

/// Rates and account limits of a vector of accounts.
#[derive(Clone, Copy)]
pub(crate) struct LaneCharges<S: Simd> {
    fee: Vector<S>,
    cash: Vector<S>,
    financing: Vector<S>,
    borrow: Vector<S>,
    periods_per_year: Vector<S>,
    max_gross: Vector<S>,
    most_gross: Vector<S>,
    margin: Vector<S>,
    /// Whether cash earns or pays interest.
    accrues: bool,
}

impl<S: Simd> LaneCharges<S> {
    /// Returns the rates and limits of terms; `accrues` as in [`LaneCharges::accrues`].
    #[inline(always)]
    pub(crate) fn of(simd: S, market: &Dataset, rules: &TermVectors<S>, accrues: bool) -> Self {
        Self {
            fee: rules.get(TermKind::Fee),
            cash: rules.get(TermKind::Cash),
            financing: rules.get(TermKind::Financing),
            borrow: rules.get(TermKind::Borrow),
            periods_per_year: Vector::splat(simd, market.accruals_per_year()),
            max_gross: rules.get(TermKind::MaxGross),
            most_gross: rules.get(TermKind::MostGross),
            margin: rules.get(TermKind::Margin),
            accrues,
        }
    }

    /// Returns the factor that cuts new exposure to `max_gross` (step 4).
    ///
    /// The mask marks the accounts to which it applies.
    #[inline(always)]
    pub(crate) fn scale(&self, simd: S, added: Vector<S>, kept: Vector<S>) -> (Vector<S>, Mask<S>) {
        let zero = Vector::splat(simd, 0.0);
        let left = self.max_gross - kept;
        let scale = left.exceeds(zero).select(left / added, zero);
        (scale, (added + kept).exceeds(self.most_gross))
    }
}

/// Sums over the symbols of an account.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sums<V> {
    pub(crate) flow: V,
    pub(crate) traded: V,
    pub(crate) slipped: V,
    pub(crate) pushed: V,
    /// Value of shorts at reference prices.
    pub(crate) short: V,
    /// Value of positions at their new marks, signed and absolute.
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
    /// On the own cash of the account: interest if positive, financing if negative.
    pub(crate) idle: Vector<S>,
    pub(crate) own: Vector<S>,
    pub(crate) borrow: Vector<S>,
    /// Accounts that would be liquidated or ruined.
    pub(crate) declined: Mask<S>,
}

/// Pays fees, accrues interest and values accounts of `cash` and `nav`.
///
/// Without `OWES` no account is short. Without `REPORTS` only the numbers that move the account are computed.
#[inline(always)]
pub(crate) fn settle<S: Simd, const OWES: bool, const REPORTS: bool>(
    simd: S,
    charges: &LaneCharges<S>,
    (cash, nav_before): (Vector<S>, Vector<S>),
    sums: Sums<Vector<S>>,
) -> Settled<S> {
    let splat = |value| Vector::splat(simd, value);
    let (zero, one) = (splat(0.0), splat(1.0));
    let fee = charges.fee * sums.traded;
    let cash = cash - (sums.flow + fee);
    let short = if OWES { sums.short } else { zero };
    let own = cash - short;
    let (mut cash, mut idle, mut borrow) = (cash, zero, zero);
    // Without debt and at a rate of 0 cash is unchanged, to the sign of a zero.
    if REPORTS || OWES || charges.accrues {
        let rate = own.reaches(zero).select(charges.cash, charges.financing);
        idle = own * rate / charges.periods_per_year;
        cash = cash + idle;
    }
    if REPORTS || OWES {
        borrow = short * charges.borrow / charges.periods_per_year;
        cash = cash - borrow;
    }
    let nav = cash + sums.value;
    // Ruined accounts and values outside of f64 fail the two comparisons.
    let mut declined = nav.exceeds(zero).and(splat(f64::MAX).reaches(nav)).not();
    if OWES {
        declined = declined.or((charges.margin * sums.gross).exceeds(nav));
    }
    let (reward, turnover) = (nav / nav_before - one, sums.traded / nav_before);
    Settled { cash, nav, reward, turnover, fee, idle, own, borrow, declined }
}

/// Returns the costs of a step by kind, and its interest.
///
/// The inputs are fees, slippage and impact, and the accrued amounts.
#[inline(always)]
pub(crate) fn costs((fee, slippage, impact): (f64, f64, f64), accrued: (f64, f64, f64)) -> (StepCosts, f64) {
    let (own, idle, borrow) = accrued;
    let (financing, interest) = if own < 0.0 { (-idle, 0.0) } else { (0.0, idle) };
    (StepCosts { fee, slippage, impact, financing, borrow, liquidation: 0.0 }, interest)
}

impl<V: Copy> Sums<V> {
    /// Returns these sums mapped by a function.
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

/// Returns the total over 1, 4 or 8 symbols in the order of the contract.
///
/// Each symbol is a vector of accounts. The lanes of the contract begin at 0, which changes only the sign of a zero.
/// Adding that 0 to the total has the same effect.
#[inline(always)]
pub(super) fn total<S: Simd, const N: usize>(zero: Vector<S>, of: &[Vector<S>; N]) -> Vector<S> {
    if N == 1 {
        return zero + of[0];
    }
    let pair = |k: usize| if N > 4 { of[k] + of[k + 4] } else { of[k] };
    zero + ((pair(0) + pair(2)) + (pair(1) + pair(3)))
}
