//! Vector arithmetic, sums in eight lanes, prefetch, streaming stores and huge pages.
//!
//! Imports no other module of the crate. Results have the same bits at every vector width.

pub(crate) mod cpu_features;
pub(crate) mod dispatch;
pub(crate) mod huge_pages;
pub mod lane_sums;
pub(crate) mod prefetch;
pub(crate) mod simd;
pub(crate) mod streaming_store;
