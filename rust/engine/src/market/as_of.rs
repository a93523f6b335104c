use std::fmt;

use crate::market::columns::FeatureScope;
use crate::market::dataset::Dataset;
use crate::market::dates::ShownDate;

/// A market as known at the close of one bar.
///
/// It gives no access to later rows.
#[derive(Clone, Copy)]
pub struct AsOf<'a> {
    dataset: &'a Dataset,
    bar: usize,
}

/// Prints the bar only: the dataset holds later rows.
impl fmt::Debug for AsOf<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AsOf").field("bar", &self.bar).finish_non_exhaustive()
    }
}

impl Dataset {
    /// Returns the view of this market for the agent of `bar`.
    ///
    /// # Panics
    ///
    /// Panics if `bar` is not in the data.
    #[must_use]
    pub fn as_of(&self, bar: usize) -> AsOf<'_> {
        assert!(bar < self.n_bars(), "bar must be below {}; received {bar}", self.n_bars());
        AsOf { dataset: self, bar }
    }
}

impl<'a> AsOf<'a> {
    /// Returns the view of the same market at the close of `bar`.
    ///
    /// # Panics
    ///
    /// Panics if `bar` is after the bar of this view.
    #[must_use]
    pub fn back_to(&self, bar: usize) -> Self {
        assert!(bar <= self.bar, "bar must be at most {}; received {bar}", self.bar);
        Self { bar, ..*self }
    }

    /// Returns the bar.
    #[must_use]
    pub fn bar(&self) -> usize {
        self.bar
    }

