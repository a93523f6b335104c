//! Whether a track is luck: errors of its Sharpe ratio, and what trials do to it.
//!
//! Ratios are per bar unless a function takes `periods_per_year`, and of excess or active returns as the caller has them.

mod benchmark;
mod calibration;
mod cost_sensitivity;
mod deflated_sharpe;
mod effective_trials;
mod hierarchical_clustering;
mod min_track_record;
pub mod power;
mod rolling_sharpe;
mod sharpe_error;

pub use benchmark::{Regression, Tracking, regress, tracking};
pub use calibration::{Bin, Calibration, Stated, calibrate};
pub use cost_sensitivity::{at_cost, break_even_bps};
pub use deflated_sharpe::{Deflated, Selection, deflate, expected_max, probabilistic_sharpe, z_score};
pub use effective_trials::{MAX_CLUSTERED, Trials, trials};
pub use min_track_record::{min_backtest_years, min_track_record};
pub use rolling_sharpe::{Decay, decay, rolling_error, rolling_sharpe, worst};
pub use sharpe_error::{Hac, default_lags, hac, standard_error};

use crate::{Statistic, Undefined, kurtosis, skew};

/// What the error of a Sharpe ratio depends on, per bar.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Moments {
    /// Returns that the others are of.
    pub n_returns: usize,
    /// Sharpe ratio per bar.
    pub sharpe: f64,
    /// Population skewness.
    pub skew: f64,
    /// Raw population kurtosis: 3 for a normal distribution.
    pub kurtosis: f64,
}

impl Moments {
    /// Returns the moments of excess returns.
    ///
    /// # Errors
    ///
    /// Undefined for fewer than two returns, or returns that do not vary.
    pub fn of(excess: &[f64]) -> Result<Self, Undefined> {
        let sharpe = crate::metrics::moments::sharpe_per_bar(excess)?;
        Ok(Self { n_returns: excess.len(), sharpe, skew: skew(excess)?, kurtosis: kurtosis(excess)? })
    }

    /// Returns the moments of normal returns.
    #[must_use]
    pub fn normal(n_returns: usize, sharpe: f64) -> Self {
        Self { n_returns, sharpe, skew: 0.0, kurtosis: 3.0 }
    }

    /// Returns the variance of the ratio times one less than the number of returns.
    ///
    /// `1 - g3 SR + (g4 - 1) / 4 SR^2`.
    ///
    /// # Errors
    ///
    /// Undefined for fewer than two returns, or where it is not positive.
    ///
    /// Source: Mertens (2002).
    pub fn variance(&self) -> Statistic {
        if self.n_returns < 2 {
            return Err(Undefined::TooShort { required: 2, received: self.n_returns });
        }
        let variance = 1.0 - self.skew * self.sharpe + (self.kurtosis - 1.0) / 4.0 * self.sharpe * self.sharpe;
        if variance > 0.0 && variance.is_finite() { Ok(variance) } else { Err(Undefined::NoPrecision) }
    }

    /// Returns the root of one less than the number of returns.
    fn root(&self) -> f64 {
        (self.n_returns as f64 - 1.0).sqrt()
    }
}

/// Checks that a value is neither NaN nor infinite.
fn finite(value: f64) -> Result<(), Undefined> {
    if value.is_finite() { Ok(()) } else { Err(Undefined::NotFinite) }
}

/// Checks that a year has bars.
fn year(periods_per_year: f64) -> Result<(), Undefined> {
    if periods_per_year > 0.0 && periods_per_year.is_finite() { Ok(()) } else { Err(Undefined::NotAYear) }
}

/// Checks that a value lies inside (0, 1).
pub(crate) fn probability(value: f64) -> Result<(), Undefined> {
    if value > 0.0 && value < 1.0 { Ok(()) } else { Err(Undefined::NotAProbability) }
}
