//! The state of an account, the rules of its trades, and what a step reports.
//!
//! Imports `error`, `market` and `vector`. Moves no money: `step` and `fast_path` do.

pub(crate) mod account_view;
pub(crate) mod block_terms;
pub(crate) mod book;
pub(crate) mod cost_tables;
pub(crate) mod costs;
pub(crate) mod day_cell;
pub(crate) mod day_order;
pub(crate) mod event;
pub(crate) mod fill_noise;
pub(crate) mod gross_exposure;
pub(crate) mod lane_terms;
pub(crate) mod limits;
pub(crate) mod outcome;
pub(crate) mod rates;
pub(crate) mod rules;
pub(crate) mod saved_book;
pub(crate) mod totals;
pub(crate) mod workspace;
