use openoutcry::record::{AgentTrajectory, DatasetName, Digest, Place};
use openoutcry::{Terms, replay_run};
use serde_json::{Value, json};
use wasm_bindgen::prelude::*;

use crate::dataset::Dataset;
use crate::error::{raise, to_js};
use crate::settings::Settings;

/// Replays a record on its markets and returns what became of it, as JSON.
///
/// Of settings, `costs`, `limits`, `fill_key`, `name` and `commitment` are what the record is held to.
#[wasm_bindgen]
pub fn replay(record: &str, datasets: Vec<Dataset>, settings: &str) -> Result<String, JsValue> {
    let record = AgentTrajectory::from_json(record).map_err(to_js)?;
    let held: serde_json::Map<String, Value> =
        serde_json::from_str(settings).map_err(|error| raise("argument_invalid", &format!("settings: {error}")))?;
    let told = Settings::read(settings)?;
    let first = datasets.first().ok_or_else(|| raise("argument_invalid", "a market is required; received none"))?;
    let (mut n_steps, mut differences) = (0, Vec::new());
    for (place, run) in record.runs.iter().enumerate() {
        let fingerprint = run.header.dataset.fingerprint;
        let data = datasets.iter().find(|each| Digest(each.0.fingerprint()) == fingerprint).unwrap_or(first);
        let known = held.contains_key("name").then(|| DatasetName {
            commitment: told.commitment,
            fingerprint: Digest(data.0.fingerprint()),
            name: told.name.clone(),
        });
        let terms = Terms {
            costs: held.contains_key("costs").then(|| told.costs()),
            limits: held.contains_key("limits").then(|| told.limits()),
            fill_key: told.fill_key(),
            markets: known.as_slice(),
        };
        let replayed = replay_run(&data.0, run, &terms).map_err(to_js)?;
        n_steps += replayed.n_steps;
        differences.extend(replayed.differences.iter().map(|each| {
            let (step, named) = match each.place {
                Place::Header => (None, "header".to_owned()),
                Place::Step(step) => (Some(step), format!("step {step}")),
                Place::End => (None, "end".to_owned()),
            };
            let date = each.bar.and_then(|bar| data.0.dates().get(bar));
            json!({
                "run": place, "place": named, "step": step, "bar": each.bar, "date": date, "field": each.field,
                "recorded": each.recorded, "replayed": each.replayed, "ulps": each.ulps,
                "cause": each.cause.slug(), "because": each.cause.words(),
            })
        }));
    }
    let digest = record.computed_digest();
    if record.digest.is_some() && record.digest != digest {
        differences.push(json!({
            "run": null, "place": "record", "step": null, "bar": null, "date": null, "field": "digest",
            "recorded": record.digest.map(|each| each.to_string()), "replayed": digest.map(|each| each.to_string()),
            "ulps": null, "cause": "digest_edited",
            "because": "the agent, its trials or its list of runs was edited",
        }));
    }
    let unfinished = record.unfinished();
    let is_verified = !record.runs.is_empty() && differences.is_empty() && unfinished.is_none();
    Ok(json!({
        "verified": is_verified, "digest": digest.map(|each| each.to_string()), "n_runs": record.runs.len(),
        "n_steps": n_steps, "differences": differences, "unfinished": unfinished,
    })
    .to_string())
}

/// Returns a JSON text as RFC 8785 writes it.
#[wasm_bindgen]
pub fn canonicalize(text: &str) -> Result<String, JsValue> {
    openoutcry::canonicalize(text).map_err(|error| raise("bad_json", &error.to_string()))
}

/// Returns the SHA-256 of bytes, in hex.
#[wasm_bindgen]
pub fn sha256(content: &[u8]) -> String {
    Digest::of(content).to_string()
}

/// Returns the version of the contract.
#[wasm_bindgen]
pub fn contract_version() -> String {
    openoutcry::CONTRACT_VERSION.to_owned()
}

/// Returns the version of the engine, as records name it.
#[wasm_bindgen]
pub fn engine_version() -> String {
    openoutcry::ENGINE_VERSION.to_owned()
}
