//! Day orders: limits, stops, exits and orders at the close.
//!
//! These are the rules of section 1.9 of `contract/README.md`.
//!
//! They replace steps 7 to 12 in a bar that has one. Fills come in phases: opens, inside the bar, exits, closes.

mod bar_prices;
mod conditions;
mod day_bar;
mod day_fills;
mod day_trades;
mod exits;
mod phases;

pub(crate) use day_bar::DayBar;
pub(crate) use day_trades::trade;
