use pulp::Simd;

use crate::lanes::{LANES, each};
use crate::simd::Vector;
use crate::step::Rules;

/// The rules of eight accounts: one set for all of them, or one each.
#[derive(Clone, Copy, Debug)]
pub enum Whose<'a> {
    /// The same for all.
    One(&'a Rules),
    /// Those of each, by account.
    Each(&'a [&'a Rules; LANES]),
}

impl<'a> Whose<'a> {
    /// Returns the rules of the first account.
    #[inline(always)]
    pub(crate) fn first(self) -> &'a Rules {
        match self {
            Self::One(rules) => rules,
            Self::Each(rules) => rules[0],
        }
    }

    /// Returns a number of the rules for the accounts of vector `index`.
    #[inline(always)]
    pub(crate) fn vector<S: Simd>(self, simd: S, index: usize, value: fn(&Rules) -> f64) -> Vector<S> {
        match self {
            Self::One(rules) => Vector::splat(simd, value(rules)),
            Self::Each(rules) => Vector::new(simd, S::as_simd_f64s(&each(|account| value(rules[account]))).0[index]),
        }
    }

    /// Returns whether something holds for the rules of an account.
    #[inline(always)]
    pub(crate) fn any(self, holds: fn(&Rules) -> bool) -> bool {
        match self {
            Self::One(rules) => holds(rules),
            Self::Each(rules) => rules.iter().any(|rules| holds(rules)),
        }
    }
}
