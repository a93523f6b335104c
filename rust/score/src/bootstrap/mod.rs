//! Resampling of days in blocks, which keeps what one day tells about the next.

mod blocks;
mod interval;
mod length;
mod long_run;
mod mean;
mod setup;
mod sums;

pub(crate) use blocks::{Starts, Stationary, Stream};
pub(crate) use interval::{Adds, Resampled, Track, Tracks, least_draws};
pub use interval::{Interval, sharpe_interval};
pub(crate) use length::influence;
pub use length::{block_length, sharpe_block_length};
pub use mean::{MeanTest, mean_test};
pub(crate) use mean::{each_chunk, sign_flip};
pub use setup::{BadSetup, Draws, Panel, TestError};
pub(crate) use setup::{MAX_DRAWS, MIN_DAYS, check_year_and_level, edges, sufficient};
pub(crate) use sums::Sums;
