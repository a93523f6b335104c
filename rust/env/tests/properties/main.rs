//! Properties of the doors on random markets.
//!
//! One number everywhere, nothing of the future, and no half-made step.

#[path = "../../../engine/tests/properties/dice.rs"]
mod dice;
mod doors;
mod draws;
mod extremes;
mod future;
mod lanes;
#[path = "../../../engine/tests/properties/market.rs"]
mod market;
mod play;
mod state;
mod strips;
mod twins;
