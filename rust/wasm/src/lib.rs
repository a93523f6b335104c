//! The JavaScript door: converts, decides nothing.
//!
//! What is asked and told is JSON of the contract.

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
