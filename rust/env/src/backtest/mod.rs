//! Backtests: settings, the loop over the bars of a window, and the run.
//!
//! Imports `agents` and `episode`.

pub(crate) mod condition_table;
pub(crate) mod order_table;
mod pace;
mod passive_portfolios;
pub(crate) mod run;
pub(crate) mod run_backtest;
pub(crate) mod strategy_weights;
pub(crate) mod table_account;
