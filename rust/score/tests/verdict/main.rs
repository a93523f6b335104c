//! Verdicts: gates, and the rate at which luck passes all of them.

mod editions;
mod false_positive_rate;
mod field_scores;
mod gates;
mod properties;
mod random_agents;
mod refusals;
mod sealed_windows;
