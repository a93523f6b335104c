//! A fast reader of run records in the log of a ledger.
//!
//! It reads only lines in the form that a ledger writes, with the same result as the general reader. All other lines
//! are left to the general reader. Imports `wire`.

mod base64;
pub(crate) mod line_reader;
mod line_values;
mod run_entry;

pub use line_reader::{LedgerSegment, Link, read_runs};
pub use run_entry::{PlainRun, Vocabulary};
