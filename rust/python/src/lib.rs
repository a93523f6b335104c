//! The Python bindings: they convert arguments, release the GIL, and hold no rules.
//!
//! Prose and units are in `openoutcry_py.pyi`.
#![expect(clippy::doc_markdown, reason = "what stands on classes and methods is a docstring of Python")]
#![expect(clippy::needless_pass_by_value, reason = "pyo3 hands arrays over by value")]

mod agents;
mod arena_log;
mod arguments;
mod arrays;
mod backtest_settings;
mod batch;
mod batch_options;
mod buffers;
mod compression;
mod condition_arrays;
mod conformance;
mod costs;
mod dataset;
mod dates;
mod environment;
mod episode_windows;
mod error;
mod events;
mod forecasts;
mod huge_pages;
mod ledger;
mod limits;
mod market_rows;
mod metrics;
mod multiple_testing;
mod output_arrays;
mod parquet;
mod pickle;
mod readable_text;
mod record;
mod reward;
mod run;
mod scenario;
mod sheets;
mod skill;
mod state;
mod step_records;
mod table_blocks;
mod table_runs;
mod trade_columns;
mod verdict;

use pyo3::prelude::*;

/// The native module: the JSON environment, and the parts of the Python core.
#[pymodule]
fn openoutcry_py(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("CONFORMANCE_REPORT_SCHEMA", include_str!("../../../contract/conformance-report.schema.json"))?;
    module.add("CONTRACT_VERSION", openoutcry::CONTRACT_VERSION)?;
    module.add("DECISION_SCHEMA", include_str!("../../../contract/decision.schema.json"))?;
    module.add("DEFAULT_LOOKBACK", openoutcry::DEFAULT_LOOKBACK)?;
    module.add("ENGINE_VERSION", openoutcry::ENGINE_VERSION)?;
    module.add("BUILD_PROFILE", option_env!("OPENOUTCRY_BUILD_PROFILE").unwrap_or("release"))?;
    module.add("MAX_ABS_WEIGHT", openoutcry::MAX_ABS_WEIGHT)?;
    module.add("OBSERVATION_SCHEMA", include_str!("../../../contract/observation.schema.json"))?;
    module.add("OpenOutcryError", module.py().get_type::<error::OpenOutcryError>())?;
    module.add_class::<agents::Baseline>()?;
    module.add_class::<agents::Session>()?;
    module.add_class::<batch::Batch>()?;
    module.add_class::<output_arrays::Buffers>()?;
    module.add_class::<dataset::Dataset>()?;
    module.add_class::<dates::Dates>()?;
    dates::Dates::register(module.py())?;
    module.add_class::<market_rows::CsvReader>()?;
    module.add_class::<market_rows::LongRows>()?;
    module.add_class::<market_rows::NumberColumn>()?;
    module.add_class::<state::State>()?;
    module.add_class::<environment::TradingEnv>()?;
    module.add_class::<episode_windows::Episodes>()?;
    module.add_class::<arena_log::LogAudit>()?;
    module.add_class::<arena_log::MerkleTree>()?;
    module.add_class::<record::Record>()?;
    module.add_class::<sheets::SheetReader>()?;
    module.add_class::<sheets::SheetStrings>()?;
    module.add_class::<costs::CostModel>()?;
    module.add_class::<limits::Limits>()?;
    module.add_class::<run::Run>()?;
    module.add_class::<table_runs::TableRuns>()?;
    module.add_function(wrap_pyfunction!(table_runs::run_tables, module)?)?;
    module.add_function(wrap_pyfunction!(parquet::parquet_columns, module)?)?;
    module.add_class::<scenario::Scenario>()?;
    module.add_class::<compression::Compressor>()?;
    module.add_class::<ledger::RunReader>()?;
    module.add_class::<verdict::Submission>()?;
    module.add("COST_KINDS", openoutcry::StepCosts::KINDS)?;
    module.add("EVENTS", openoutcry::StepRecord::EVENTS)?;
    module.add("GAINS", openoutcry::StepRecord::GAINS)?;
    module.add("LIMIT_REASONS", openoutcry::StepRecord::LIMITS)?;
    module.add("REWARDS", openoutcry::Reward::NAMES)?;
    module.add("REWARD_TERMS", openoutcry::RewardTerms::NAMES)?;
    module.add("BASELINES", openoutcry::agents::BASELINES)?;
    module.add_function(wrap_pyfunction!(costs::fill_noise, module)?)?;
    module.add_function(wrap_pyfunction!(dataset::check_rows, module)?)?;
    module.add_function(wrap_pyfunction!(dataset::inferred_periods_per_year, module)?)?;
    module.add_function(wrap_pyfunction!(dataset::bar_count_notices, module)?)?;
    module.add_function(wrap_pyfunction!(market_rows::split_columns, module)?)?;
    module.add_function(wrap_pyfunction!(dataset::most_cash_return, module)?)?;
    module.add_function(wrap_pyfunction!(episode_windows::resolve_window, module)?)?;
    module.add_function(wrap_pyfunction!(episode_windows::episode_market, module)?)?;
    module.add_function(wrap_pyfunction!(step_records::last_decision, module)?)?;
    module.add_function(wrap_pyfunction!(record::canonicalize, module)?)?;
    module.add_function(wrap_pyfunction!(record::record_public_key, module)?)?;
    module.add_function(wrap_pyfunction!(compression::decompress, module)?)?;
    module.add_function(wrap_pyfunction!(readable_text::readable_message, module)?)?;
    module.add_function(wrap_pyfunction!(readable_text::readable_text, module)?)?;
    module.add_function(wrap_pyfunction!(conformance::conformance_files, module)?)?;
    module.add_function(wrap_pyfunction!(conformance::day_order_conformance_files, module)?)?;
    module.add_function(wrap_pyfunction!(conformance::conformance_is_signed, module)?)?;
    module.add_function(wrap_pyfunction!(conformance::read_decision, module)?)?;
    module.add_function(wrap_pyfunction!(conformance::sign_conformance, module)?)?;
    module.add_function(wrap_pyfunction!(arena_log::log_record_fault, module)?)?;
    module.add_function(wrap_pyfunction!(arena_log::log_submission, module)?)?;
    module.add_function(wrap_pyfunction!(arena_log::merkle_is_consistent, module)?)?;
    module.add_function(wrap_pyfunction!(arena_log::merkle_is_included, module)?)?;
    module.add_function(wrap_pyfunction!(record::fill_commitment, module)?)?;
    module.add_function(wrap_pyfunction!(run::capture_agent, module)?)?;
    module.add_function(wrap_pyfunction!(run::capture_callable, module)?)?;
    module.add_function(wrap_pyfunction!(run::capture_weights, module)?)?;
    module.add_function(wrap_pyfunction!(run::run_agent, module)?)?;
    module.add_function(wrap_pyfunction!(run::run_callable, module)?)?;
    module.add_function(wrap_pyfunction!(run::passive_returns, module)?)?;
    module.add_function(wrap_pyfunction!(table_blocks::nav_of_blocks, module)?)?;
    module.add_function(wrap_pyfunction!(table_blocks::places_below, module)?)?;
    module.add_function(wrap_pyfunction!(trade_columns::trades, module)?)?;
    module.add_function(wrap_pyfunction!(run::run_weights, module)?)?;
    module.add("SCENARIOS", openoutcry::scenario::ScenarioSpec::NAMES)?;
    module.add_function(wrap_pyfunction!(scenario::check_scenario_spec, module)?)?;
    module.add_function(wrap_pyfunction!(scenario::scenario_spec, module)?)?;
    module.add_function(wrap_pyfunction!(multiple_testing::benjamini_hochberg, module)?)?;
    module.add_function(wrap_pyfunction!(multiple_testing::block_length, module)?)?;
    module.add_function(wrap_pyfunction!(multiple_testing::field_tests, module)?)?;
    module.add_function(wrap_pyfunction!(multiple_testing::holm, module)?)?;
    module.add_function(wrap_pyfunction!(multiple_testing::mean_test, module)?)?;
    module.add_function(wrap_pyfunction!(multiple_testing::overfit, module)?)?;
    module.add_function(wrap_pyfunction!(multiple_testing::sharpe_interval, module)?)?;
    module.add_function(wrap_pyfunction!(multiple_testing::tie_bands, module)?)?;
    module.add_function(wrap_pyfunction!(verdict::score_field_json, module)?)?;
    module.add_function(wrap_pyfunction!(verdict::check_score_config, module)?)?;
    module.add_function(wrap_pyfunction!(verdict::score_run, module)?)?;
    forecasts::add_to(module)?;
    metrics::add_to(module)?;
    skill::add_to(module)?;
    #[cfg(feature = "planted")]
    module.add_function(wrap_pyfunction!(plant, module)?)?;
    Ok(())
}

/// Plants a fault in the engine; see `planted_faults` there.
#[cfg(feature = "planted")]
#[pyfunction]
fn plant(fault: &str, size: f64) -> bool {
    openoutcry::planted_faults::plant(fault, size)
}
