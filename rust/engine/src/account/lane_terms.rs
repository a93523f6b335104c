use pulp::Simd;

use crate::account::costs::{CostModel, MAX_COST};
use crate::account::gross_exposure::GROSS_TOLERANCE;
use crate::account::limits::Limits;
use crate::account::rates::Rates;
use crate::vector::lane_sums::{Block, LANES};
use crate::vector::simd::Vector;

/// One number of the rules that a step reads.
#[derive(Clone, Copy)]
pub(crate) enum TermKind {
    MaxWeight,
    Lowest,
    Slippage,
    Impact,
    Capital,
    /// The largest participation less a rounding, infinite without a bound.
    ///
    /// Step 9 itself measures orders within a rounding of the bound.
    Most,
    Fee,
    Cash,
    Financing,
    Borrow,
    MaxGross,
    /// The gross exposure from which orders are scaled.
    MostGross,
    /// Maintenance margin, 0 without one.
    Margin,
}

/// Every [`TermKind`] of a vector of accounts, in the order of [`TermKind::ALL`].
#[derive(Clone, Copy)]
pub(crate) struct TermVectors<S: Simd>(pub(super) [Vector<S>; TermKind::ALL.len()]);

impl<S: Simd> TermVectors<S> {
    #[inline(always)]
    pub(crate) fn get(&self, number: TermKind) -> Vector<S> {
        self.0[number as usize]
    }
}

impl TermKind {
    pub(super) const ALL: [Self; 13] = [
        Self::MaxWeight,
        Self::Lowest,
        Self::Slippage,
        Self::Impact,
        Self::Capital,
        Self::Most,
        Self::Fee,
        Self::Cash,
        Self::Financing,
        Self::Borrow,
        Self::MaxGross,
        Self::MostGross,
        Self::Margin,
    ];

    fn of(self, costs: &CostModel, limits: &Limits, rates: &Rates) -> f64 {
        match self {
            Self::MaxWeight => limits.max_weight,
            Self::Lowest => limits.lowest_weight(),
            Self::Slippage => rates.slippage,
            Self::Impact => rates.impact,
            Self::Capital => costs.capital,
            Self::Most => limits.max_participation.map_or(f64::INFINITY, |most| most * (1.0 - 1e-9)),
            Self::Fee => rates.fee,
            Self::Cash => rates.cash,
            Self::Financing => rates.financing,
            Self::Borrow => rates.borrow,
            Self::MaxGross => limits.max_gross,
            Self::MostGross => limits.max_gross * GROSS_TOLERANCE,
            Self::Margin => limits.maintenance_margin,
        }
    }
}

/// Features of the rules of a group of accounts.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a question of its own")]
pub(crate) struct TermTraits {
    /// Whether the fast path supports the rules, apart from jitter.
    pub(crate) is_supported: bool,
    pub(crate) jitters: bool,
    /// Whether the cost of a fill depends on its size.
    pub(crate) varies: bool,
    /// Whether an account can be short or receive a margin call.
    pub(crate) owes: bool,
    /// Whether cash earns or pays interest.
    pub(crate) accrues: bool,
}

impl TermTraits {
    pub(crate) fn of(costs: &CostModel, limits: &Limits, rates: &Rates) -> Self {
        let (is_bound, is_margined) = (limits.max_participation.is_some(), limits.maintenance_margin > 0.0);
        Self {
            is_supported: rates.slippage < MAX_COST && !limits.cash_account,
            jitters: costs.slippage_jitter > 0.0,
            varies: rates.impact > 0.0 || is_bound,
            owes: limits.allow_short || is_margined,
            accrues: rates.cash != 0.0 || rates.financing != 0.0,
        }
    }

    pub(super) fn and(self, other: Self) -> Self {
        Self {
            is_supported: self.is_supported && other.is_supported,
            jitters: self.jitters || other.jitters,
            varies: self.varies || other.varies,
            owes: self.owes || other.owes,
            accrues: self.accrues || other.accrues,
        }
    }
}

/// Costs and limits of eight accounts as blocks; element k belongs to account k.
#[derive(Clone, Debug)]
pub struct LaneTerms {
    pub(super) numbers: [Block; TermKind::ALL.len()],
    pub(crate) traits: TermTraits,
}

impl LaneTerms {
    /// Returns the terms that eight accounts share.
    pub(crate) fn shared(costs: &CostModel, limits: &Limits, rates: &Rates) -> Self {
        let numbers = TermKind::ALL.map(|number| [number.of(costs, limits, rates); LANES]);
        Self { numbers, traits: TermTraits::of(costs, limits, rates) }
    }
}
