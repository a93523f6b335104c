//! Properties of one step on random markets.
//!
//! They hold for every market, order, cost and limit.

mod account_walk;
mod accounting;
mod coverage;
mod csv_plain_rows;
mod market_bytes;
mod order_cuts;
mod place_hash;
mod random_market;
mod symmetry;
