use std::sync::{Arc, OnceLock};

use openoutcry_engine::{AccountView, Dataset, FeatureScope};

use crate::batch::batch_settings::BatchError;
use crate::batch::history_columns::HistoryColumn;
use crate::batch::observed_columns::{ObservedColumn, ObservedNames};

/// A market of a batch: its dataset, log returns and observed columns.
#[derive(Debug)]
pub struct Market {
    data: Arc<Dataset>,
    columns: Vec<ObservedColumn>,
    /// Columns of the windows of dictionary observations; none for closes.
    history: Vec<HistoryColumn>,
    bar_len: usize,
    /// Created when they are needed: dict observations do without.
    bars: OnceLock<Vec<f32>>,
}

impl Market {
    /// Returns the market of a dataset, without features.
    #[must_use]
    pub fn new(data: Arc<Dataset>) -> Self {
        Self::with_columns(data, Vec::new(), Vec::new())
    }

    /// Returns the market of a dataset, with observed columns.
    ///
    /// # Errors
    ///
    /// Returns an error if the dataset has no column of a name.
    pub fn observing(data: Arc<Dataset>, observed: &ObservedNames) -> Result<Self, BatchError> {
        let unknown = |name: &'static str, value: &String| BatchError::Setting {
            name,
            range: "names of features or columns of the dataset",
            value: value.clone(),
        };
        let column = |name: &String| {
            ObservedColumn::by_name(&data, name, observed.scale).ok_or_else(|| unknown("features", name))
        };
        let columns = observed.names.iter().map(column).collect::<Result<_, _>>()?;
        let column = |name: &String| HistoryColumn::by_name(&data, name).ok_or_else(|| unknown("history", name));
        let history = observed.history.iter().map(column).collect::<Result<_, _>>()?;
        Ok(Self::with_columns(data, columns, history))
    }

    fn with_columns(data: Arc<Dataset>, columns: Vec<ObservedColumn>, history: Vec<HistoryColumn>) -> Self {
        let n_bars = data.n_bars();
        let bar_len = data.n_symbols() + columns.iter().map(|column| column.values.len() / n_bars).sum::<usize>();
        Self { data, columns, history, bar_len, bars: OnceLock::new() }
    }

    /// Returns the rows of all bars.
    ///
    /// The row of a bar has log returns by symbol, then the values of each column.
    ///
    /// The return of a bar is the log return of the closes of an observation: 0 for a repeated or missing close, and
    /// for the first close of a symbol.
    #[expect(clippy::cast_possible_truncation, reason = "observed in f32")]
    fn rows(&self) -> Vec<f32> {
        let (data, bar_len) = (&self.data, self.bar_len);
        let (n_bars, n_symbols) = (data.n_bars(), data.n_symbols());
        let mut bars = vec![0.0; n_bars * bar_len];
        let mut last = vec![f64::NAN; n_symbols];
        for (bar, row) in bars.chunks_exact_mut(bar_len).enumerate() {
            let as_of = data.as_of(bar);
            for symbol in 0..n_symbols {
                let Some(close) = as_of.close(symbol) else {
                    last[symbol] /= as_of.split(symbol);
                    continue;
                };
                let before = last[symbol] / as_of.split(symbol);
                if before.is_finite() {
                    row[symbol] = libm::log(close / before) as f32;
                }
                last[symbol] = close;
            }
            let mut rest = &mut row[n_symbols..];
            for column in &self.columns {
                let width = column.values.len() / n_bars;
                let (shown, others) = rest.split_at_mut(width);
                for (shown, value) in shown.iter_mut().zip(&column.values[bar * width..]) {
                    *shown = *value as f32;
                }
                rest = others;
            }
        }
        bars
    }

    /// Returns the dataset.
    #[must_use]
    pub fn data(&self) -> &Arc<Dataset> {
        &self.data
    }

    /// Returns the rows of all bars, `n_bars * bar_len`.
    ///
    /// The returns of the first bar are 0.
    #[must_use]
    #[inline]
    pub fn bars(&self) -> &[f32] {
        self.bars.get_or_init(|| self.rows())
    }

    /// Returns the numbers per bar.
    ///
    /// They are a log return per symbol, and the values of the observed columns.
    #[must_use]
    pub fn bar_len(&self) -> usize {
        self.bar_len
    }

    /// Returns the observed columns with a value per symbol, or per market.
    pub(crate) fn columns(&self, scope: FeatureScope) -> impl Iterator<Item = &ObservedColumn> {
        self.columns.iter().filter(move |column| column.scope == scope)
    }

    /// Returns the number of observed columns with a value per symbol, or per market.
    #[must_use]
    pub fn n_columns(&self, scope: FeatureScope) -> usize {
        self.columns(scope).count()
    }

    /// Returns the number of columns of windows; 0 for closes.
    #[must_use]
    pub fn n_history(&self) -> usize {
        self.history.len()
    }

    /// Returns the length of the window of a dictionary observation.
    #[must_use]
    pub fn window_len(&self, lookback: usize) -> usize {
        lookback * self.data.n_symbols() * self.history.len().max(1)
    }

    /// Writes the windows of an observation, `(lookback, n_symbols, n_history)`.
    pub(crate) fn write_history(&self, bar: usize, lookback: usize, rows: &mut [f64]) {
        if self.history.is_empty() {
            self.data.as_of(bar).history_rows(lookback, rows);
        }
        for (place, column) in self.history.iter().enumerate() {
            column.write(&self.data, bar, lookback, (&mut rows[place..], self.history.len()));
        }
    }

    /// Returns the numbers of columns of a symbol, and of the market.
    pub(crate) fn widths(&self) -> [usize; 2] {
        [FeatureScope::Symbol, FeatureScope::Market].map(|scope| self.n_columns(scope))
    }

    /// Returns the length of a flat observation.
    #[must_use]
    pub fn flat_len(&self, lookback: usize) -> usize {
        lookback * self.bar_len + self.data.n_symbols() + 1
    }

    /// Writes the last `lookback` bars, the weights, and cash.
    ///
    /// Bars are oldest first, and 0 before the first bar. Cash is a fraction of NAV. Nothing after the bar of `held`
    /// is read.
    ///
    /// # Panics
    ///
    /// Panics if `flat` does not have [`Market::flat_len`] elements.
    #[inline]
    pub fn observe_flat(&self, held: AccountView<'_>, lookback: usize, flat: &mut [f32]) {
        self.observe_rest(held, lookback, 0, flat);
    }

    /// Writes the part of [`Market::observe_flat`] after the first `n_there` bars.
    #[inline]
    pub(crate) fn observe_rest(&self, held: AccountView<'_>, lookback: usize, n_there: usize, flat: &mut [f32]) {
        let (history, account) = flat.split_at_mut(lookback * self.bar_len);
        let rest = &mut history[n_there * self.bar_len..];
        let (missing, known) = self.last(held.bar(), rest.len());
        rest[..missing].fill(0.0);
        rest[missing..].copy_from_slice(known);
        observe_account(held, account);
    }

    /// Returns at most `n` last numbers of the rows as of a bar, oldest first.
    ///
    /// The first value is the count of missing numbers.
    #[inline]
    pub(crate) fn last(&self, bar: usize, n: usize) -> (usize, &[f32]) {
        let known = (bar + 1) * self.bar_len;
        let first = known.saturating_sub(n);
        (n - (known - first), &self.bars()[first..known])
    }
}

/// Writes the weights, and cash as a fraction of NAV.
///
/// # Panics
///
/// Panics if `account` does not have one element per symbol and one more.
#[inline]
#[expect(clippy::cast_possible_truncation, reason = "observed in f32")]
pub fn observe_account(held: AccountView<'_>, account: &mut [f32]) {
    let (cash, weights) = account.split_last_mut().expect("an element for cash");
    held.weights_f32(weights);
    *cash = if held.nav() > 0.0 { (held.cash() / held.nav()) as f32 } else { 0.0 };
}
