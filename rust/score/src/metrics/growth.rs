use crate::error::{Statistic, Undefined, check, finite, year};

/// Months of a year.
const MONTHS: f64 = 12.0;

/// Growth of equity from 1 over at least one return, and its deepest drawdown.
///
/// One pass computes both: its time is that of the product.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Growth {
    n_returns: usize,
    equity: f64,
    deepest: f64,
}

impl Growth {
    /// Returns the growth of returns.
    ///
    /// # Errors
    ///
    /// Undefined without returns, or with one below -1.
    pub(crate) fn of(returns: &[f64]) -> Result<Self, Undefined> {
        check(returns, 1)?;
        if returns.iter().any(|r| *r < -1.0) {
            return Err(Undefined::NotAReturn);
        }
        let (mut equity, mut peak, mut deepest) = (1.0_f64, 1.0_f64, 0.0_f64);
        for r in returns {
            equity *= 1.0 + r;
            peak = peak.max(equity);
            deepest = deepest.min(equity / peak - 1.0);
        }
        Ok(Self { n_returns: returns.len(), equity, deepest })
    }

    pub(crate) fn total_return(&self) -> f64 {
        self.equity - 1.0
    }

    /// Returns the deepest drawdown, at most 0.
    pub(crate) fn max_drawdown(&self) -> f64 {
        self.deepest
    }

    pub(crate) fn cagr(&self, periods_per_year: f64) -> Statistic {
        year(periods_per_year)?;
        let (n_returns, month) = (self.n_returns as f64, periods_per_year / MONTHS);
        if n_returns < month {
            // Any growth of an hour is thousands of percent in a year.
            #[expect(clippy::cast_sign_loss, reason = "a number of bars above 0")]
            return Err(Undefined::UnderAMonth { required: month.ceil() as usize, received: self.n_returns });
        }
        let rate = libm::pow(self.equity, periods_per_year / n_returns) - 1.0;
        finite(rate)?;
        Ok(rate)
    }

    pub(crate) fn calmar(&self, periods_per_year: f64) -> Statistic {
        if self.deepest == 0.0 {
            return Err(Undefined::NoDrawdown);
        }
        Ok(self.cagr(periods_per_year)? / self.deepest.abs())
    }
}
