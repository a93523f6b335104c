//! Market data, book, costs and the single step that moves money.
//!
//! No serde, no clock, no I/O and no threads: everything here is a pure function of its inputs. The rules are those of
//! the bar timeline in `contract/README.md`.

mod account;
mod error;
mod fast_path;
mod market;
pub mod scenario;
mod step;
mod vector;

pub use account::account_view::Held;
pub use account::book::Book;
pub use account::costs::{CostModel, StepCosts};
pub use account::event::{Event, LimitReason, RefusalReason, UnfilledReason};
pub use account::fill_noise::FillKey;
pub use account::lane_terms::{Tariff, Whose};
pub use account::limits::Limits;
pub use account::outcome::{Growth, Stepped};
pub use account::rules::{MAX_ABS_WEIGHT, Rules};
pub use account::workspace::{Desk, Detail};
pub use error::{ConfigError, DataError, StepError};
pub use fast_path::action_rows::widen_rows;
pub use fast_path::log_returns::log_returns;
pub use fast_path::{
    Growths, Observed, Orders, Pack, Shelf, ShelfMut, Slid, Spare, Track, run_group, step_pack, step_shelf,
};
pub use market::as_of::AsOf;
pub use market::columns::{Columns, Fundamental, NewsItem, Origin};
pub use market::dataset::{DEFAULT_PERIODS_PER_YEAR, Dataset};
pub use market::size_limits::check_rows;
pub use market::window::{DEFAULT_LOOKBACK, Window};
#[cfg(feature = "planted")]
pub use step::planted_faults;
pub use step::step_once::step_once;
pub use vector::lane_sums;
pub use vector::prefetch::prefetch;
pub use vector::streaming_store::Bypass;
