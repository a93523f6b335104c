use pulp::Simd;

use crate::costs::CostModel;
use crate::execution::MAX_COST;
use crate::lanes::{Block, LANES, each};
use crate::limits::Limits;
use crate::simd::Vector;
use crate::sizing::GROSS_TOLERANCE;
use crate::step::{Rates, Rules};
use crate::tables::Tables;

/// A number of the rules that a step reads.
#[derive(Clone, Copy)]
pub(crate) enum Number {
    MaxWeight,
    Lowest,
    Slippage,
    Impact,
    Capital,
    /// A rounding below the largest participation.
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
    Margin,
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

    #[inline(always)]
    fn of(self, rules: &Rules) -> f64 {
        let (limits, rates) = (rules.limits(), &rules.rates);
        match self {
            Self::MaxWeight => limits.max_weight,
            Self::Lowest => rules.lowest_weight(),
            Self::Slippage => rates.slippage,
            Self::Impact => rates.impact,
            Self::Capital => rules.costs().capital,
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
    pub(crate) is_bound: bool,
    pub(crate) is_margined: bool,
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
            is_bound,
            is_margined,
            accrues: rates.cash != 0.0 || rates.financing != 0.0,
        }
    }

    fn and(self, other: Self) -> Self {
        Self {
            is_plain: self.is_plain && other.is_plain,
            jitters: self.jitters || other.jitters,
            varies: self.varies || other.varies,
            owes: self.owes || other.owes,
            is_bound: self.is_bound || other.is_bound,
            is_margined: self.is_margined || other.is_margined,
            accrues: self.accrues || other.accrues,
        }
    }
}

/// The rules of eight accounts, number by number: element k is account k's.
#[derive(Clone, Debug)]
pub struct Tariff {
    numbers: [Block; Number::ALL.len()],
    traits: Traits,
}

impl Tariff {
    /// Returns the rules of eight accounts, laid out for a step.
    #[must_use]
    pub fn new(rules: &[&Rules; LANES]) -> Self {
        let traits = rules.iter().fold(rules[0].traits, |all, rules| all.and(rules.traits));
        Self { numbers: Number::ALL.map(|number| each(|account| number.of(rules[account]))), traits }
    }
}

/// The rules of eight accounts: one set for all of them, or one each.
#[derive(Clone, Copy, Debug)]
pub enum Whose<'a> {
    /// The same for all.
    One(&'a Rules),
    /// Those of each, by account.
    Each(&'a Tariff),
    /// Those of one of them, as of all.
    Of(&'a Tariff, usize),
}

impl Whose<'_> {
    /// Returns what the rules come to in each bar; accounts whose rules differ share no such tables.
    #[inline(always)]
    pub(crate) fn tables(&self) -> Option<&Tables> {
        match self {
            Self::One(rules) => rules.tables.as_deref(),
            _ => None,
        }
    }

    #[inline(always)]
    pub(crate) fn traits(self) -> Traits {
        match self {
            Self::One(rules) => rules.traits,
            Self::Each(tariff) | Self::Of(tariff, _) => tariff.traits,
        }
    }

    /// Returns a number of the rules for the accounts of vector `index`.
    #[inline(always)]
    pub(crate) fn vector<S: Simd>(self, simd: S, index: usize, number: Number) -> Vector<S> {
        match self {
            Self::One(rules) => Vector::splat(simd, number.of(rules)),
            Self::Each(tariff) => Vector::new(simd, S::as_simd_f64s(&tariff.numbers[number as usize]).0[index]),
            Self::Of(tariff, account) => Vector::splat(simd, tariff.numbers[number as usize][account]),
        }
    }

    /// Returns the rules of one account.
    #[inline(always)]
    pub(crate) fn of(self, account: usize) -> Self {
        match self {
            Self::Each(tariff) => Self::Of(tariff, account),
            shared => shared,
        }
    }
}
