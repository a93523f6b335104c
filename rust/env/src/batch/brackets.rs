//! Exits of the orders of every lane, for one step.

use openoutcry_engine::lane_sums::LANES;
use openoutcry_engine::{Book, DayOrder, StepError};

use crate::batch::{Batch, BatchError};
use crate::episode::bracket_orders::{DISTANCES, bracket_orders, is_distance};

/// The distances of the exits of all lanes, lane after lane; empty in a step without exits.
#[derive(Clone, Copy)]
pub(super) struct Brackets<'a> {
    pub(super) distances: &'a [f64],
    pub(super) n_symbols: usize,
}

impl Brackets<'_> {
    fn of(&self, lane: usize) -> &[f64] {
        let n = self.n_symbols * DISTANCES;
        self.distances.get(lane * n..(lane + 1) * n).unwrap_or_default()
    }

    /// Returns the lanes of a block with an exit; they take no fast path.
    #[inline]
    pub(super) fn lanes(&self, first: usize) -> u8 {
        if self.distances.is_empty() {
            return 0;
        }
        let has_exit = |lane: usize| self.of(lane).iter().any(|distance| *distance > 0.0);
        (0..LANES).map(|place| u8::from(has_exit(first + place)) << place).sum()
    }

    /// Replaces `conditions` by those of a lane with these orders.
    pub(super) fn write(&self, lane: usize, orders: &[f64], book: &Book, conditions: &mut Vec<DayOrder>) {
        bracket_orders(self.of(lane), orders, book, conditions);
    }
}

impl Batch {
    /// Sets the exits of the orders of the next step: two distances per lane and symbol.
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
