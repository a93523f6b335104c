//! The wire contract: observations, decisions and records, and their bytes.
//!
//! The messages are described in `contract/README.md`. Schemas and test vectors are in the same folder.

pub mod arena_log;
pub mod ledger;
pub mod merkle;
pub mod readable_text;
pub mod record;
mod wire;

pub use openoutcry_engine::{CostModel, Limits, StepCosts, Window, counted};
pub use record::submission::{Benchmarks, StatedOrder, Submission, SubmittedRun, Trace};
pub use wire::action::Action;
pub use wire::canonical_json;
pub use wire::canonicalization::{NotJson, canonicalize};
pub use wire::decision::{Decision, Order};
pub use wire::decision_error::DecisionError;
pub use wire::observation::{MarketObservation, Position, PrintedCloses, SymbolHistory, write_observation};
pub use wire::order_conditions::{FillTime, OrderConditions};
pub use wire::orders::{Refusal, check_day_order, place_orders, to_orders, write_orders};
pub use wire::scenario_json::{SpecTextError, spec_digest, spec_from_json, spec_to_json};
pub use wire::step_info::StepInfo;
pub use wire::version::{CONTRACT_VERSION, CONTRACT_VERSIONS, DAY_ORDERS_VERSION};
