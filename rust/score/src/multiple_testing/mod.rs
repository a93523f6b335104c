//! Multiple testing over a field of agents: adjusted p-values, tie bands and PBO.
//!
//! Imports `bootstrap`, `error` and `metrics`.

pub(crate) mod backtest_overfitting;
mod field_tests;
mod kernel_variance;
mod p_value_adjustment;
pub(crate) mod pairwise_tests;
pub(crate) mod tie_bands;

pub use field_tests::{FieldTests, field_tests};
pub use p_value_adjustment::{benjamini_hochberg, holm};
