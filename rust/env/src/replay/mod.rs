//! Recorded runs: capture, replay, divergences, and the scored submission.
//!
//! Imports `agents`, `backtest` and `episode`.

pub(crate) mod capture;
pub(crate) mod divergence;
pub(crate) mod record_header;
pub(crate) mod record_integrity;
pub(crate) mod replay_run;
pub(crate) mod replay_terms;
pub(crate) mod replay_trace;
pub(crate) mod run_divergences;
pub(crate) mod score_submission;
