//! Market data, book, costs and the single step that moves money.
//!
//! No serde, no clock, no I/O and no threads: everything here is a pure function of its inputs. The rules are those of
//! the bar timeline in `contract/README.md`.

mod as_of;
mod book;
mod columns;
mod content;
mod costs;
mod csv_text;
mod dataset;
mod date;
mod error;
mod event;
mod execution;
mod fill_noise;
mod fill_prices;
mod fingerprint;
mod grid;
mod grids;
mod held;
mod limits;
mod logs;
mod plain;
#[cfg(feature = "planted")]
pub mod planted;
mod rare;
pub mod scenario;
mod settlement;
mod size;
mod sizing;
mod step;
mod synthetic;
mod tables;
mod validate;
mod vector;
mod widen;
mod window;

pub use as_of::AsOf;
pub use book::Book;
pub use columns::{Columns, Fundamental, NewsItem, Origin};
pub use costs::{CostModel, StepCosts};
pub use dataset::{DEFAULT_PERIODS_PER_YEAR, Dataset};
pub use error::{ConfigError, DataError, StepError};
pub use event::{Event, LimitReason, RefusalReason, UnfilledReason};
pub use fill_noise::FillKey;
pub use held::Held;
pub use limits::Limits;
pub use logs::log_returns;
pub use plain::{
    Growths, Observed, Orders, Pack, Shelf, ShelfMut, Slid, Spare, Tariff, Track, Whose, run_group, step_pack,
    step_shelf,
};
pub use size::check_rows;
pub use step::{Desk, Detail, Growth, MAX_ABS_WEIGHT, Rules, Stepped, step_once};
pub use vector::lane_sums;
pub use vector::prefetch::prefetch;
pub use vector::streaming_store::Bypass;
pub use widen::widen_rows;
pub use window::{DEFAULT_LOOKBACK, Window};
