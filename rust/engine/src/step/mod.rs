//! The fifteen steps of the timeline of `contract/README.md`, for one account.
//!
//! Imports `account`, `error`, `fast_path`, `market` and `vector`. `step_once` is the entry point.

pub(crate) mod accrual;
pub(crate) mod corporate_actions;
mod day_orders;
pub(crate) mod execution;
pub(crate) mod liquidity;
#[cfg(feature = "planted")]
pub mod planted_faults;
pub(crate) mod sizing;
pub(crate) mod solvency;
pub(crate) mod step_once;
