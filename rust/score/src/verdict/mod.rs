//! The verdict on an agent: gates with their inputs, and the rank.
//!
//! `docs/score.md` explains each gate. Imports all other rooms except `forecasts`.

mod active_returns;
mod composite_score;
mod diagnostics;
mod error;
mod field_agents;
mod field_scores;
mod gates;
mod joint_scores;
mod luck_floor;
mod pass_k;
mod process;
mod ranking;
mod reason;
mod score_config;
mod score_json;
mod sealed_windows;
mod window_runs;
mod window_tests;

pub use composite_score::{CompositeScore, Market, Side, Verdict, WindowScore};
pub use diagnostics::Diagnostics;
pub use error::ScoreError;
pub use field_scores::{Field, score_agent, score_field, score_run};
pub use gates::Gate;
pub use luck_floor::{LuckFloor, LuckFloorAgent};
pub use pass_k::PassK;
pub use process::{Isolation, Process};
pub use ranking::Separation;
pub use reason::{Known, Reason, Unknown};
pub use score_config::{Counted, Drawing, Gates, PassMode, ScoreConfig, SuiteWindow, WindowKey};
pub use sealed_windows::Sealed;
