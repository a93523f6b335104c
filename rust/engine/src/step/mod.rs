//! The fifteen steps of the timeline, in `contract/README.md`, for one account.
//!
//! Imports `account`, `fast_path`, `market` and `vector`. `step_once` is the only way to trade.

pub(crate) mod accrual;
pub(crate) mod corporate_actions;
pub(crate) mod execution;
#[cfg(feature = "planted")]
pub mod planted_faults;
pub(crate) mod sizing;
pub(crate) mod solvency;
pub(crate) mod step_once;
