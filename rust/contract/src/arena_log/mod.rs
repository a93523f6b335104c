//! The log of an arena: lines of canonical JSON that are chained by hashes.
//!
//! A record is a leaf of a Merkle tree, and a submission commits to decisions that are revealed later. This is the audit
//! of what a log and its reveals say by themselves; checkpoints and signatures are checked in Python.

mod audit;
mod commitment;
mod json_scanner;
mod record_types;

pub use audit::{Fault, LONGEST, Log, record_fault};
pub use commitment::{Decided, Head, Sealed, seal_submission};
