//! The wire contract: what an agent is shown and may answer, and the bytes of both.
//!
//! The messages are described in `contract/README.md`; their schemas and vectors lie beside it.

mod canonical;
mod decision;
mod error;
mod info;
pub mod json;
pub mod ledger;
pub mod log;
pub mod merkle;
mod observation;
mod orders;
pub mod record;
mod scenario;
mod submission;

pub use canonical::{NotJson, canonicalize};
pub use decision::{Action, Decision, Order};
pub use error::DecisionError;
pub use info::StepInfo;
pub use observation::{MarketObservation, Position, PrintedCloses, SymbolHistory, write_observation};
pub use openoutcry_engine::{CostModel, Limits, StepCosts, Window};
pub use orders::{Refusal, place_orders, to_orders, write_orders};
pub use scenario::{SpecTextError, spec_digest, spec_from_json, spec_to_json};
pub use submission::{Benchmarks, StatedOrder, Submission, SubmittedRun, Trace};

/// The version of the wire contract, independent of the version of any package.
pub const CONTRACT_VERSION: &str = "1.0";

/// Every version of the wire contract that there has been, the present one last.
pub const CONTRACT_VERSIONS: [&str; 1] = [CONTRACT_VERSION];
