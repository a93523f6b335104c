//! Verdicts: what each gate asks, and how often luck passes them all.

mod false_positive_rate;
mod field_scores;
mod gates;
mod properties;
mod random_agents;
mod refusals;
mod sealed_windows;
