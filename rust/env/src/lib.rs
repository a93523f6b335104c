//! The open trading floor for agents: an environment and a backtest on one step.
//!
//! ```
//! use openoutcry::{CostModel, Dataset, TradingEnv, Window, agents, run_backtest};
//! use std::sync::Arc;
//!
//! let data = Arc::new(Dataset::synthetic(4, 120, 7)?);
//! let window = Window { start: 19, end: 120 };
//!
//! let run = run_backtest(&data, &mut agents::EqualWeight, window, 0, CostModel::default())?;
//! println!("equal weight made {:+.2} %", 100.0 * (run.nav[run.nav.len() - 1] - 1.0));
//!
//! let mut env = TradingEnv::new(data, window, CostModel::default(), 0)?;
//! let mut observation = env.reset();
//! loop {
//!     let decision = openoutcry::Agent::decide(&mut agents::EqualWeight, &observation);
//!     let step = env.step(&decision)?;
//!     if step.done {
//!         assert_eq!(step.info.nav.to_bits(), run.nav[run.nav.len() - 1].to_bits());
//!         break;
//!     }
//!     observation = step.observation;
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod agents;
mod backtest;
pub mod batch;
mod environment;
mod episode;
mod replay;

pub use agents::Agent;
pub use agents::agent_answer::AgentAnswer;
pub use backtest::condition_table::ConditionTable;
pub use backtest::order_table::OrderTable;
pub use backtest::run::{Fill, Flows, Run};
pub use backtest::run_backtest::{Backtest, BacktestError, run_backtest};
pub use backtest::strategy_weights::shown_closes::ShownCloses;
pub use backtest::strategy_weights::strategy_rule::StrategyRule;
pub use backtest::table_account::TableBlocks;
pub use environment::env_state::State;
pub use environment::step_result::{Info, JsonStep, StepJsonError, StepResult};
pub use environment::trading_env::TradingEnv;
pub use episode::episode_windows::{EpisodeMarkets, EpisodeStream, EpisodeWindows};
pub use episode::reward::{Reward, Shaping};
pub use episode::reward_state::{RewardState, StepFigures};
pub use episode::reward_terms::RewardTerms;
pub use episode::step_record::StepRecord;
pub use openoutcry_contract::{
    Action, Benchmarks, CONTRACT_VERSION, Decision, DecisionError, MarketObservation, Order, Position, Refusal,
    StatedOrder, Submission, SubmittedRun, SymbolHistory, Trace, arena_log, canonicalize, check_day_order, ledger,
    merkle, readable_text, record, spec_digest, spec_from_json, spec_to_json,
};
pub use openoutcry_engine::parquet;
#[cfg(feature = "planted")]
pub use openoutcry_engine::planted_faults;
pub use openoutcry_engine::scenario;
pub use openoutcry_engine::{
    CellText, Charge, Columns, ConfigError, CostModel, CsvReader, CsvRows, DEFAULT_LOOKBACK, DEFAULT_PERIODS_PER_YEAR,
    DataError, Dataset, DateForm, Dates, DayOrder, Event, Feature, FeatureScope, FillKey, Fundamental, Limits,
    LongRows, MAX_ABS_WEIGHT, NewsItem, NumberKind, Origin, SheetCells, SheetFault, SheetLimits, SheetReader,
    SheetSize, SheetStrings, StatedPeriods, StepCosts, StepError, Stepped, TextColumns, Totals, Window,
    bar_count_notices, check_rows, counted, inferred_periods_per_year, most_cash_return,
};
pub use replay::capture::{ENGINE_VERSION, ENGINE_VERSIONS, run_backtest_capture};
pub use replay::divergence::{Cause, Difference};
pub use replay::record_integrity::integrity_differences;
pub use replay::replay_run::{Replay, ReplayError, replay_run};
pub use replay::replay_terms::Terms;
pub use replay::score_submission::{replay_submission, submit, submit_at, submit_run};

/// Compiles and runs the Rust code of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
