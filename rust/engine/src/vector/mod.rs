//! Vector arithmetic, sums in eight lanes, prefetch and streaming stores.
//!
//! Imports no other module of the crate. Results have the same bits at every vector width.

pub(crate) mod cpu_features;
pub(crate) mod dispatch;
pub mod lane_sums;
pub(crate) mod prefetch;
pub(crate) mod simd;
pub(crate) mod streaming_store;
