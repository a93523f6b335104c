//! Vector arithmetic, sums in eight lanes, prefetch and streaming stores.
//!
//! Imports no other room. Results have the same bits at every vector width.

pub(crate) mod cpu_features;
pub(crate) mod dispatch;
pub mod lane_sums;
pub(crate) mod prefetch;
pub(crate) mod simd;
pub(crate) mod streaming_store;
