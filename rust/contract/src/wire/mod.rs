//! The messages of the contract, and canonical JSON (RFC 8785), their encoding.
//!
//! Imports no other module of the crate.

pub(crate) mod action;
pub mod canonical_json;
pub(crate) mod canonicalization;
pub(crate) mod decision;
pub(crate) mod decision_error;
pub(crate) mod fields;
pub(crate) mod observation;
pub(crate) mod order_conditions;
pub(crate) mod orders;
pub(crate) mod scenario_json;
pub(crate) mod step_info;
pub(crate) mod version;
