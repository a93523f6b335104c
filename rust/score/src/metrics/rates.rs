use crate::error::{Statistic, year};
use crate::metrics::growth::Growth;

/// Returns the product of one plus each return, less one.
///
/// # Errors
///
/// Undefined without returns, or with one below -1.
pub fn total_return(returns: &[f64]) -> Statistic {
    Ok(Growth::of(returns)?.total_return())
}

/// Returns the compound annual growth rate.
///
/// # Errors
///
/// Undefined without returns, with one below -1, over less than a month, without a known number of bars per year, or
/// beyond the range of f64.
pub fn cagr(returns: &[f64], periods_per_year: f64) -> Statistic {
    Growth::of(returns)?.cagr(periods_per_year)
}

/// Returns the annual rate of a quantity per bar, such as turnover or cost.
///
/// # Errors
///
/// Undefined without values, or without a known number of bars per year.
pub fn annual_mean(per_bar: &[f64], periods_per_year: f64) -> Statistic {
    annual(crate::mean(per_bar), periods_per_year)
}

/// Returns the annual rate of a mean per bar.
pub(crate) fn annual(mean: Statistic, periods_per_year: f64) -> Statistic {
    let mean = mean?;
    year(periods_per_year)?;
    Ok(mean * periods_per_year)
}

/// Returns the amount of each bar as a share of the NAV before it.
///
/// It is 0 after a termination.
///
/// # Panics
///
/// Panics unless there is one NAV more than there are amounts.
#[must_use]
pub fn share_of_nav(amounts: &[f64], nav: &[f64]) -> Vec<f64> {
    assert_eq!(amounts.len() + 1, nav.len(), "one NAV before each amount, and one after the last");
    amounts.iter().zip(nav).map(|(amount, nav)| if *nav == 0.0 { 0.0 } else { amount / nav }).collect()
}

/// Returns the return per bar that compounds to `annual` in a year.
#[must_use]
pub fn per_bar_rate(annual: f64, periods_per_year: f64) -> f64 {
    libm::pow(1.0 + annual, 1.0 / periods_per_year) - 1.0
}

/// Returns each return less the risk-free return of its bar.
///
/// Without risk-free returns, the returns are unchanged.
///
/// # Panics
///
/// Panics if the lengths differ.
#[must_use]
pub fn excess(returns: &[f64], risk_free: Option<&[f64]>) -> Vec<f64> {
    match risk_free {
        None => returns.to_vec(),
        Some(rates) => {
            assert_eq!(returns.len(), rates.len(), "one risk-free return per return");
            returns.iter().zip(rates).map(|(r, rate)| r - rate).collect()
        }
    }
}
