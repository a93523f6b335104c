//! Portfolios that use no information on returns, under the rules of a backtest.

use openoutcry_engine::{AsOf, StepError};

use crate::backtest::run_backtest::Backtest;

/// Bars between two rebalancings: a month of days.
const MONTH: usize = 21;
/// Returns of the estimates of risk: a year of days.
const YEAR: usize = 252;
/// Fewest returns of an estimate; a symbol with fewer has the mean weight of the others.
const FEWEST: usize = 10;

impl Backtest<'_> {
    /// Returns the returns of the passive portfolios of this market, in a fixed order.
    ///
    /// Equal parts of all listed symbols on every bar; then, rebalanced every 21 bars: equal parts, parts by one over
    /// volatility, parts by one over variance, and the long-only minimum variance of a single-index model. Risk is that
    /// of the last 252 returns before each rebalancing.
    ///
    /// # Errors
    ///
    /// Returns an error if the NAV of a portfolio leaves the range of f64.
    pub fn passive(&self) -> Result<Vec<Vec<f64>>, StepError> {
        let equal = self.orders(1, |_, listed| vec![1.0; listed.len()]);
        let monthly = self.orders(MONTH, |_, listed| vec![1.0; listed.len()]);
        let volatility = self.orders(MONTH, |as_of, listed| filled(&each(as_of, listed, |r| 1.0 / variance(r).sqrt())));
        let inverse = self.orders(MONTH, |as_of, listed| filled(&each(as_of, listed, |r| 1.0 / variance(r))));
        let least = self.orders(MONTH, |as_of, listed| filled(&minimum_variance(as_of, listed)));
        let runs = self.run_tables(vec![equal, monthly, volatility, inverse, least]);
        runs.into_iter().map(|run| Ok(run?.returns())).collect()
    }

    /// Returns a table of decisions with parts on every `step`-th bar, and holds in between.
    fn orders(&self, step: usize, parts: impl Fn(AsOf<'_>, &[usize]) -> Vec<f64>) -> Vec<f64> {
        let n_symbols = self.data.n_symbols();
        let mut orders = vec![f64::NAN; self.window.n_decisions() * n_symbols];
        for (decision, row) in orders.chunks_mut(n_symbols).enumerate().step_by(step) {
            let as_of = self.data.as_of(self.window.start + decision);
            let listed: Vec<usize> = (0..n_symbols).filter(|symbol| as_of.is_listed(*symbol)).collect();
            let parts = parts(as_of, &listed);
            let total: f64 = parts.iter().sum();
            listed.into_iter().zip(parts).for_each(|(symbol, part)| row[symbol] = part / total);
        }
        orders
    }
}

/// Returns the last returns of a symbol, oldest first, at most a year.
fn history(as_of: AsOf<'_>, symbol: usize) -> Vec<f64> {
    let mut closes = vec![0.0; as_of.history_len(symbol, YEAR + 1)];
    as_of.close_history(symbol, &mut closes);
    closes.windows(2).map(|pair| pair[1] / pair[0] - 1.0).collect()
}

/// Returns an estimate for each symbol with enough returns.
fn each(as_of: AsOf<'_>, listed: &[usize], estimate: impl Fn(&[f64]) -> f64) -> Vec<Option<f64>> {
    let known = |symbol: &usize| Some(history(as_of, *symbol)).filter(|returns| returns.len() >= FEWEST);
    listed.iter().map(|symbol| known(symbol).map(|returns| estimate(&returns))).collect()
}

/// Returns parts with the mean of the known ones for the others, all 1 if none is known.
fn filled(parts: &[Option<f64>]) -> Vec<f64> {
    let known: Vec<f64> = parts.iter().flatten().copied().filter(|part| part.is_finite()).collect();
    let total: f64 = known.iter().sum();
    if !(total > 0.0 && total.is_finite()) {
        return vec![1.0; parts.len()];
    }
    let mean = total / known.len() as f64;
    parts.iter().map(|part| part.filter(|part| part.is_finite()).unwrap_or(mean)).collect()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Returns the sample variance.
fn variance(returns: &[f64]) -> f64 {
    let middle = mean(returns);
    returns.iter().map(|r| (r - middle) * (r - middle)).sum::<f64>() / (returns.len() as f64 - 1.0)
}

/// A symbol in the single-index model.
struct Exposure {
    place: usize,
    beta: f64,
    /// Variance of the returns that the index does not explain.
    rest: f64,
}

/// Returns the long-only weights of minimum variance, 0 for a symbol with a high beta.
///
/// The index is the equal-weighted mean of the symbols with a full common history.
///
/// Source: Clarke, de Silva and Thorley (2011).
fn minimum_variance(as_of: AsOf<'_>, listed: &[usize]) -> Vec<Option<f64>> {
    let returns: Vec<Vec<f64>> = listed.iter().map(|symbol| history(as_of, *symbol)).collect();
    let n = returns.iter().map(Vec::len).filter(|n| *n >= FEWEST).min().unwrap_or(0);
    let mut parts = vec![None; listed.len()];
    if n == 0 {
        return parts;
    }
    let recent: Vec<Option<&[f64]>> =
        returns.iter().map(|own| own.len().checked_sub(n).map(|first| &own[first..])).collect();
    let known: Vec<&[f64]> = recent.iter().flatten().copied().collect();
    let index: Vec<f64> =
        (0..n).map(|bar| known.iter().map(|own| own[bar]).sum::<f64>() / known.len() as f64).collect();
    let (middle, spread) = (mean(&index), variance(&index));
    let mut exposures: Vec<Exposure> = Vec::new();
    for (place, own) in recent.iter().enumerate() {
        let Some(own) = own else { continue };
        let mean = mean(own);
        let shared: f64 = own.iter().zip(&index).map(|(r, i)| (r - mean) * (i - middle)).sum();
        let beta = shared / (spread * (n as f64 - 1.0));
        let rest: f64 = own.iter().zip(&index).map(|(r, i)| (r - mean - beta * (i - middle)).powi(2)).sum();
        exposures.push(Exposure { place, beta, rest: rest / (n as f64 - 2.0) });
    }
    let is_exact = |each: &Exposure| each.beta.is_finite() && each.rest > 1e-12 * spread;
    if !exposures.iter().all(is_exact) {
        // A symbol without variance, or one that is the index: equal parts.
        return parts;
    }
    exposures.sort_by(|a, b| a.beta.total_cmp(&b.beta));
    // The highest beta with a weight: symbols enter in the order of their betas until it is reached.
    let (mut above, mut below) = (1.0 / spread, 0.0);
    for each in &exposures {
        if below > 0.0 && each.beta >= above / below {
            break;
        }
        above += each.beta * each.beta / each.rest;
        below += each.beta / each.rest;
    }
    let limit = if below > 0.0 { above / below } else { f64::INFINITY };
    for each in &exposures {
        parts[each.place] = Some((1.0 - each.beta / limit).max(0.0) / each.rest);
    }
    parts
}
