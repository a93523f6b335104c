/// A strategy of the Python library with its parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum StrategyRule {
    /// `Trend`: fast against slow moving average.
    Trend {
        /// Closes of the fast average.
        fast: usize,
        /// Closes of the slow average.
        slow: usize,
        /// Whether symbols are sold short.
        is_short: bool,
    },
    /// `MeanReversion`: distance from the moving average, in deviations.
    MeanReversion {
        /// Closes of the average.
        window: usize,
        /// Deviations of the largest weight.
        width: f64,
        /// Whether symbols are sold short.
        is_short: bool,
    },
    /// `Momentum`: the symbols with the highest return.
    Momentum {
        /// Bars of the return.
        window: usize,
        /// Last bars that it skips.
        skip: usize,
        /// Share of the symbols that is held.
        share: f64,
        /// Whether symbols are sold short.
        is_short: bool,
    },
}

impl StrategyRule {
    /// Returns the number of closes that a decision needs.
    #[must_use]
    pub fn lookback(&self) -> usize {
        match self {
            Self::Trend { slow, .. } => *slow,
            Self::MeanReversion { window, .. } => *window,
            Self::Momentum { window, .. } => window + 1,
        }
    }

    /// Returns the lengths of its averages, its lookback the last.
    pub(super) fn averages(&self) -> Vec<usize> {
        match self {
            Self::Trend { fast, slow, .. } => vec![*fast, *slow],
            Self::MeanReversion { window, .. } => vec![*window],
            Self::Momentum { .. } => Vec::new(),
        }
    }
}
