use pulp::Simd;

use crate::account::cost_tables::CostTables;
use crate::account::costs::{CostModel, MAX_COST};
use crate::account::gross_exposure::GROSS_TOLERANCE;
use crate::account::limits::Limits;
use crate::account::rules::{Rates, Rules};
use crate::vector::lane_sums::{Block, LANES, each};
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
pub(crate) struct TermVectors<S: Simd>([Vector<S>; TermKind::ALL.len()]);

impl<S: Simd> TermVectors<S> {
    #[inline(always)]
    pub(crate) fn get(&self, number: TermKind) -> Vector<S> {
        self.0[number as usize]
    }
}

impl TermKind {
    const ALL: [Self; 13] = [
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
            is_supported: rates.slippage < MAX_COST,
            jitters: costs.slippage_jitter > 0.0,
            varies: rates.impact > 0.0 || is_bound,
            owes: limits.allow_short || is_margined,
            accrues: rates.cash != 0.0 || rates.financing != 0.0,
        }
    }

    fn and(self, other: Self) -> Self {
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
    numbers: [Block; TermKind::ALL.len()],
    pub(crate) traits: TermTraits,
}

impl LaneTerms {
    /// Returns the terms of eight accounts.
    #[must_use]
    pub fn new(rules: &[&Rules; LANES]) -> Self {
        let traits = rules.iter().fold(rules[0].lane_terms.traits, |all, rules| all.and(rules.lane_terms.traits));
        let column = |number| each(|account| rules[account].lane_terms.numbers[number as usize][0]);
        Self { numbers: TermKind::ALL.map(column), traits }
    }

    /// Returns the terms that eight accounts share.
    pub(crate) fn shared(costs: &CostModel, limits: &Limits, rates: &Rates) -> Self {
        let numbers = TermKind::ALL.map(|number| [number.of(costs, limits, rates); LANES]);
        Self { numbers, traits: TermTraits::of(costs, limits, rates) }
    }
}

/// The rules of eight accounts: shared by all, or one set per account.
#[derive(Clone, Copy, Debug)]
pub struct BlockTerms<'a> {
    lane_terms: &'a LaneTerms,
    tables: Option<&'a CostTables>,
}

impl<'a> BlockTerms<'a> {
    /// Returns the view of rules shared by all accounts.
    #[must_use]
    pub fn all(rules: &'a Rules) -> Self {
        Self { lane_terms: &rules.lane_terms, tables: rules.tables.as_deref() }
    }

    /// Returns the view of one set of terms per account.
    #[must_use]
    pub fn each(lane_terms: &'a LaneTerms) -> Self {
        Self { lane_terms, tables: None }
    }

    /// Returns the cost tables of the rules.
    ///
    /// Accounts with different rules have no shared tables.
    #[inline(always)]
    pub(crate) fn tables(self) -> Option<&'a CostTables> {
        self.tables
    }

    #[inline(always)]
    pub(crate) fn traits(self) -> TermTraits {
        self.lane_terms.traits
    }

    /// Returns the terms of the accounts of vector `index`, one element each.
    #[inline(always)]
    pub(crate) fn numbers<S: Simd>(self, simd: S, index: usize) -> TermVectors<S> {
        let mut numbers = [Vector::splat(simd, 0.0); TermKind::ALL.len()];
        for (number, block) in numbers.iter_mut().zip(&self.lane_terms.numbers) {
            *number = Vector::new(simd, S::as_simd_f64s(block).0[index]);
        }
        TermVectors(numbers)
    }

    /// Returns the terms of one account in all elements.
    #[inline(always)]
    pub(crate) fn numbers_of<S: Simd>(self, simd: S, account: usize) -> TermVectors<S> {
        let mut numbers = [Vector::splat(simd, 0.0); TermKind::ALL.len()];
        for (number, block) in numbers.iter_mut().zip(&self.lane_terms.numbers) {
            *number = Vector::splat(simd, block[account]);
        }
        TermVectors(numbers)
    }
}
