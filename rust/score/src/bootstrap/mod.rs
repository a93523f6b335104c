//! Block bootstraps, which preserve serial dependence; their tests and intervals.
//!
//! Imports `error` and `metrics`.

mod block_draws;
mod block_length;
mod block_sums;
mod draws;
mod error;
mod long_run_variance;
mod mean_test;
mod panel;
mod sharpe_interval;

pub(crate) use block_draws::{Starts, Stationary, Stream};
pub(crate) use block_length::influence;
pub use block_length::{block_length, sharpe_block_length};
pub(crate) use block_sums::Sums;
pub use draws::Draws;
pub(crate) use draws::{MAX_DRAWS, check_year_and_level};
pub use error::{BadSetup, TestError};
pub use mean_test::{MeanTest, mean_test};
pub(crate) use mean_test::{each_chunk, sign_flip};
pub use panel::Panel;
pub(crate) use panel::{MIN_DAYS, edges, sufficient};
pub(crate) use sharpe_interval::{Adds, Resampled, Track, Tracks, least_draws};
pub use sharpe_interval::{Interval, sharpe_interval};
