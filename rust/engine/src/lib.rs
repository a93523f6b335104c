//! Market data, accounts, costs and `step_once`, the step that trades an account.
//!
//! The crate has no serde, no clock, no I/O and no threads. Every function is a pure function of its inputs. The rules
//! are the bar timeline of `contract/README.md`.

mod account;
mod counted_nouns;
mod error;
mod fast_path;
mod market;
pub mod parquet;
pub mod scenario;
mod step;
mod vector;

pub use account::account_view::AccountView;
pub use account::block_terms::BlockTerms;
pub use account::book::Book;
pub use account::costs::{CostModel, StepCosts};
pub use account::day_order::DayOrder;
pub use account::event::{Event, ExitReason, LimitReason, RefusalReason, UnfilledReason};
pub use account::fill_noise::FillKey;
pub use account::lane_terms::LaneTerms;
pub use account::limits::Limits;
pub use account::outcome::{RewardInputs, Stepped};
pub use account::rules::{MAX_ABS_WEIGHT, Rules};
pub use account::totals::Totals;
pub use account::workspace::{Detail, Workspace};
pub use counted_nouns::counted;
pub use error::{ConfigError, DataError, StepError};
pub use fast_path::action_rows::widen_rows;
pub use fast_path::log_returns::log_returns;
pub use fast_path::{
    AccountBlock, AccountStore, AccountStoreMut, BlockOrders, BlockOutcome, BlockRun, HeldBar, ObservationRows,
    SlidingRows, StoreWorkspace, run_block, run_held, step_block, step_store,
};
pub use market::as_of::AsOf;
pub use market::bar_counts::bar_count_notices;
pub use market::bar_frequency::inferred_periods_per_year;
pub use market::charges::Charge;
pub use market::columns::{Columns, Feature, FeatureScope, Fundamental, NewsItem, Origin};
pub use market::csv_reader::CsvReader;
pub use market::csv_rows::CsvRows;
pub use market::dataset::{DEFAULT_PERIODS_PER_YEAR, Dataset};
pub use market::date::DateForm;
pub use market::dates::{Dates, ShownDate};
pub use market::long_rows::LongRows;
pub use market::row_lines::RowLines;
pub use market::sheet_cells::{CellText, SheetCells};
pub use market::sheet_reader::{NumberKind, SheetLimits, SheetReader, SheetSize};
pub use market::sheet_strings::SheetStrings;
pub use market::sheet_xml::SheetFault;
pub use market::size_limits::check_rows;
pub use market::text_columns::TextColumns;
pub use market::user_market::StatedPeriods;
pub use market::validation::most_cash_return;
pub use market::window::{DEFAULT_LOOKBACK, Window};
#[cfg(feature = "planted")]
pub use step::planted_faults;
pub use step::step_once::{step_day_orders, step_once};
pub use vector::dispatch::with_vector_instructions;
pub use vector::lane_sums;
pub use vector::prefetch::prefetch;
pub use vector::streaming_store::StreamingStore;
