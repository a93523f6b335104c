//! The arena log: lines of canonical JSON in a hash chain.
//!
//! A record is a leaf of a Merkle tree. A submission commits to decisions that are revealed later. This module
//! audits a log and its reveals; Python checks checkpoints and signatures. Imports `merkle` and `wire`.

mod audit;
mod commitment;
mod json_scanner;
mod record_types;

pub use audit::{Fault, LONGEST, Log, record_fault};
pub use commitment::{Decided, Head, Sealed, seal_submission};
