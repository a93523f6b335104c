use super::{Panel, edges};
use crate::error::Undefined;
use crate::is_riskless;
use crate::metrics::moments::{mean, standard_deviation};

/// Returns the optimal mean block length for the means of a panel.
///
/// It minimizes the mean squared error of the variance of the mean, with autocovariances up to the lag after which they
/// are noise. Days of different windows form no pair.
///
/// # Errors
///
/// Undefined for fewer than 12 days, or constant returns.
///
/// Source: Politis and White (2004), corrected by Patton, Politis and White (2009).
pub fn block_length(panel: &Panel<'_>) -> Result<f64, Undefined> {
    let mut total = 0.0;
    for agent in 0..panel.n_agents() {
        total += of_series(&panel.column(agent), panel.windows())?;
    }
    Ok(total / panel.n_agents() as f64)
}

/// Returns the optimal mean block length for the Sharpe ratios of a panel.
///
/// Each series is replaced by the influence of its days on the Sharpe ratio; see [`block_length`].
///
/// # Errors
///
/// Undefined for fewer than 12 days, or constant returns.
pub fn sharpe_block_length(panel: &Panel<'_>) -> Result<f64, Undefined> {
    let mut total = 0.0;
    for agent in 0..panel.n_agents() {
        total += of_series(&influence(&panel.column(agent))?, panel.windows())?;
    }
    Ok(total / panel.n_agents() as f64)
}

/// Returns the influence of each day on the Sharpe ratio per day, to first order.
///
/// Its mean is 0.
pub(crate) fn influence(returns: &[f64]) -> Result<Vec<f64>, Undefined> {
    let (centre, n) = (mean(returns)?, returns.len() as f64);
    let deviation = standard_deviation(returns)? * ((n - 1.0) / n).sqrt();
    let ratio = centre / deviation;
    Ok(returns.iter().map(|r| (r - centre) / deviation).map(|z| z - ratio / 2.0 * (z * z - 1.0)).collect())
}

fn of_series(series: &[f64], windows: &[usize]) -> Result<f64, Undefined> {
    let (centre, n) = (mean(series)?, series.len() as f64);
    if series.len() < MIN_DAYS {
        return Err(Undefined::TooShort { required: MIN_DAYS, received: series.len() });
    }
    if is_riskless(series) {
        return Err(Undefined::NoVariation);
    }
    let deviations: Vec<f64> = series.iter().map(|value| value - centre).collect();
    #[expect(clippy::cast_sign_loss, reason = "of at least 12 days")]
    let quiet = (libm::log10(n) as usize).max(5);
    #[expect(clippy::cast_sign_loss, reason = "a root")]
    let most = n.sqrt().ceil() as usize + quiet;
    let (covariances, correlations) = lags(&deviations, windows, most);
    let band = 2.0 * (libm::log10(n) / n).sqrt();
    let first = (0..=most - quiet).find(|lag| correlations[*lag..lag + quiet].iter().all(|value| *value < band));
    let last = first.map_or(most, |lag| most.min(2 * lag.max(1)));
    let (mut slope, mut level) = (0.0, covariances[0]);
    for (lag, covariance) in covariances.iter().enumerate().take(last + 1).skip(1) {
        let weight = (2.0 * (1.0 - lag as f64 / last as f64)).min(1.0);
        slope += 2.0 * weight * lag as f64 * covariance;
        level += 2.0 * weight * covariance;
    }
    let longest = (3.0 * n.sqrt()).min(n / 3.0).ceil();
    Ok(libm::cbrt(slope * slope / (level * level) * n).min(longest))
}

/// The smallest number of days with enough lags.
const MIN_DAYS: usize = 12;

/// Returns autocovariances and absolute autocorrelations at lags from 0 to `most`.
fn lags(deviations: &[f64], windows: &[usize], most: usize) -> (Vec<f64>, Vec<f64>) {
    let square = |days: &[f64]| dot(days, days);
    let of_lag = |lag: usize| {
        let (mut product, mut later, mut earlier) = (0.0, 0.0, 0.0);
        for (from, to) in edges(windows).filter(|(from, to)| to - from > lag) {
            product += dot(&deviations[from + lag..to], &deviations[from..to - lag]);
            later += square(&deviations[from + lag + 1..to]);
            earlier += square(&deviations[from..to - lag - 1]);
        }
        let scale = (later * earlier).sqrt();
        (product / deviations.len() as f64, if scale > 0.0 { product.abs() / scale } else { 0.0 })
    };
    (0..=most).map(of_lag).unzip()
}

fn dot(these: &[f64], those: &[f64]) -> f64 {
    these.iter().zip(those).map(|(a, b)| a * b).sum()
}
