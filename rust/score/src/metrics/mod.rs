//! Metrics of one series of returns, of its weights and of its trades.
//!
//! Imports `error`.

pub(crate) mod drawdown;
pub(crate) mod exposure;
pub(crate) mod growth;
pub(crate) mod lagged_products;
pub(crate) mod moments;
pub(crate) mod rates;
pub(crate) mod ratios;
pub(crate) mod running_moments;
pub(crate) mod sharpe_error;
pub(crate) mod signed_sums;
pub(crate) mod summary;
pub(crate) mod tails;
pub mod trades;
