//! Properties of the interfaces on random markets.
//!
//! Equal numbers, no look-ahead, and no partial step.

mod book_parity;
mod checkpoints;
mod day_orders;
mod extremes;
mod held_stretches;
mod interface_parity;
mod lane_parity;
mod lookahead;
#[path = "../../../engine/tests/properties/place_hash.rs"]
mod place_hash;
mod random_batches;
mod random_cases;
#[path = "../../../engine/tests/properties/random_market.rs"]
mod random_market;
mod sliding_windows;
