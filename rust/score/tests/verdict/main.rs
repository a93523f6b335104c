//! Verdicts: what each gate asks, and how often luck passes them all.

mod agents;
mod field;
mod gates;
mod properties;
mod refusals;
mod sealed;
mod size;
