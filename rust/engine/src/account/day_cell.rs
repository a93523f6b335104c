use crate::account::day_order::DayOrder;
use crate::account::event::UnfilledReason;

/// When an order fills in a bar, in the order of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// At the open.
    Opens,
    /// Between open and close, at a price of the order.
    Inside,
    /// At the close.
    Closes,
}

/// Scratch memory of one symbol in a bar with day orders.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DayCell {
    /// The conditions, on the share basis of the fill bar.
    pub(crate) order: DayOrder,
    /// The sign of the target, which the exits belong to; 0 without exits.
    pub(crate) side: f64,
    /// When the order fills, if it does.
    pub(crate) phase: Option<Phase>,
    /// Why the order is dropped, and in which phase that is reported.
    pub(crate) failure: Option<(Phase, UnfilledReason)>,
    /// Price of the fill before its cost, NaN for a fill at the limit.
    pub(crate) base: f64,
    /// The reference price, which bounds the price before cost of a fill at the limit.
    pub(crate) open: f64,
    /// Slippage with its jitter, and the impact coefficient.
    pub(crate) slippage: f64,
    pub(crate) impact: f64,
    /// Shares traded in the bar so far, without sign.
    pub(crate) traded: f64,
    /// Price before cost of a fill inside the bar that added to the position.
    ///
    /// NaN without one.
    pub(crate) entry: f64,
    /// Whether the order filled inside the bar.
    pub(crate) filled_inside: bool,
    /// Shares after the fills at the open.
    pub(crate) held_opens: f64,
    /// Shares after the fills inside the bar and before the exits.
    pub(crate) held_inside: f64,
}

impl DayCell {
    /// Returns the cell of a symbol without an order.
    pub(crate) fn idle(symbol: usize) -> Self {
        Self {
            order: DayOrder::unconditional(symbol),
            side: 0.0,
            phase: None,
            failure: None,
            base: f64::NAN,
            open: f64::NAN,
            slippage: 0.0,
            impact: 0.0,
            traded: 0.0,
            entry: f64::NAN,
            filled_inside: false,
            held_opens: 0.0,
            held_inside: 0.0,
        }
    }
}
