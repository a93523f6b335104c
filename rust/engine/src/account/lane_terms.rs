use pulp::Simd;

use crate::account::cost_tables::Tables;
use crate::account::costs::{CostModel, MAX_COST};
use crate::account::gross_exposure::GROSS_TOLERANCE;
use crate::account::limits::Limits;
use crate::account::rules::{Rates, Rules};
use crate::vector::lane_sums::{Block, LANES, each};
use crate::vector::simd::Vector;

/// A number of the rules that a step reads.
#[derive(Clone, Copy)]
pub(crate) enum Number {
    MaxWeight,
    Lowest,
    Slippage,
    Impact,
    Capital,
    /// A rounding below the largest participation, infinite where there is no bound.
    ///
    /// What is within a rounding of the bound is measured again by step 9 itself.
    Most,
    Fee,
    Cash,
    Financing,
    Borrow,
    MaxGross,
    /// The gross exposure from which on it is too much.
    MostGross,
    /// 0 where there is none to maintain.
    Margin,
}

/// Every [`Number`] of some accounts, in the order of [`Number::ALL`].
#[derive(Clone, Copy)]
pub(crate) struct Numbers<S: Simd>([Vector<S>; Number::ALL.len()]);

impl<S: Simd> Numbers<S> {
    #[inline(always)]
    pub(crate) fn get(&self, number: Number) -> Vector<S> {
        self.0[number as usize]
    }
}

impl Number {
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

/// What the rules of some accounts have to do with.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a question of its own")]
pub(crate) struct Traits {
    /// Whether a step of them can be plain, if it need not look at a table of jitter.
    pub(crate) is_plain: bool,
    pub(crate) jitters: bool,
    /// Whether the cost of a fill depends on its size.
    pub(crate) varies: bool,
    /// Whether an account can be short, or called.
    pub(crate) owes: bool,
    /// Whether cash earns or costs anything.
    pub(crate) accrues: bool,
}

impl Traits {
    pub(crate) fn of(costs: &CostModel, limits: &Limits, rates: &Rates) -> Self {
        let (is_bound, is_margined) = (limits.max_participation.is_some(), limits.maintenance_margin > 0.0);
        Self {
            is_plain: rates.slippage < MAX_COST,
            jitters: costs.slippage_jitter > 0.0,
            varies: rates.impact > 0.0 || is_bound,
            owes: limits.allow_short || is_margined,
            accrues: rates.cash != 0.0 || rates.financing != 0.0,
        }
    }

    fn and(self, other: Self) -> Self {
        Self {
            is_plain: self.is_plain && other.is_plain,
            jitters: self.jitters || other.jitters,
            varies: self.varies || other.varies,
            owes: self.owes || other.owes,
            accrues: self.accrues || other.accrues,
        }
    }
}

/// The rules of eight accounts, number by number: element k is account k's.
#[derive(Clone, Debug)]
pub struct Tariff {
    numbers: [Block; Number::ALL.len()],
    pub(crate) traits: Traits,
}

impl Tariff {
    /// Returns the rules of eight accounts, laid out for a step.
    #[must_use]
    pub fn new(rules: &[&Rules; LANES]) -> Self {
        let traits = rules.iter().fold(rules[0].tariff.traits, |all, rules| all.and(rules.tariff.traits));
        let column = |number| each(|account| rules[account].tariff.numbers[number as usize][0]);
        Self { numbers: Number::ALL.map(column), traits }
    }

    /// Returns the rules that eight accounts share.
    pub(crate) fn shared(costs: &CostModel, limits: &Limits, rates: &Rates) -> Self {
        let numbers = Number::ALL.map(|number| [number.of(costs, limits, rates); LANES]);
        Self { numbers, traits: Traits::of(costs, limits, rates) }
    }
}

/// The rules of eight accounts: one set for all of them, or one each.
#[derive(Clone, Copy, Debug)]
pub struct Whose<'a> {
    tariff: &'a Tariff,
    tables: Option<&'a Tables>,
}

impl<'a> Whose<'a> {
    /// Returns the same rules for all.
    #[must_use]
    pub fn all(rules: &'a Rules) -> Self {
        Self { tariff: &rules.tariff, tables: rules.tables.as_deref() }
    }

    /// Returns those of each, by account.
    #[must_use]
    pub fn each(tariff: &'a Tariff) -> Self {
        Self { tariff, tables: None }
    }

    /// Returns what the rules come to in each bar.
    ///
    /// Accounts whose rules differ share no such tables.
    #[inline(always)]
    pub(crate) fn tables(self) -> Option<&'a Tables> {
        self.tables
    }

    #[inline(always)]
    pub(crate) fn traits(self) -> Traits {
        self.tariff.traits
    }

    /// Returns the numbers of the accounts of vector `index`, an element each.
    #[inline(always)]
    pub(crate) fn numbers<S: Simd>(self, simd: S, index: usize) -> Numbers<S> {
        let mut numbers = [Vector::splat(simd, 0.0); Number::ALL.len()];
        for (number, block) in numbers.iter_mut().zip(&self.tariff.numbers) {
            *number = Vector::new(simd, S::as_simd_f64s(block).0[index]);
        }
        Numbers(numbers)
    }

    /// Returns the numbers of one account, in all elements.
    #[inline(always)]
    pub(crate) fn numbers_of<S: Simd>(self, simd: S, account: usize) -> Numbers<S> {
        let mut numbers = [Vector::splat(simd, 0.0); Number::ALL.len()];
        for (number, block) in numbers.iter_mut().zip(&self.tariff.numbers) {
            *number = Vector::splat(simd, block[account]);
        }
        Numbers(numbers)
    }
}
