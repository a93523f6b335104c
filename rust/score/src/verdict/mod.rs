//! The verdict on an agent: its gates, what each was made of, and its rank.
//!
//! `docs/score.md` says what each gate asks and why.

mod active;
mod beside;
mod config;
mod error;
mod field;
mod gates;
mod judge;
mod luck;
mod pass_k;
mod prepare;
mod process;
mod rank;
mod reason;
mod report;
mod score;
mod sealed;
mod tracks;
mod windows;

pub use beside::Beside;
pub use config::{Counted, Drawing, Gates, PassMode, ScoreConfig, SuiteWindow, WindowKey};
pub use error::ScoreError;
pub use field::{Field, score_agent, score_field, score_run};
pub use gates::Gate;
pub use luck::{LuckFloor, Lucky};
pub use pass_k::PassK;
pub use process::{Isolation, Process};
pub use rank::Separation;
pub use reason::{Known, Reason, Unknown};
pub use score::{CompositeScore, Market, Side, Verdict, WindowScore};
pub use sealed::Sealed;
