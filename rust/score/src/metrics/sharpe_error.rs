use crate::error::{Statistic, Undefined, year};
use crate::metrics::lagged_products::LaggedProducts;
use crate::metrics::moments::{Moments, mean};

/// Returns the standard error of the annual Sharpe ratio.
///
/// It accounts for skew and kurtosis.
///
/// `sqrt(ppy (1 - g3 SR + (g4 - 1) / 4 SR^2) / (T - 1))`, SR per bar.
///
/// # Errors
///
/// Undefined if the Sharpe ratio is, or for a variance that is not positive.
///
/// Source: Mertens (2002); Bailey and Lopez de Prado (2012).
pub fn sharpe_standard_error(excess: &[f64], periods_per_year: f64) -> Statistic {
    standard_error(&Moments::of(excess)?, periods_per_year)
}

/// Returns the standard error of the annual Sharpe ratio of given moments.
///
/// `sqrt(ppy (1 - g3 SR + (g4 - 1) / 4 SR^2) / (T - 1))`, SR per bar.
///
/// # Errors
///
/// Undefined for fewer than two returns, an invalid number of bars per year, or a variance that is not positive.
///
/// Source: Mertens (2002); Bailey and Lopez de Prado (2012).
pub fn standard_error(moments: &Moments, periods_per_year: f64) -> Statistic {
    year(periods_per_year)?;
    Ok((periods_per_year * moments.variance()? / (moments.n_returns as f64 - 1.0)).sqrt())
}

/// A standard error of a Sharpe ratio that is robust to autocorrelation (HAC).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hac {
    /// Standard error of the annual Sharpe ratio.
    pub standard_error: f64,
    /// Number of lags.
    pub lags: usize,
    /// First autocorrelation of the returns.
    pub autocorrelation: f64,
}

/// Returns the default number of lags.
///
/// The whole part of `4 (T / 100)^(2/9)`.
///
/// Source: Newey and West (1994).
#[must_use]
pub fn default_lags(n_returns: usize) -> usize {
    let rule = 4.0 * libm::pow(n_returns as f64 / 100.0, 2.0 / 9.0);
    #[expect(clippy::cast_sign_loss, reason = "a power of a ratio above 0")]
    let lags = rule as usize;
    lags.min(n_returns.saturating_sub(1))
}

/// Returns the standard error of the annual Sharpe ratio under autocorrelation.
///
/// It is the long-run variance, with Bartlett weights, of the influence of each return on the ratio: `z - SR / 2 (z^2 -
/// 1)`, z the standardised return. Without lags it is [`standard_error`].
///
/// # Errors
///
/// Undefined if the Sharpe ratio is, for as many lags as returns, an invalid number of bars per year, or a variance
/// that is not positive.
///
/// Source: Lo (2002), with the weights of Newey and West (1987).
pub fn hac(excess: &[f64], periods_per_year: f64, lags: usize) -> Result<Hac, Undefined> {
    year(periods_per_year)?;
    let moments = Moments::of(excess)?;
    let n = moments.n_returns as f64;
    if lags >= moments.n_returns {
        return Err(Undefined::TooShort { required: lags + 1, received: moments.n_returns });
    }
    let mean = mean(excess)?;
    let deviation = (excess.iter().map(|r| (r - mean) * (r - mean)).sum::<f64>() / n).sqrt();
    let standard = |r: &f64| (r - mean) / deviation;
    let part = |r: &f64| {
        let z = standard(r);
        z - 0.5 * moments.sharpe * (z * z - 1.0)
    };
    let parts = products(excess, lags, part);
    let weighted = (1..=lags).map(|lag| 2.0 * (1.0 - lag as f64 / (lags + 1) as f64) * parts.sums()[lag]);
    let variance = (parts.sums()[0] + weighted.sum::<f64>()) / n;
    if variance <= 0.0 {
        return Err(Undefined::NoPrecision);
    }
    let standard_error = (periods_per_year * variance / (n - 1.0)).sqrt();
    Ok(Hac { standard_error, lags, autocorrelation: products(excess, 1, standard).sums()[1] / n })
}

/// Returns the sums of products of a function of each value.
fn products(values: &[f64], lags: usize, of: impl Fn(&f64) -> f64) -> LaggedProducts {
    LaggedProducts::of(values.len(), lags, |rows, found| {
        found.clear();
        found.extend(values[rows].iter().map(&of));
    })
}
