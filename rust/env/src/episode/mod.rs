//! One episode: an account in a window of bars, its windows and its rewards.
//!
//! Imports no other module of the crate.

pub(crate) mod bracket_orders;
pub(crate) mod episode_windows;
pub(crate) mod reward;
pub(crate) mod reward_state;
pub(crate) mod reward_terms;
pub(crate) mod saved_words;
pub(crate) mod single_episode;
pub(crate) mod step_record;
