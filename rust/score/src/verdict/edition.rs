//! Editions of the scorer: the benchmarks and gates that decide a verdict.

use serde::Deserialize;

/// An edition of the scorer.
///
/// A board of one edition is recomputed to the bit by that edition.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(try_from = "u64")]
pub enum Edition {
    /// Buy-and-hold and cash decide.
    ///
    /// The edition of configurations without one, which are older.
    #[default]
    First,
    /// Equal parts, kept by rebalancing, and the best passive mix decide too.
    Second,
    /// The passive mix of earlier returns, at constant risk, decides too.
    Third,
}

impl Edition {
    /// Returns the number of the edition.
    #[must_use]
    pub fn number(self) -> u64 {
        match self {
            Self::First => 1,
            Self::Second => 2,
            Self::Third => 3,
        }
    }
}

impl TryFrom<u64> for Edition {
    type Error = String;

    fn try_from(number: u64) -> Result<Self, String> {
        let known = [Self::First, Self::Second, Self::Third].into_iter().find(|edition| edition.number() == number);
        known.ok_or_else(|| format!("`edition` of {number}, expected 1, 2 or 3"))
    }
}
