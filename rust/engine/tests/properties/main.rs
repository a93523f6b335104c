//! Properties of one step on random markets.
//!
//! They hold for every market, order, cost and limit.

mod accounting;
mod bytes;
mod cuts;
mod dice;
mod market;
mod reach;
mod symmetry;
mod walk;
