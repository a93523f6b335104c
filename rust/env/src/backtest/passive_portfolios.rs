//! Portfolios that use no information on returns, under the rules of a backtest.

use openoutcry_engine::{AsOf, CostModel, Rules, StepError};

use crate::backtest::order_table::OrderTable;
use crate::backtest::run_backtest::Backtest;

/// Bars between two rebalancings: a month of days.
const MONTH: usize = 21;
/// Returns of the estimates of risk: a year of days.
const YEAR: usize = 252;
/// Fewest returns of an estimate.
///
/// A symbol with fewer has the mean weight of the others.
const FEWEST: usize = 10;
/// Relative error of the weights of minimum variance.
const PRECISION: f64 = 1e-9;
/// Most steps to reach it.
const MOST_STEPS: usize = 100;

impl Backtest<'_> {
    /// Returns the returns of the passive portfolios of this market, in a fixed order.
    ///
    /// The first has equal parts of all listed symbols on every bar, at the costs of this backtest. The others trade
    /// without costs, since a style that trades less often than they do would else have alpha: the same; then,
    /// rebalanced every 21 bars, equal parts, parts by one over volatility, by one over variance, and long-only parts
    /// of minimum variance. Risk is that of the last 252 returns before each rebalancing.
    ///
    /// # Errors
    ///
    /// Returns an error if the NAV of a portfolio leaves the range of f64.
    pub fn passive(&self) -> Result<Vec<Vec<f64>>, StepError> {
        let by = |part: fn(&[f64]) -> f64| move |as_of: AsOf<'_>, listed: &[usize]| filled(&each(as_of, listed, part));
        let equal = self.orders(1, |_, listed| vec![1.0; listed.len()]);
        let own = self.run_table(equal.clone())?.returns();
        let tables = vec![
            equal,
            self.orders(MONTH, |_, listed| vec![1.0; listed.len()]),
            self.orders(MONTH, by(|returns| 1.0 / variance(returns).sqrt())),
            self.orders(MONTH, by(|returns| 1.0 / variance(returns))),
            self.orders(MONTH, |as_of, listed| filled(&minimum_variance(as_of, listed))),
        ];
        let others = self.without_trading_costs().run_tables(tables);
        std::iter::once(Ok(own)).chain(others.into_iter().map(|run| Ok(run?.returns()))).collect()
    }

    fn without_trading_costs(&self) -> Self {
        let free =
            CostModel { fee_bps: 0.0, slippage_bps: 0.0, slippage_jitter: 0.0, impact_bps: 0.0, ..*self.rules.costs() };
        let rules = Rules::new(free, *self.rules.limits(), self.rules.fill_key()).expect("costs that were checked");
        Self { rules, ..self.clone() }
    }

    /// Returns a table of decisions: parts on every `step`-th bar, else holds.
    fn orders(&self, step: usize, parts: impl Fn(AsOf<'_>, &[usize]) -> Vec<f64>) -> OrderTable {
        let n_symbols = self.data.n_symbols();
        let mut orders = vec![f64::NAN; self.window.n_decisions() * n_symbols];
        for (decision, row) in orders.chunks_mut(n_symbols).enumerate().step_by(step) {
            let as_of = self.data.as_of(self.window.start + decision);
            let listed: Vec<usize> = (0..n_symbols).filter(|symbol| as_of.is_listed(*symbol)).collect();
            let parts = parts(as_of, &listed);
            let total: f64 = parts.iter().sum();
            listed.into_iter().zip(parts).for_each(|(symbol, part)| row[symbol] = part / total);
        }
        OrderTable::new(orders, n_symbols)
    }
}

/// Returns the last returns of a symbol, oldest first, at most a year.
fn history(as_of: AsOf<'_>, symbol: usize) -> Vec<f64> {
    let mut closes = vec![0.0; as_of.history_len(symbol, YEAR + 1)];
    as_of.close_history(symbol, &mut closes);
    closes.windows(2).map(|pair| pair[1] / pair[0] - 1.0).collect()
}

/// Returns an estimate for each symbol with enough returns.
fn each<T>(as_of: AsOf<'_>, listed: &[usize], estimate: impl Fn(&[f64]) -> T) -> Vec<Option<T>> {
    let known = |symbol: &usize| Some(history(as_of, *symbol)).filter(|returns| returns.len() >= FEWEST);
    listed.iter().map(|symbol| known(symbol).map(|returns| estimate(&returns))).collect()
}

/// Returns parts, with the mean of the known ones for the others.
///
/// All are 1 if none is known.
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

/// Returns the weights of minimum variance, 0 for those below 0.
///
/// Half of each covariance is shrunk to 0: the solution of `(covariance + variances) weights = 1`, by conjugate
/// gradients, which need no table of covariances. A missing return counts as the mean of its symbol.
///
/// Source: Ledoit and Wolf (2004), with a fixed intensity.
fn minimum_variance(as_of: AsOf<'_>, listed: &[usize]) -> Vec<Option<f64>> {
    // In units of the volatility of each symbol, the matrix is the correlations plus 1 on the diagonal.
    let scaled = |returns: &[f64]| -> (Vec<f64>, f64) {
        let (middle, deviation) = (mean(returns), variance(returns).sqrt());
        let unit = 1.0 / (deviation * (returns.len() as f64 - 1.0).sqrt());
        (returns.iter().map(|r| (r - middle) * unit).collect(), 1.0 / deviation)
    };
    let symbols = each(as_of, listed, scaled).into_iter().map(|known| known.filter(|(_, inverse)| inverse.is_finite()));
    let symbols: Vec<Option<(Vec<f64>, f64)>> = symbols.collect();
    let rows: Vec<&[f64]> = symbols.iter().flatten().map(|(row, _)| &row[..]).collect();
    let target: Vec<f64> = symbols.iter().flatten().map(|(_, inverse)| *inverse).collect();
    let mut parts = solution(&rows, &target).into_iter().zip(target).map(|(part, inverse)| (part * inverse).max(0.0));
    symbols.iter().map(|known| known.as_ref().and_then(|_| parts.next())).collect()
}

/// Returns the solution of `(rows rows' + 1) x = target`.
///
/// Rows are aligned at their ends.
fn solution(rows: &[&[f64]], target: &[f64]) -> Vec<f64> {
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let product = |x: &[f64]| -> Vec<f64> {
        let mut total = vec![0.0; YEAR];
        for (row, x) in rows.iter().zip(x) {
            let own = &mut total[YEAR - row.len()..];
            own.iter_mut().zip(*row).for_each(|(total, value)| *total += x * value);
        }
        rows.iter().zip(x).map(|(row, x)| x + dot(row, &total[YEAR - row.len()..])).collect()
    };
    let mut found = vec![0.0; target.len()];
    let mut rest = target.to_vec();
    let mut direction = target.to_vec();
    let mut square = dot(&rest, &rest);
    let enough = square * PRECISION * PRECISION;
    for _ in 0..MOST_STEPS {
        if square <= enough {
            break;
        }
        let moved = product(&direction);
        let step = square / dot(&direction, &moved);
        found.iter_mut().zip(&direction).for_each(|(found, direction)| *found += step * direction);
        rest.iter_mut().zip(&moved).for_each(|(rest, moved)| *rest -= step * moved);
        let next = dot(&rest, &rest);
        direction.iter_mut().zip(&rest).for_each(|(direction, rest)| *direction = rest + next / square * *direction);
        square = next;
    }
    found
}
