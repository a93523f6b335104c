//! Vectorized environments: a batch of lanes, stepped by threads on the fast path.
//!
//! A step parses no JSON and allocates no memory. Imports `episode`.

mod batch_market;
mod batch_settings;
mod brackets;
mod buffers;
mod history_columns;
mod lane_accounts;
pub(crate) mod lane_batch;
mod lane_brackets;
mod lane_checks;
mod lane_episodes;
mod lane_rewards;
mod observed_columns;
mod saved_lanes;
mod sliding_windows;
mod step_parts;
mod stepped_lane;
mod streaming_observations;
mod thread_pool;
mod thread_share;
mod thread_workspace;

pub use batch_market::{Market, observe_account};
pub use batch_settings::{Autoreset, BatchError, Settings, Terms};
pub use buffers::{DictArrays, ObservationArrays, Outcome};
pub use lane_batch::Batch;
pub use observed_columns::{ObservedColumn, ObservedNames, Scale};
pub use sliding_windows::{SlidingArray, SlidingTurn};
