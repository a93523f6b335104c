use openoutcry_engine::StepError;

use crate::batch::{Batch, BatchError};
use crate::episode::bracket_orders::{DISTANCES, is_distance};

impl Batch {
    /// Sets the exits of the next step: two distances per lane and symbol.
    ///
    /// They are those of [`crate::TradingEnv::act`]. [`Batch::clear_brackets`] removes them after the step.
    ///
    /// # Errors
    ///
    /// Returns an error, and sets none, if the array has the wrong length or a distance is not in [-1, 1).
    pub fn set_brackets(&mut self, distances: &[f64]) -> Result<(), BatchError> {
        self.clear_brackets();
        let (n_symbols, expected) = (self.n_symbols(), self.n_lanes() * self.n_symbols() * DISTANCES);
        if distances.len() != expected {
            return Err(BatchError::Length { name: "brackets", expected, received: distances.len() });
        }
        if let Some(index) = distances.iter().position(|distance| !is_distance(*distance)) {
            let (lane, symbol) = (index / DISTANCES / n_symbols, index / DISTANCES % n_symbols);
            let source = StepError::Distance { symbol, distance: distances[index] };
            return Err(BatchError::Lane { lane, source });
        }
        if distances.iter().any(|distance| *distance > 0.0) {
            self.brackets.extend_from_slice(distances);
        }
        Ok(())
    }

    /// Removes the exits of [`Batch::set_brackets`].
    pub fn clear_brackets(&mut self) {
        self.brackets.clear();
    }
}
