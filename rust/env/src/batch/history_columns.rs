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

impl Basis {
    /// Returns a value before a split, on the share basis after it.
    fn after(self, value: f64, split: f64) -> f64 {
        match self {
            Self::Price => value / split,
            Self::Shares => value * split,
            Self::None => value,
        }
    }
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
            let place = |k: usize| ((lookback - shown + k) * n_symbols + symbol) * stride;
            let value = |at: usize| self.values[at * n_symbols + symbol];
            as_of.column_history((symbol, shown), value, |value, split| self.basis.after(value, split), (rows, place));
        }
    }
}
