//! The `Agent` trait, agent answers and the baselines.
//!
//! Imports no other module of the crate. Agents see observations and never the dataset.

pub(crate) mod agent;
pub(crate) mod agent_answer;
mod allocation;
mod baseline;
mod random_weights;
mod trend;

pub use agent::Agent;
pub use allocation::{BuyAndHold, EqualWeight, HoldCash, InverseVolatility};
pub use baseline::{BASELINES, baseline};
pub use random_weights::RandomWeights;
pub use trend::{MeanReversion, Momentum};
