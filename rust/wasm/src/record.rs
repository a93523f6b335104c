use openoutcry::record::{AgentTrajectory, Digest, Place, RunTrajectory, check_agent_id};
use openoutcry::{Difference, FillKey, Terms, integrity_differences, replay_run};
use serde_json::{Value, json};
use wasm_bindgen::prelude::*;

use crate::dataset::Dataset;
use crate::error::{raise, to_js};
use crate::run_settings::{Held, read};

/// Replays a record on its markets and returns the divergences, as JSON.
///
/// Each run is replayed on the market of its fingerprint, or on the first market if none has it.
#[wasm_bindgen]
pub fn replay(record: &str, datasets: Vec<Dataset>, held: &str) -> Result<String, JsValue> {
    let record = AgentTrajectory::from_json(record).map_err(to_js)?;
    let held: Held = read("held", held)?;
    let (costs, limits) = (held.costs().map_err(to_js)?, held.limits().map_err(to_js)?);
    let first = datasets.first().ok_or_else(|| raise("argument_invalid", "a market is required; received none"))?;
    let (mut n_steps, mut differences) = (0, Vec::new());
    for (index, run) in record.runs.iter().enumerate() {
        let wanted = run.header.dataset.fingerprint.0;
        let data = datasets.iter().find(|each| each.core.fingerprint() == wanted).unwrap_or(first);
        let known = data.known();
        let fill_key = held.fill_key.map(|key| FillKey::from_bytes(key.0));
        let terms = Terms { costs, limits, fill_key, markets: known.as_slice() };
        let replayed = replay_run(&data.core, run, &terms).map_err(to_js)?;
        n_steps += replayed.n_steps;
        differences.extend(replayed.differences.iter().map(|each| difference(Some((index, data)), each)));
    }
    let public_key = held.public_key.map(|key| key.0);
    let integrity = integrity_differences(&record, public_key.as_ref()).map_err(to_js)?;
    differences.extend(integrity.iter().map(|each| difference(None, each)));
    // A signature over contents that differ from the replay vouches for nothing that a reader sees here.
    let signer = record.signature.as_ref().filter(|_| differences.is_empty());
    let signed_by = signer.map(|signature| Digest(signature.public_key).to_string());
    let unfinished = record.unfinished();
    Ok(json!({
        "verified": !record.runs.is_empty() && differences.is_empty() && unfinished.is_none(),
        "agent_id": record.agent_id,
        "digest": record.computed_digest().map(|each| each.to_string()),
        "n_runs": record.runs.len(),
        "n_steps": n_steps,
        "differences": differences,
        "unfinished": unfinished,
        "signed_by": signed_by,
    })
    .to_string())
}

fn difference(run: Option<(usize, &Dataset)>, found: &Difference) -> Value {
    let date = run.zip(found.bar).and_then(|((_, data), bar)| (bar < data.core.n_bars()).then(|| data.core.dates().get(bar).to_string()));
    json!({
        "run": run.map(|(index, _)| index), "place": found.place.to_string(), "step": found.place.step(),
        "bar": found.bar, "date": date, "field": found.field, "recorded": found.recorded, "replayed": found.replayed,
        "ulps": found.ulps.map(|ulps| ulps.to_string()), "cause": found.cause.slug(), "because": found.because(),
    })
}

/// Returns one unsigned record with the runs of several records.
#[wasm_bindgen]
pub fn join_records(agent_id: &str, records: Vec<String>, in_sample_trials: u64) -> Result<String, JsValue> {
    check_agent_id(agent_id).map_err(to_js)?;
    let mut runs = Vec::new();
    for record in &records {
        runs.extend(AgentTrajectory::from_json(record).map_err(to_js)?.runs);
    }
    Ok(AgentTrajectory::new(agent_id, runs, in_sample_trials).to_json())
}

/// Returns the contents of a record and the validity of its hashes, as JSON.
///
/// It uses no market: the decisions are verified, and the numbers are not.
#[wasm_bindgen]
pub fn verify_record(record: &str, held: &str) -> Result<String, JsValue> {
    let record = AgentTrajectory::from_json(record).map_err(to_js)?;
    let held: Held = read("held", held)?;
    let public_key = held.public_key.map(|key| key.0);
    let mut faults: Vec<Value> = record.runs.iter().enumerate().flat_map(|(run, each)| broken(run, each)).collect();
    let integrity = integrity_differences(&record, public_key.as_ref()).map_err(to_js)?;
    faults.extend(integrity.iter().map(|each| fault(None, each.place, each.field, &each.recorded, &each.replayed)));
    let unfinished = record.unfinished();
    let headers = record.runs.iter().map(|run| {
        Value::Object(run.fields().into_iter().map(|(name, value)| (name.to_owned(), value.into())).collect())
    });
    Ok(json!({
        "intact": faults.is_empty() && unfinished.is_none(),
        "agent_id": record.agent_id,
        "in_sample_trials": record.in_sample_trials,
        "digest": record.digest.map(|each| each.to_string()),
        "unfinished": unfinished,
        "public_key": record.signature.as_ref().map(|each| Digest(each.public_key).to_string()),
        "headers": headers.collect::<Vec<_>>(),
        "faults": faults,
    })
    .to_string())
}

fn broken(index: usize, run: &RunTrajectory) -> Vec<Value> {
    let text = |digest: Digest| digest.to_string();
    let breaks = run.breaks().into_iter();
    breaks.map(|each| fault(Some(index), each.place, "link", &text(each.recorded), &text(each.computed))).collect()
}

fn fault(run: Option<usize>, place: Place, field: &str, recorded: &str, computed: &str) -> Value {
    json!({"run": run, "place": place.to_string(), "field": field, "recorded": recorded, "computed": computed})
}
