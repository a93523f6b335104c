//! The JavaScript bindings: they convert arguments and contain no rules.
//!
//! Arguments and results are JSON of the contract.

mod backtest;
mod dataset;
mod digests;
mod environment;
mod error;
mod json_number;
mod market_json;
mod record;
mod run_settings;
mod verdict;
