//! Windows of prices, volumes and features on the share basis of the last bar.

use openoutcry_engine::{Dataset, FeatureScope};

/// How a split changes the values before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Basis {
    /// Amounts per share, divided by the split.
    Price,
    /// Numbers of shares, multiplied by the split.
    Shares,
    /// Values of a feature, left as they are.
    None,
}

/// A column with a value per bar and symbol, as windows show it.
#[derive(Debug)]
pub(crate) struct HistoryColumn {
    basis: Basis,
    values: Vec<f64>,
}

impl HistoryColumn {
    /// Returns a price, the volume or a feature of a dataset by name.
    pub(crate) fn by_name(data: &Dataset, name: &str) -> Option<Self> {
        if let Some(feature) = data.features().iter().find(|feature| feature.name == name) {
            let is_of_symbol = feature.scope == FeatureScope::Symbol;
            return is_of_symbol.then(|| Self { basis: Basis::None, values: feature.values.clone() });
        }
        let basis = match name {
            "open" | "high" | "low" | "close" => Basis::Price,
            "volume" => Basis::Shares,
            _ => return None,
        };
        Some(Self { basis, values: data.column(name)? })
    }

    /// Writes the last `lookback` values of every symbol as of a bar.
    ///
    /// They are `stride` elements apart.
    ///
    /// A bar without a value repeats the value before it. Bars before the listing of a symbol and after its settlement
    /// are 0.
    ///
    /// # Panics
    ///
    /// Panics if `rows` is shorter than `stride` elements per bar and symbol.
    pub(crate) fn write(&self, data: &Dataset, bar: usize, lookback: usize, (rows, stride): (&mut [f64], usize)) {
        let (n_symbols, as_of) = (data.n_symbols(), data.as_of(bar));
        for symbol in 0..n_symbols {
            let shown = as_of.history_len(symbol, lookback);
            for back in 0..lookback - shown {
                rows[(back * n_symbols + symbol) * stride] = 0.0;
            }
            if shown > 0 {
                let place = |k: usize| ((lookback - shown + k) * n_symbols + symbol) * stride;
                self.write_symbol(data, (symbol, bar), shown, |k, value| match value {
                    Step::Set(value) => rows[place(k)] = value,
                    Step::Scale(split) => (0..k).for_each(|back| rows[place(back)] *= split),
                    Step::Divide(split) => (0..k).for_each(|back| rows[place(back)] /= split),
                });
            }
        }
    }

    /// Passes the last `n` values of a symbol, oldest first, and splits.
    fn write_symbol(
        &self,
        data: &Dataset,
        (symbol, bar): (usize, usize),
        n: usize,
        mut write: impl FnMut(usize, Step),
    ) {
        let (n_symbols, first) = (data.n_symbols(), bar + 1 - n);
        let value = |at: usize| self.values[at * n_symbols + symbol];
        // A window that begins without a value shows the one before it.
        let start = (0..=first).rev().find(|at| value(*at).is_finite()).unwrap_or(first);
        let mut last = 0.0;
        for at in start..=bar {
            let split = data.as_of(at).split(symbol);
            if split != 1.0 && at > start {
                let shown = at.saturating_sub(first).min(n);
                match self.basis {
                    Basis::Price => {
                        write(shown, Step::Divide(split));
                        last /= split;
                    }
                    Basis::Shares => {
                        write(shown, Step::Scale(split));
                        last *= split;
                    }
                    Basis::None => {}
                }
            }
            last = if value(at).is_finite() { value(at) } else { last };
            if at >= first {
                write(at - first, Step::Set(last));
            }
        }
    }
}

/// A change of the values written so far.
enum Step {
    /// The value of the next bar.
    Set(f64),
    /// The values so far, times this.
    Scale(f64),
    /// The values so far, divided by this.
    Divide(f64),
}
