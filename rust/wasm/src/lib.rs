//! The JavaScript door: converts, decides nothing.
//!
//! What is asked and told is JSON of the contract.

mod backtest;
mod columns;
mod dataset;
mod environment;
mod error;
mod hashes;
mod number;
mod record;
mod scoring;
mod settings;
