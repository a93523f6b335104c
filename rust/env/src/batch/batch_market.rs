use std::sync::Arc;

use openoutcry_engine::{AccountView, Dataset};

/// A market of a batch: the dataset, and its log returns in f32.
#[derive(Debug)]
pub struct Market {
    data: Arc<Dataset>,
    returns: Vec<f32>,
}

impl Market {
    /// Returns the market of a dataset.
    ///
    /// The return of a bar is the log return of the closes of an observation: 0 for a repeated or missing close, and
    /// for the first close of a symbol.
    #[must_use]
    #[expect(clippy::cast_possible_truncation, reason = "observed in f32")]
    pub fn new(data: Arc<Dataset>) -> Self {
        let (n_bars, n_symbols) = (data.n_bars(), data.n_symbols());
        let mut returns = vec![0.0; n_bars * n_symbols];
        let mut last = vec![f64::NAN; n_symbols];
        for bar in 0..n_bars {
            let as_of = data.as_of(bar);
            for symbol in 0..n_symbols {
                let Some(close) = as_of.close(symbol) else {
                    last[symbol] /= as_of.split(symbol);
                    continue;
                };
                let before = last[symbol] / as_of.split(symbol);
                if before.is_finite() {
                    returns[bar * n_symbols + symbol] = libm::log(close / before) as f32;
                }
                last[symbol] = close;
            }
        }
        Self { data, returns }
    }

    /// Returns the dataset.
    #[must_use]
    pub fn data(&self) -> &Arc<Dataset> {
        &self.data
    }

    /// Returns the log returns, `n_bars * n_symbols`; the first bar is 0.
    #[must_use]
    pub fn returns(&self) -> &[f32] {
        &self.returns
    }

    /// Returns the length of a flat observation.
    #[must_use]
    pub fn flat_len(&self, lookback: usize) -> usize {
        (lookback + 1) * self.data.n_symbols() + 1
    }

    /// Writes the last `lookback` log returns, the weights, and cash.
    ///
    /// Returns are oldest first, and 0 before the first bar. Cash is a fraction of NAV. Nothing after the bar of `held`
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
        let n_symbols = self.data.n_symbols();
        let (history, account) = flat.split_at_mut(lookback * n_symbols);
        let rest = &mut history[n_there * n_symbols..];
        let (missing, known) = self.last(held.bar(), rest.len());
        rest[..missing].fill(0.0);
        rest[missing..].copy_from_slice(known);
        observe_account(held, account);
    }

    /// Returns at most `n` last log returns as of a bar, oldest first.
    ///
    /// The first value is the number of missing returns.
    #[inline]
    pub(crate) fn last(&self, bar: usize, n: usize) -> (usize, &[f32]) {
        let known = (bar + 1) * self.data.n_symbols();
        let first = known.saturating_sub(n);
        (n - (known - first), &self.returns[first..known])
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
