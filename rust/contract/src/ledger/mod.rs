//! Lines of a ledger's log that are as a ledger writes them.
//!
//! Whatever is unusual in a line, right or wrong, is left to the reader that knows all of it: a line that is taken here
//! is one that it would read the same.

mod base64;
pub(crate) mod line_reader;
mod run_entry;

pub use line_reader::{Link, Stretch, read_runs};
pub use run_entry::{PlainRun, Vocabulary};
