//! Skill or luck: deflated Sharpe ratios, benchmarks, calibration and power.
//!
//! Ratios are per bar unless a function takes `periods_per_year`. Callers pass excess or active returns. Imports
//! `error`, `metrics` and `normal_distribution`.

mod benchmark;
mod calibration;
mod cost_sensitivity;
mod deflated_sharpe;
mod effective_trials;
mod hierarchical_clustering;
mod min_track_record;
mod passive_mix;
mod past_mix;
pub mod power;
mod rolling_sharpe;
mod rolling_windows;

pub use benchmark::{Regression, Tracking, regress, tracking};
pub use calibration::{Bin, Calibration, Stated, calibrate};
pub use cost_sensitivity::{at_cost, break_even_bps};
pub use deflated_sharpe::{Deflated, Selection, deflate, expected_max, probabilistic_sharpe, z_score};
pub use effective_trials::{MAX_CLUSTERED, Trials, trials};
pub use min_track_record::{min_backtest_years, min_track_record};
pub use passive_mix::unexplained;
pub use past_mix::unexplained_by_past;
pub use rolling_sharpe::{Decay, decay, rolling_sharpe, worst};
pub use rolling_windows::{rolling_beta, rolling_sortino, rolling_volatility};
