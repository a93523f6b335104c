use crate::bootstrap::error::{BadSetup, TestError};
use crate::error::Undefined;

/// The largest number of resamples.
pub(crate) const MAX_DRAWS: usize = 10_000_000;

/// Settings of a resampling.
#[derive(Clone, Copy, Debug)]
pub struct Draws {
    /// Number of resamples.
    pub n: usize,
    /// Seed of all draws.
    pub seed: u64,
    /// Mean block length in days; estimated if absent.
    pub block_length: Option<f64>,
}

impl Draws {
    /// Returns the block length in the settings, or the estimate.
    pub(crate) fn length(
        &self,
        n_days: usize,
        estimate: impl FnOnce() -> Result<f64, Undefined>,
    ) -> Result<f64, TestError> {
        let most = n_days as f64;
        match self.block_length {
            Some(length) if (1.0..=most).contains(&length) => Ok(length),
            Some(received) => Err(BadSetup::BlockLength { n_days, received }.into()),
            None => Ok(estimate()?.clamp(1.0, most)),
        }
    }

    /// Checks the number of draws.
    pub(crate) fn check(&self, least: usize) -> Result<(), TestError> {
        if (least..=MAX_DRAWS).contains(&self.n) {
            return Ok(());
        }
        Err(BadSetup::Count { least, most: MAX_DRAWS, received: self.n }.into())
    }
}

/// Checks a level in (0, 1) and a number of bars per year.
pub(crate) fn check_year_and_level(periods_per_year: f64, level: f64) -> Result<(), TestError> {
    if !periods_per_year.is_finite() || periods_per_year <= 0.0 {
        return Err(BadSetup::Periods { received: periods_per_year }.into());
    }
    if level > 0.0 && level < 1.0 { Ok(()) } else { Err(BadSetup::Level { received: level }.into()) }
}