    /// Returns the date of the bar.
    #[must_use]
    pub fn date(&self) -> ShownDate<'a> {
        self.dataset.dates.get(self.bar)
    }

    /// Returns the number of columns, listed or not.
    #[must_use]
    pub fn n_symbols(&self) -> usize {
        self.dataset.n_symbols()
    }

    /// Returns the name of a symbol that has closed by this bar.
    #[must_use]
    pub fn symbol(&self, symbol: usize) -> Option<&'a str> {
        self.has_closed(symbol).then(|| self.dataset.symbols[symbol].as_str())
    }

    /// Returns the index of a symbol that has closed by this bar.
    ///
    /// The name of a symbol that is listed later is unknown.
    #[must_use]
    pub fn index_of(&self, name: &str) -> Option<usize> {
        self.dataset.index_of(name).filter(|i| self.has_closed(*i))
    }

    /// Returns whether a symbol has closed at least once.
    #[must_use]
    pub fn has_closed(&self, symbol: usize) -> bool {
        self.dataset.listed_at[symbol] <= self.bar
    }

    /// Returns whether a symbol has been settled.
    #[must_use]
    pub fn is_settled(&self, symbol: usize) -> bool {
        self.dataset.settled_at[symbol] <= self.bar
    }

    /// Returns whether a symbol has closed and has not been settled.
    #[must_use]
    pub fn is_listed(&self, symbol: usize) -> bool {
        self.has_closed(symbol) && !self.is_settled(symbol)
    }

    /// Returns the close of a symbol in this bar, if it has one.
    #[must_use]
    pub fn close(&self, symbol: usize) -> Option<f64> {
        Some(self.dataset.tables.close.get(self.bar, symbol)).filter(|close| close.is_finite())
    }

    /// Returns whether a symbol closed in this bar.
    #[must_use]
    pub fn closes(&self, symbol: usize) -> bool {
        self.dataset.tables.close.get(self.bar, symbol).is_finite()
    }

    /// Returns the split of a symbol in this bar, new shares per old; 1 for none.
    #[must_use]
    pub fn split(&self, symbol: usize) -> f64 {
        self.dataset.split(self.bar, symbol)
    }

    /// Returns the length of the history of a listed symbol, at most `lookback`.
    #[must_use]
    pub fn history_len(&self, symbol: usize, lookback: usize) -> usize {
        if self.is_listed(symbol) { lookback.min(self.bar - self.dataset.listed_at[symbol] + 1) } else { 0 }
    }

    /// Writes the last `lookback` closes of every symbol, bar by bar.
    ///
    /// The closes are those of [`AsOf::close_history`]. Bars before the listing of a symbol and after its settlement
    /// are 0.
    ///
    /// # Panics
    ///
    /// Panics if `rows` does not have `lookback` elements per symbol.
    pub fn history_rows(&self, lookback: usize, rows: &mut [f64]) {
        let n_symbols = self.n_symbols();
        assert_eq!(rows.len(), lookback * n_symbols, "a row a bar");
        rows.fill(0.0);
        for symbol in 0..n_symbols {
            let shown = self.history_len(symbol, lookback);
            self.write_history(symbol, shown, rows, |back| (lookback - shown + back) * n_symbols + symbol);
        }
    }

    /// Writes the last closes of a symbol into `history`, oldest first.
    ///
    /// Closes are on the share basis of this bar. A bar without a close repeats the close before it. Dividends are not
    /// adjusted for.
    ///
    /// # Panics
    ///
    /// Panics if `history` is longer than [`AsOf::history_len`] allows.
    pub fn close_history(&self, symbol: usize, history: &mut [f64]) {
        self.write_history(symbol, history.len(), history, |back| back);
    }

    /// Writes the last `n` closes of a symbol, the k-th at `place(k)`.
    fn write_history(&self, symbol: usize, n: usize, history: &mut [f64], place: impl Fn(usize) -> usize) {
        // One division per split, as for the mark of a position: the last close shown is the mark, bit for bit.
        let rule = |close: f64, split: f64| close / split;
        self.column_history((symbol, n), |bar| self.dataset.tables.close.get(bar, symbol), rule, (history, place));
    }

    /// Writes the last `n` values of a column of a symbol, the k-th at `place(k)`.
    ///
    /// A bar without a value repeats the value before it. `rebased` returns a value before a split, after it.
    ///
    /// # Panics
    ///
    /// Panics if `n` is larger than [`AsOf::history_len`] allows, or `history` is too short.
    pub fn column_history(
        &self,
        (symbol, n): (usize, usize),
        value: impl Fn(usize) -> f64,
        rebased: impl Fn(f64, f64) -> f64,
        (history, place): (&mut [f64], impl Fn(usize) -> usize),
    ) {
        if n == 0 {
            return;
        }
        let first = self.bar + 1 - n;
        // A window that begins inside a halt shows the value before it.
        let start = (0..=first).rev().find(|bar| value(*bar).is_finite()).unwrap_or(first);
        let mut last = 0.0;
        for bar in start..=self.bar {
            let split = self.dataset.split(bar, symbol);
            if split != 1.0 && bar > start {
                for back in 0..bar.saturating_sub(first).min(n) {
                    history[place(back)] = rebased(history[place(back)], split);
                }
                last = rebased(last, split);
            }
            last = if value(bar).is_finite() { value(bar) } else { last };
            if bar >= first {
                history[place(bar - first)] = last;
            }
        }
    }

    /// Returns whether the last `n` bars of a symbol are plain closes.
    ///
    /// Plain bars have a close and no split.
    #[must_use]
    pub fn is_plain(&self, symbol: usize, n: usize) -> bool {
        (self.bar + 1 - n..=self.bar).all(|bar| self.dataset.tables.close.get(bar, symbol).is_finite())
            && (self.bar + 2 - n..=self.bar).all(|bar| self.dataset.split(bar, symbol) == 1.0)
    }

    /// Returns the latest known value of each fundamental of a symbol, by name.
    pub fn fundamentals(&self, symbol: usize) -> impl Iterator<Item = (&'a str, f64)> {
        let known = of_symbol(&self.dataset.fundamentals, symbol, |item| item.symbol);
        let bar = self.bar;
        // The bars of one name ascend, so the last known item ends the run of known items. A binary search finds it
        // without reading later restatements.
        known.chunk_by(|a, b| a.item.0 == b.item.0).filter_map(move |versions| {
            let known = versions.partition_point(|item| item.bar <= bar);
            versions[..known].last().map(|item| (item.item.0.as_str(), item.item.1))
        })
    }

    /// Returns the features of a symbol in this bar, by name.
    pub fn features(&self, symbol: usize) -> impl Iterator<Item = (&'a str, f64)> {
        let (bar, n_symbols) = (self.bar, self.n_symbols());
        let known = self.dataset.features.iter().filter(|feature| feature.scope == FeatureScope::Symbol);
        known.map(move |feature| (feature.name.as_str(), feature.values[bar * n_symbols + symbol]))
    }

    /// Returns the features of the market in this bar, by name.
    pub fn market_features(&self) -> impl Iterator<Item = (&'a str, f64)> {
        let bar = self.bar;
        let known = self.dataset.features.iter().filter(|feature| feature.scope == FeatureScope::Market);
        known.map(move |feature| (feature.name.as_str(), feature.values[bar]))
    }

    /// Returns the headlines of a symbol in the last `lookback` bars, oldest first.
    pub fn news(&self, symbol: usize, lookback: usize) -> impl Iterator<Item = &'a str> {
        let known = of_symbol(&self.dataset.news, symbol, |item| item.symbol);
        let first = known.partition_point(|item| item.bar < (self.bar + 1).saturating_sub(lookback));
        let last = known.partition_point(|item| item.bar <= self.bar);
        known[first..last].iter().map(|item| item.item.as_str())
    }
}

fn of_symbol<T>(items: &[T], symbol: usize, symbol_of: impl Fn(&T) -> usize) -> &[T] {
    let start = items.partition_point(|item| symbol_of(item) < symbol);
    let end = items.partition_point(|item| symbol_of(item) <= symbol);
    &items[start..end]
}
