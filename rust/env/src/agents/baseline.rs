//! The baselines by name.

use crate::agents::agent::Agent;
use crate::agents::allocation::{BuyAndHold, EqualWeight, HoldCash, InverseVolatility};
use crate::agents::random_weights::RandomWeights;
use crate::agents::trend::{MeanReversion, Momentum};

/// The names of the baselines, in display order.
pub const BASELINES: [&str; 7] =
    ["hold-cash", "buy-and-hold", "equal-weight", "momentum", "mean-reversion", "inverse-volatility", "random"];

/// Returns a baseline by its name in [`BASELINES`].
///
/// Only `random` uses `seed`.
#[must_use]
pub fn baseline(name: &str, seed: u64) -> Option<Box<dyn Agent + Send + Sync>> {
    Some(match name {
        "hold-cash" => Box::new(HoldCash),
        "buy-and-hold" => Box::new(BuyAndHold::default()),
        "equal-weight" => Box::new(EqualWeight),
        "momentum" => Box::new(Momentum),
        "mean-reversion" => Box::new(MeanReversion),
        "inverse-volatility" => Box::new(InverseVolatility),
        "random" => Box::new(RandomWeights::new(seed)),
        _ => return None,
    })
}
