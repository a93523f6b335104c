//! Day orders: limits, stops, exits and orders at the close (section 1.9 of `contract/README.md`).
//!
//! They replace steps 7 to 12 in a bar that has one. Fills come in phases: opens, inside the bar, exits, closes.

mod bar_prices;
mod conditions;
mod day_trades;
mod exits;
mod phases;

pub(crate) use day_trades::{DayBar, trade};
