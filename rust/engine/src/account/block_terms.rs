use pulp::Simd;

use crate::account::cost_tables::CostTables;
use crate::account::lane_terms::{LaneTerms, TermKind, TermTraits, TermVectors};
use crate::account::rules::Rules;
use crate::vector::lane_sums::{LANES, each};
use crate::vector::simd::Vector;

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

impl LaneTerms {
    /// Returns the terms of eight accounts.
    #[must_use]
    pub fn new(rules: &[&Rules; LANES]) -> Self {
        let traits = rules.iter().fold(rules[0].lane_terms.traits, |all, rules| all.and(rules.lane_terms.traits));
        let column = |number| each(|account| rules[account].lane_terms.numbers[number as usize][0]);
        Self { numbers: TermKind::ALL.map(column), traits }
    }
}
