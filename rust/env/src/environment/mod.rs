//! The environment: reset, step and saved states, with values or JSON.
//!
//! Imports `episode`.

pub(crate) mod env_state;
pub(crate) mod step_result;
pub(crate) mod trading_env;
