use std::f64::consts::E;

use crate::error::{Statistic, Undefined, finite};
use crate::metrics::moments::Moments;
use crate::normal_distribution;
use crate::skill::Trials;

/// The Euler-Mascheroni constant.
const GAMMA: f64 = 0.577_215_664_901_532_9;

/// Returns the excess of a Sharpe ratio over a benchmark in standard errors.
///
/// `(SR - SR*) sqrt(T - 1) / sqrt(1 - g3 SR + (g4 - 1) / 4 SR^2)`, per bar. Use it for ranking: its probability rounds
/// to 1 in a double from 8.3 on.
///
/// # Errors
///
/// Undefined for fewer than two returns, a benchmark that is not finite, or a variance that is not positive.
pub fn z_score(moments: &Moments, benchmark: f64) -> Statistic {
    finite(benchmark)?;
    Ok((moments.sharpe - benchmark) * moments.root() / moments.variance()?.sqrt())
}

/// Returns the probability that the true ratio per bar is above `benchmark`.
///
/// # Errors
///
/// Undefined if [`z_score`] is.
///
/// Source: Bailey and Lopez de Prado (2012).
pub fn probabilistic_sharpe(moments: &Moments, benchmark: f64) -> Statistic {
    Ok(normal_distribution::cdf(z_score(moments, benchmark)?))
}

/// Returns the expected maximum of many ratios without skill, in their deviations.
///
/// `(1 - g) Z(1 - 1/N) + g Z(1 - 1/(N e))`, g the Euler-Mascheroni constant; 0 for one trial, which involves no
/// selection.
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

/// The selection of a track: number of trials, and spread of their ratios.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Selection {
    /// Number of trials, including copies.
    pub n_trials: u64,
    /// Returns of every trial.
    pub n_returns: usize,
    /// Standard deviation of the Sharpe ratios per bar of the trials, if known.
    pub spread: Option<f64>,
    /// Clusters of trials, if known; for information only.
    pub n_eff: Option<usize>,
}

impl Selection {
    /// Returns the selection among a number of trials without further knowledge.
    #[must_use]
    pub fn counted(n_trials: u64, n_returns: usize) -> Self {
        Self { n_trials, n_returns, spread: None, n_eff: None }
    }

    /// Returns the selection among the trials of a ledger and declared trials.
    ///
    /// Declared trials are added to the counted ones and cannot reduce them.
    #[must_use]
    pub fn of(ledger: &Trials, declared: u64) -> Self {
        Self {
            n_trials: (ledger.n_trials as u64).saturating_add(declared),
            n_returns: ledger.n_returns,
            spread: ledger.spread.ok(),
            n_eff: ledger.n_eff.ok(),
        }
    }

    /// Returns the standard deviation of ratios for the selection, per bar.
    ///
    /// It is at least that of tracks without skill, `1 / sqrt(T - 1)`: copies could make it arbitrarily small.
    #[must_use]
    pub fn sigma(&self) -> f64 {
        let floor = 1.0 / (self.n_returns as f64 - 1.0).sqrt();
        self.spread.map_or(floor, |spread| spread.max(floor))
    }
}

/// A deflated Sharpe ratio with all of its inputs, per bar.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Deflated {
    /// Trials counted.
    pub n_trials: u64,
    /// Clusters of trials, if known.
    pub n_eff: Option<usize>,
    /// Standard deviation of the ratios of trials.
    pub sigma: f64,
    /// Expected maximum ratio of the trials without skill.
    pub sr0: f64,
    /// Moments of the track.
    pub moments: Moments,
    /// Probability that the true ratio is above 0.
    pub psr: f64,
    /// Probability that the true ratio is above `sr0`.
    pub dsr: f64,
    /// Excess of the ratio over `sr0` in standard errors, the ranking value.
    pub z: f64,
}

/// Returns the deflated Sharpe ratio: the probability of skill beyond selection.
///
/// # Errors
///
/// Undefined if the trials have another number of returns than the track, for an invalid spread, fewer than two
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
