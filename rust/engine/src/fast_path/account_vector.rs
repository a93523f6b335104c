//! Steps 4 and 11 to 14 of accounts, each in one element of a vector.

use pulp::Simd;

use crate::account::costs::StepCosts;
use crate::account::lane_terms::{Number, Numbers};
use crate::market::dataset::Dataset;
use crate::vector::simd::{Mask, Vector};

/// What accounts pay and how much they may hold, in every element of a vector.
#[derive(Clone, Copy)]
pub(crate) struct Dues<S: Simd> {
    fee: Vector<S>,
    cash: Vector<S>,
    financing: Vector<S>,
    borrow: Vector<S>,
    periods_per_year: Vector<S>,
    max_gross: Vector<S>,
    most_gross: Vector<S>,
    margin: Vector<S>,
    /// Whether cash earns or costs anything.
    accrues: bool,
}

impl<S: Simd> Dues<S> {
    /// Returns the dues of rules; `accrues` tells whether cash earns or costs anything.
    #[inline(always)]
    pub(crate) fn of(simd: S, market: &Dataset, rules: &Numbers<S>, accrues: bool) -> Self {
        Self {
            fee: rules.get(Number::Fee),
            cash: rules.get(Number::Cash),
            financing: rules.get(Number::Financing),
            borrow: rules.get(Number::Borrow),
            periods_per_year: Vector::splat(simd, market.periods_per_year()),
            max_gross: rules.get(Number::MaxGross),
            most_gross: rules.get(Number::MostGross),
            margin: rules.get(Number::Margin),
            accrues,
        }
    }

    /// Returns the factor that brings what is new within `max_gross` (step 4).
    ///
    /// And for whom it does.
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
    /// Where the account would be closed by force.
    pub(crate) misfit: Mask<S>,
}

/// Pays, accrues and values accounts of `cash` and `nav`.
///
/// Without `OWES` nothing is short. Without `TELLS` only what moves the account is computed.
#[inline(always)]
pub(crate) fn settle<S: Simd, const OWES: bool, const TELLS: bool>(
    simd: S,
    dues: &Dues<S>,
    (cash, nav_before): (Vector<S>, Vector<S>),
    sums: Sums<Vector<S>>,
) -> Settled<S> {
    let splat = |value| Vector::splat(simd, value);
    let (zero, one) = (splat(0.0), splat(1.0));
    let fee = dues.fee * sums.traded;
    let cash = cash - (sums.flow + fee);
    let short = if OWES { sums.short } else { zero };
    let own = cash - short;
    let (mut cash, mut idle, mut borrow) = (cash, zero, zero);
    // Where nothing is owed, cash at no rate stays as it is, to the sign of a zero.
    if TELLS || OWES || dues.accrues {
        let rate = own.reaches(zero).select(dues.cash, dues.financing);
        idle = own * rate / dues.periods_per_year;
        cash = cash + idle;
    }
    if TELLS || OWES {
        borrow = short * dues.borrow / dues.periods_per_year;
        cash = cash - borrow;
    }
    let nav = cash + sums.value;
    // Neither a ruin nor a number beyond f64: those are not above 0 and at most its largest.
    let mut misfit = nav.exceeds(zero).and(splat(f64::MAX).reaches(nav)).not();
    if OWES {
        misfit = misfit.or((dues.margin * sums.gross).exceeds(nav));
    }
    let (reward, turnover) = (nav / nav_before - one, sums.traded / nav_before);
    Settled { cash, nav, reward, turnover, fee, idle, own, borrow, misfit }
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

/// Returns the total over 1, 4 or 8 symbols in the contract's order.
///
/// Each symbol is a vector of accounts.
///
/// The contract's lanes begin at 0, which turns but the sign of a zero, and of a whole sum as of its lanes.
#[inline(always)]
pub(super) fn total<S: Simd, const N: usize>(zero: Vector<S>, of: &[Vector<S>; N]) -> Vector<S> {
    if N == 1 {
        return zero + of[0];
    }
    let pair = |k: usize| if N > 4 { of[k] + of[k + 4] } else { of[k] };
    zero + ((pair(0) + pair(2)) + (pair(1) + pair(3)))
}
