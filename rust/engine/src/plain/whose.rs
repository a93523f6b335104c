//! Whose rules a vector of accounts is under: one set for all of them, or one each.

use pulp::Simd;

use crate::lanes::{LANES, each};
use crate::simd::Vector;
use crate::step::Rules;

/// The rules of the accounts that are the elements of a vector.
#[derive(Clone, Copy)]
pub(crate) enum Whose<'a> {
    One(&'a Rules),
    /// Those of eight accounts, and which of their vectors is meant.
    Each(&'a [&'a Rules; LANES], usize),
}

impl<'a> Whose<'a> {
    /// Returns the rules of the vector `index` of eight accounts.
    #[inline(always)]
    pub(crate) fn of(rules: &'a [&'a Rules; LANES], index: usize) -> Self {
        if alike(rules) { Self::One(rules[0]) } else { Self::Each(rules, index) }
    }

    /// Returns a number of the rules, account by account.
    #[inline(always)]
    pub(crate) fn vector<S: Simd>(self, simd: S, value: fn(&Rules) -> f64) -> Vector<S> {
        match self {
            Self::One(rules) => Vector::splat(simd, value(rules)),
            Self::Each(rules, index) => {
                Vector::new(simd, S::as_simd_f64s(&each(|account| value(rules[account]))).0[index])
            }
        }
    }

    /// Returns whether something holds for the rules of an account.
    #[inline(always)]
    pub(crate) fn any(self, holds: fn(&Rules) -> bool) -> bool {
        match self {
            Self::One(rules) => holds(rules),
            Self::Each(rules, _) => rules.iter().any(|rules| holds(rules)),
        }
    }
}

/// Returns whether accounts share their rules.
#[inline(always)]
pub(crate) fn alike(rules: &[&Rules; LANES]) -> bool {
    rules.iter().all(|other| std::ptr::eq(*other, rules[0]))
}
