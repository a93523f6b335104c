//! Agents, and the baselines every result should be held against.

pub(crate) mod agent;
pub(crate) mod agent_answer;
mod allocation;
mod random_weights;
mod trend;

pub use agent::{Agent, BASELINES, baseline};
pub use allocation::{BuyAndHold, EqualWeight, HoldCash, InverseVolatility};
pub use random_weights::RandomWeights;
pub use trend::{MeanReversion, Momentum};
