//! The `Agent` trait, agent answers and the baselines.
//!
//! Imports no other room. Agents see observations and never the dataset.

pub(crate) mod agent;
pub(crate) mod agent_answer;
mod allocation;
mod random_weights;
mod trend;

pub use agent::{Agent, BASELINES, baseline};
pub use allocation::{BuyAndHold, EqualWeight, HoldCash, InverseVolatility};
pub use random_weights::RandomWeights;
pub use trend::{MeanReversion, Momentum};
