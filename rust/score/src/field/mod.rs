//! Whether anybody in a field of agents beats the benchmark, and who.

mod adjust;
mod statistics;
mod variance;

pub use adjust::{benjamini_hochberg, holm};
pub use statistics::{FieldTests, field_tests};
