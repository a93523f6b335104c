//! Probability forecasts of agents on markets: scores, effects and intervals.
//!
//! Imports `bootstrap`.

mod agent_effects;
mod forecast_intervals;
mod forecast_set;
mod paired_test;

pub use agent_effects::agent_effects;
pub use forecast_intervals::{ForecastIntervals, forecast_intervals};
pub use forecast_set::{Forecasts, log_scores};
pub use paired_test::{PairedForecasts, paired_forecasts};
