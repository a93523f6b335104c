//! Multiple testing over a field of agents: adjusted p-values, tie bands and PBO.
//!
//! Imports `bootstrap`, `error` and `metrics`.

pub(crate) mod backtest_overfitting;
mod kernel_variance;
mod p_value_adjustment;
pub(crate) mod pairwise_tests;
mod reality_check;
pub(crate) mod tie_bands;

pub use p_value_adjustment::{benjamini_hochberg, holm};
pub use reality_check::{FieldTests, field_tests};
