//! The verdict on an agent: gates with their inputs, and the rank.
//!
//! `docs/score.md` explains each gate. Imports `bootstrap`, `error`, `metrics`,
//! `multiple_testing`, `normal_distribution` and `skill`.

mod active_returns;
mod benchmark_side;
mod composite_score;
mod deflated_ratio;
mod diagnostics;
mod edition;
mod elapsed_days;
mod error;
mod execution_delay;
mod field_agents;
mod field_scores;
mod gates;
mod joint_scores;
mod luck_floor;
mod pass_k;
mod pooled_windows;
mod process;
mod ranking;
mod reason;
mod score_config;
mod score_json;
mod sealed_result;
mod sealed_windows;
mod window_runs;
mod window_tests;

pub use active_returns::Market;
pub use benchmark_side::Side;
pub use composite_score::CompositeScore;
pub use diagnostics::Diagnostics;
pub use edition::Edition;
pub use error::ScoreError;
pub use execution_delay::ExecutionDelay;
pub use field_scores::{Field, score_agent, score_field, score_run};
pub use gates::{Gate, Verdict};
pub use luck_floor::{LuckFloor, LuckFloorAgent};
pub use pass_k::PassK;
pub use process::{Isolation, Process};
pub use ranking::Separation;
pub use reason::{Known, Reason, Unknown};
pub use score_config::{Counted, Drawing, Gates, PassMode, ScoreConfig, SuiteWindow, WindowKey, WindowMode};
pub use sealed_result::Sealed;
pub use window_tests::WindowScore;
