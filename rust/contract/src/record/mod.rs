//! Run records: settings, decisions and a hash chain.
//!
//! A record holds no results. A replay on the same data reproduces every number to the bit, and the chain locates
//! changes. See `contract/README.md`, section 7. Imports `wire`.

mod agent_fault;
mod digest;
mod error;
mod harness;
mod hash_chain;
mod header;
mod jsonl;
mod reader;
mod recorder;
mod run_comparison;
mod signature;
pub(crate) mod submission;
mod trajectory;
mod writer;

pub use agent_fault::{Fault, FaultKind};
pub use digest::Digest;
pub use error::RecordError;
pub use harness::{Harness, Tier, Transport};
pub use hash_chain::{Break, Place};
pub use header::{DatasetName, Fill, Header};
pub use jsonl::Lines;
pub use recorder::{Recorder, Seen};
pub use run_comparison::{Divergence, SettingDifference, compare_runs, ulps_between};
pub use signature::{Signature, conformance_is_signed, public_key, sign_conformance};
pub use trajectory::{AgentTrajectory, End, RunTrajectory, Step, check_agent_id};

/// The version of the record format.
pub const RECORD_VERSION: &str = "1.0";

/// The largest number of code points in the name of an agent.
pub const MAX_AGENT_ID: usize = 200;

/// The largest integer that every JSON reader represents exactly.
pub(crate) const MAX_INTEGER: u64 = (1 << 53) - 1;
