//! Synthetic markets: what they are like, their keys, and their prices.

mod climate;
mod draws;
mod elementary;
mod factor;
mod key;
mod martingale;
mod nature;
mod normal;
mod spec;
mod stream;
mod tables;
mod tiers;
mod world;

pub use key::Key;
pub use spec::{Family, Jumps, ScenarioSpec, SpecError, Swing};

use crate::dataset::Dataset;
use crate::error::DataError;

/// Days of trading a year.
const DAYS_A_YEAR: f64 = 252.0;

impl ScenarioSpec {
    /// Returns the market of this spec and a key.
    ///
    /// The same spec, version and key give the same bits on every machine.
    ///
    /// # Errors
    ///
    /// Returns an error if the spec cannot be used, or if prices leave the range of a dataset.
    pub fn dataset(&self, key: &Key) -> Result<Dataset, ScenarioError> {
        self.validate()?;
        let columns =
            if self.family == Family::Martingale { martingale::columns(self, key) } else { world::columns(self, key) };
        Ok(Dataset::new(columns)?)
    }
}

/// A scenario that cannot be made.
#[derive(Clone, Debug, thiserror::Error, PartialEq)]
pub enum ScenarioError {
    /// The spec cannot be used.
    #[error(transparent)]
    Spec(#[from] SpecError),
    /// Prices have left the range of a dataset.
    #[error(transparent)]
    Data(#[from] DataError),
}

impl ScenarioError {
    /// Returns the stable name of this error in `contract/errors.json`.
    #[must_use]
    pub fn slug(&self) -> &'static str {
        match self {
            Self::Spec(error) => error.slug(),
            Self::Data(error) => error.slug(),
        }
    }
}
