use crate::error::{Statistic, Undefined, finite, probability};
use crate::metrics::moments::Moments;
use crate::normal_distribution;
use crate::skill::expected_max;

/// Returns the minimum track record length for a Sharpe ratio above a benchmark.
///
/// `1 + (1 - g3 SR + (g4 - 1) / 4 SR^2) (Z / (SR - SR*))^2`, per bar; `moments.n_returns` is not used. It is not a
/// whole number: round it up. At a confidence of at most one half it is 1.
///
/// # Errors
///
/// Undefined unless the ratio is above a finite `benchmark` and `confidence` is in (0, 1), or for a variance that is
/// not positive.
///
/// Source: Bailey and Lopez de Prado (2012).
pub fn min_track_record(moments: &Moments, benchmark: f64, confidence: f64) -> Statistic {
    probability(confidence)?;
    finite(benchmark)?;
    // This form refuses NaN too.
    if !matches!(moments.sharpe.partial_cmp(&benchmark), Some(std::cmp::Ordering::Greater)) {
        return Err(Undefined::NotAbove);
    }
    let variance = Moments { n_returns: 2, ..*moments }.variance()?;
    let errors = normal_distribution::quantile(confidence).max(0.0) / (moments.sharpe - benchmark);
    Ok(1.0 + variance * errors * errors)
}

/// Returns the minimum backtest length in years for the best of many trials.
///
/// `(E[max of N] / SR)^2`, with an annual `sharpe`; 0 for one trial.
///
/// # Errors
///
/// Undefined unless the ratio is finite and above 0.
///
/// Source: Bailey, Borwein, Lopez de Prado and Zhu (2014).
pub fn min_backtest_years(n_trials: u64, sharpe: f64) -> Statistic {
    finite(sharpe)?;
    if sharpe <= 0.0 {
        return Err(Undefined::NotAbove);
    }
    let errors = expected_max(n_trials) / sharpe;
    Ok(errors * errors)
}
