use crate::error::ConfigError;

/// Default number of bars in the history of an observation.
pub const DEFAULT_LOOKBACK: usize = 20;

/// A half-open range of bars, `[start, end)`, with `end - start - 1` decisions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// The first bar, with NAV 1.
    pub start: usize,
    /// One past the last bar.
    pub end: usize,
}

impl Window {
    /// Returns the window `[start, end)` of a dataset of `n_bars`.
    ///
    /// Without `end`, the window ends at the end of the data. Without `start`, it begins at `lookback - 1` if the data
    /// has at least twice `lookback` bars, else at 0.
    ///
    /// # Errors
    ///
    /// Returns an error if the window leaves the data or holds no decision.
    pub fn resolve(
        start: Option<usize>,
        end: Option<usize>,
        lookback: usize,
        n_bars: usize,
    ) -> Result<Self, ConfigError> {
        let warm_up = if n_bars >= lookback.saturating_mul(2) { lookback.saturating_sub(1) } else { 0 };
        let window = Self { start: start.unwrap_or(warm_up), end: end.unwrap_or(n_bars) };
        window.validate(n_bars)?;
        Ok(window)
    }

    /// Checks that the window lies in the data and holds a decision.
    ///
    /// # Errors
    ///
    /// Returns an error if it does not.
    pub fn validate(&self, n_bars: usize) -> Result<(), ConfigError> {
        if self.end > n_bars || self.end < 2 || self.start > self.end - 2 {
            return Err(ConfigError::Window { start: self.start, end: self.end, n_bars });
        }
        Ok(())
    }

    /// Returns the number of bars.
    #[must_use]
    pub fn n_bars(&self) -> usize {
        self.end - self.start
    }

    /// Returns the number of decisions.
    #[must_use]
    pub fn n_decisions(&self) -> usize {
        self.n_bars() - 1
    }
}
