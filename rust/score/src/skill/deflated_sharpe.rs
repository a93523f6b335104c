use std::f64::consts::E;

use crate::error::{Statistic, Undefined, finite};
use crate::metrics::moments::Moments;
use crate::normal_distribution;
use crate::skill::Trials;

/// The constant of Euler and Mascheroni.
const GAMMA: f64 = 0.577_215_664_901_532_9;

/// Returns how far a Sharpe ratio lies above another, in its standard errors.
///
/// `(SR - SR*) sqrt(T - 1) / sqrt(1 - g3 SR + (g4 - 1) / 4 SR^2)`, per bar. It ranks: the probability of it is 1 in a
/// double from 8.3 on.
///
/// # Errors
///
/// Undefined for fewer than two returns, a benchmark that is not finite, or where the variance is not positive.
pub fn z_score(moments: &Moments, benchmark: f64) -> Statistic {
    finite(benchmark)?;
    Ok((moments.sharpe - benchmark) * moments.root() / moments.variance()?.sqrt())
}

/// Returns the probability that the true ratio per bar is above `benchmark`.
///
/// # Errors
///
/// Undefined where [`z_score`] is.
///
/// Source: Bailey and Lopez de Prado (2012).
pub fn probabilistic_sharpe(moments: &Moments, benchmark: f64) -> Statistic {
    Ok(normal_distribution::cdf(z_score(moments, benchmark)?))
}

/// Returns the best of many ratios without skill, expected, in their deviations.
///
/// `(1 - g) Z(1 - 1/N) + g Z(1 - 1/(N e))`, g the constant of Euler; 0 for one trial, which is not the best of any.
///
/// Source: Bailey and Lopez de Prado (2014).
#[must_use]
pub fn expected_max(n_trials: u64) -> f64 {
    if n_trials < 2 {
        return 0.0;
    }
    // The upper tail by symmetry: 1 - 1/N would round away the digits of 1/N.
    let n = n_trials as f64;
    -(1.0 - GAMMA) * normal_distribution::quantile(1.0 / n) - GAMMA * normal_distribution::quantile(1.0 / (n * E))
}

/// Out of how many trials a track was chosen, and how far apart they lay.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Selection {
    /// Trials that were made, each copy counted.
    pub n_trials: u64,
    /// Returns of every trial.
    pub n_returns: usize,
    /// Standard deviation of the Sharpe ratios per bar of the trials, if it is known.
    pub spread: Option<f64>,
    /// Clusters of trials, if they are known; reported only.
    pub n_eff: Option<usize>,
}

impl Selection {
    /// Returns the selection out of a number of trials of which nothing else is known.
    #[must_use]
    pub fn counted(n_trials: u64, n_returns: usize) -> Self {
        Self { n_trials, n_returns, spread: None, n_eff: None }
    }

    /// Returns the selection out of a ledger and of what was declared beside it.
    ///
    /// Declared trials add to those counted, and can take nothing away.
    #[must_use]
    pub fn of(ledger: &Trials, declared: u64) -> Self {
        Self {
            n_trials: (ledger.n_trials as u64).saturating_add(declared),
            n_returns: ledger.n_returns,
            spread: ledger.spread.ok(),
            n_eff: ledger.n_eff.ok(),
        }
    }

    /// Returns the deviation of ratios that selection is made among, per bar.
    ///
    /// Never below that of tracks without skill, `1 / sqrt(T - 1)`: copies would make it as small as one likes.
    #[must_use]
    pub fn sigma(&self) -> f64 {
        let floor = 1.0 / (self.n_returns as f64 - 1.0).sqrt();
        self.spread.map_or(floor, |spread| spread.max(floor))
    }
}

/// A deflated Sharpe ratio with everything that it was made of, per bar.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Deflated {
    /// Trials counted.
    pub n_trials: u64,
    /// Clusters of trials, if they are known.
    pub n_eff: Option<usize>,
    /// Deviation of the ratios of trials.
    pub sigma: f64,
    /// Ratio that the best of the trials is expected to show without skill.
    pub sr0: f64,
    /// The track's own moments.
    pub moments: Moments,
    /// Probability that the true ratio is above 0.
    pub psr: f64,
    /// Probability that the true ratio is above `sr0`.
    pub dsr: f64,
    /// Standard errors between the ratio and `sr0`: what ranks.
    pub z: f64,
}

/// Returns the probability that a ratio is more than the luck of its trials.
///
/// # Errors
///
/// Undefined where the trials have another number of returns than the track, a spread that is none, fewer than two
/// returns, or a variance that is not positive.
///
/// Source: Bailey and Lopez de Prado (2014).
pub fn deflate(moments: &Moments, selection: &Selection) -> Result<Deflated, Undefined> {
    let (required, received) = (moments.n_returns, selection.n_returns);
    if required != received {
        return Err(Undefined::UnequalLengths { required, received });
    }
    if selection.spread.is_some_and(|spread| !(0.0..f64::INFINITY).contains(&spread)) {
        return Err(Undefined::NotAReturn);
    }
    let psr = probabilistic_sharpe(moments, 0.0)?;
    let sigma = selection.sigma();
    let sr0 = sigma * expected_max(selection.n_trials);
    let z = z_score(moments, sr0)?;
    let Selection { n_trials, n_eff, .. } = *selection;
    Ok(Deflated { n_trials, n_eff, sigma, sr0, moments: *moments, psr, dsr: normal_distribution::cdf(z), z })
}
