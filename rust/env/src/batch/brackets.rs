//! Exits of the orders of every lane, for one step.

use openoutcry_engine::lane_sums::LANES;
use openoutcry_engine::{Book, DayOrder};

use crate::episode::bracket_orders::{DISTANCES, bracket_orders};

/// The distances of the exits of all lanes, lane after lane.
///
/// Empty in a step without exits.
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
