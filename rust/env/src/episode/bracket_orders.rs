//! Orders with a stop loss and a take profit at distances from the last close.

use openoutcry_engine::{Book, DayOrder};

/// Numbers of a bracket: the distances of the stop loss and of the take profit.
pub(crate) const DISTANCES: usize = 2;

/// Returns whether a distance is a fraction of the last close.
///
/// 0 or less stands for no exit.
pub(crate) fn is_distance(distance: f64) -> bool {
    (-1.0..1.0).contains(&distance)
}

/// Replaces `conditions` by the exits of a row of orders.
///
/// `distances` has two numbers per symbol, and may be empty. The exits are on the losing and the winning side of the
/// weight ordered, or of the position for a hold; without either there are none.
pub(crate) fn bracket_orders(distances: &[f64], orders: &[f64], book: &Book, conditions: &mut Vec<DayOrder>) {
    conditions.clear();
    for (symbol, (of, weight)) in distances.as_chunks::<DISTANCES>().0.iter().zip(orders).enumerate() {
        let weight = if weight.is_nan() { book.weight(symbol) } else { *weight };
        if weight == 0.0 || of.iter().all(|distance| *distance <= 0.0) {
            continue;
        }
        let (mark, side) = (book.mark(symbol), weight.signum());
        let price = |distance: f64, side: f64| if distance > 0.0 { mark * (1.0 + side * distance) } else { f64::NAN };
        let (stop_loss, take_profit) = (price(of[0], -side), price(of[1], side));
        conditions.push(DayOrder { stop_loss, take_profit, ..DayOrder::unconditional(symbol) });
    }
}
