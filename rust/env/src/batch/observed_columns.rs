//! Observed columns of a market: features, prices and volumes.

use openoutcry_engine::{Dataset, FeatureScope};

/// How the values of a column are normalized.
///
/// The value of a bar depends on no later bar, so that it is the same in every episode.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scale {
    /// Values as they are.
    #[default]
    None,
    /// Less the mean of all values so far, over their standard deviation.
    Expanding,
    /// Less the mean of the last values, over their standard deviation.
    ///
    /// The number of bars is at least 2.
    Window(usize),
}

/// The names of observed columns, and their scale.
#[derive(Clone, Debug, Default)]
pub struct ObservedNames {
    /// Columns of the windows of dictionary observations; none for closes.
    pub history: Vec<String>,
    /// Features of the dataset, or `open`, `high`, `low`, `close`, `volume`, `listed`.
    pub names: Vec<String>,
    /// Normalization of every column.
    pub scale: Scale,
}

/// One observed column.
#[derive(Debug)]
pub struct ObservedColumn {
    /// Whether each symbol or the market has a value.
    pub scope: FeatureScope,
    /// One value per bar and symbol, or per bar; 0 for a symbol that is not listed.
    pub values: Vec<f64>,
}

impl ObservedColumn {
    /// Returns a column of a dataset by name, as known at each bar.
    pub(crate) fn by_name(data: &Dataset, name: &str, scale: Scale) -> Option<Self> {
        let feature = data.features().iter().find(|feature| feature.name == name);
        if feature.is_none() && name == "listed" {
            return Some(Self::listed(data));
        }
        let (scope, values) = match feature {
            Some(feature) => (feature.scope, feature.values.clone()),
            None if ["open", "high", "low", "close", "volume"].contains(&name) => {
                (FeatureScope::Symbol, data.column(name)?)
            }
            None => return None,
        };
        let mut column = Self { scope, values };
        let width = if scope == FeatureScope::Symbol { data.n_symbols() } else { 1 };
        for symbol in 0..width {
            let is_listed = |bar| scope == FeatureScope::Market || data.as_of(bar).is_listed(symbol);
            column.normalize(symbol, width, scale, is_listed);
        }
        Some(column)
    }

    /// Returns 1 for every bar of a listed symbol, else 0.
    fn listed(data: &Dataset) -> Self {
        let n_symbols = data.n_symbols();
        let bar = |bar| (0..n_symbols).map(move |symbol| f64::from(u8::from(data.as_of(bar).is_listed(symbol))));
        Self { scope: FeatureScope::Symbol, values: (0..data.n_bars()).flat_map(bar).collect() }
    }

    /// Fills and normalizes the values of one symbol.
    ///
    /// A bar without a value repeats the value before it.
    fn normalize(&mut self, symbol: usize, width: usize, scale: Scale, is_listed: impl Fn(usize) -> bool) {
        let n_bars = self.values.len() / width;
        let (mut moments, mut last) = (Moments::new(scale), f64::NAN);
        for bar in 0..n_bars {
            let cell = &mut self.values[bar * width + symbol];
            if !is_listed(bar) {
                *cell = 0.0;
                continue;
            }
            last = if cell.is_nan() { last } else { *cell };
            *cell = if last.is_nan() { 0.0 } else { moments.normalized(last) };
        }
    }
}

/// Mean and standard deviation of the values so far.
struct Moments {
    scale: Scale,
    /// The values of the window, the oldest at `next` once it is complete.
    window: Vec<f64>,
    next: usize,
    n_values: f64,
    mean: f64,
    square: f64,
}

impl Moments {
    fn new(scale: Scale) -> Self {
        Self { scale, window: Vec::new(), next: 0, n_values: 0.0, mean: 0.0, square: 0.0 }
    }

    /// Adds a value and returns it normalized; 0 before two different values are known.
    fn normalized(&mut self, value: f64) -> f64 {
        match self.scale {
            Scale::None => return value,
            Scale::Expanding => self.add(value),
            Scale::Window(length) => {
                if self.window.len() < length {
                    self.window.push(value);
                } else {
                    self.window[self.next] = value;
                    self.next = (self.next + 1) % length;
                }
                // Summed anew: a sum of differences would drift away from that of the window.
                (self.n_values, self.mean, self.square) = (0.0, 0.0, 0.0);
                for at in 0..self.window.len() {
                    self.add(self.window[(self.next + at) % self.window.len()]);
                }
            }
        }
        let deviation = (self.square / self.n_values).sqrt();
        if deviation > 0.0 { (value - self.mean) / deviation } else { 0.0 }
    }

    /// Source: Welford (1962).
    fn add(&mut self, value: f64) {
        self.n_values += 1.0;
        let change = value - self.mean;
        self.mean += change / self.n_values;
        self.square += change * (value - self.mean);
    }
}
