//! One episode: an account in a window of bars, its windows and its rewards.
//!
//! Imports nothing of the crate.

pub(crate) mod episode_windows;
pub(crate) mod reward;
pub(crate) mod single_episode;
