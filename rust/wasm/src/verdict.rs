use openoutcry::record::AgentTrajectory;
use openoutcry::{FillKey, Terms, submit};
use openoutcry_score::verdict::{ScoreConfig, score_field};
use wasm_bindgen::prelude::*;

use crate::dataset::Dataset;
use crate::error::{raise, to_js};
use crate::run_settings::{Held, read};

/// Scores agents by their replayed records, and returns the board as JSON.
///
/// `config` is a JSON object of the settings that differ from the defaults of the scorer.
#[wasm_bindgen]
pub fn score(records: Vec<String>, datasets: Vec<Dataset>, held: &str, config: &str) -> Result<String, JsValue> {
    let held: Held = read("held", held)?;
    let config = ScoreConfig::from_json(config).map_err(to_js)?;
    if datasets.is_empty() {
        return Err(raise("argument_invalid", "a market is required; received none"));
    }
    let markets: Vec<&openoutcry::Dataset> = datasets.iter().map(|each| &*each.core).collect();
    let known: Vec<_> = datasets.iter().filter_map(Dataset::known).collect();
    let terms = Terms {
        costs: held.costs().map_err(to_js)?,
        limits: held.limits().map_err(to_js)?,
        fill_key: held.fill_key.map(|key| FillKey::from_bytes(key.0)),
        markets: &known,
    };
    let judged = records.iter().map(|record| {
        let record = AgentTrajectory::from_json(record).map_err(to_js)?;
        submit(&markets, &record, &terms).map_err(to_js)
    });
    let judged = judged.collect::<Result<Vec<_>, JsValue>>()?;
    score_field(&judged, &config).map(|field| field.to_json()).map_err(to_js)
}

/// Returns the score of daily returns out of a number of trials, as JSON.
#[wasm_bindgen]
pub fn score_returns(returns: &[f64], n_trials: u64) -> Result<String, JsValue> {
    openoutcry_score::verdict::score_run(returns, n_trials).map(|score| score.to_json()).map_err(to_js)
}
