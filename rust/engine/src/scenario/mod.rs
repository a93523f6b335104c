//! Synthetic markets: specifications, keys and the generator.
//!
//! A spec and a key give the same bits on every machine. Imports `error`, `market` and `vector`.

mod generator;
mod key;
mod log_exp;
mod martingale;
mod normal_quantile;
mod random_draws;
mod random_stream;
mod regime;
mod scenario_dataset;
mod spec;
mod stochastic_volatility;
mod symbol_parameters;
mod table_writer;
mod tiers;

pub use key::Key;
pub use scenario_dataset::ScenarioError;
pub use spec::{Family, Jumps, ScenarioSpec, SpecError, Swing};
