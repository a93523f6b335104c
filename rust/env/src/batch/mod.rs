//! Many accounts in step: a learner's door to the same engine.
//!
//! It is without JSON and without an allocation a step.

mod batch_market;
mod batch_settings;
mod buffers;
mod lane_accounts;
pub(crate) mod lane_batch;
mod lane_episodes;
mod sliding_windows;
mod step_parts;
mod streaming_observations;
mod thread_pool;
mod thread_share;

pub use batch_market::{Market, observe_account};
pub use batch_settings::{Autoreset, BatchError, Settings, Terms};
pub use buffers::{Arrays, Outcome, Seen};
pub use lane_batch::Batch;
pub use sliding_windows::{Sliding, Strip};
