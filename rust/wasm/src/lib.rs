//! The JavaScript door: converts, decides nothing. What is asked and told is JSON of the contract.

mod backtest;
mod dataset;
mod environment;
mod error;
mod record;
mod settings;
