use js_sys::{Error, Function, JsString};
use openoutcry::record::AgentTrajectory;
use openoutcry::{Answer, Backtest, FillKey};
use wasm_bindgen::prelude::*;

use crate::dataset::Dataset;
use crate::error::{AgentFault, raise, to_js};
use crate::settings::Settings;

/// A run that was recorded.
#[wasm_bindgen]
pub struct Run {
    nav: Vec<f64>,
    record: AgentTrajectory,
}

#[wasm_bindgen]
impl Run {
    /// NAV at the close of each bar of the window; 1 at the first.
    #[wasm_bindgen(getter)]
    pub fn nav(&self) -> Vec<f64> {
        self.nav.clone()
    }

    /// The record, canonical JSON.
    #[wasm_bindgen(getter)]
    pub fn record(&self) -> String {
        self.record.to_json()
    }

    /// Digest of the record.
    #[wasm_bindgen(getter)]
    pub fn digest(&self) -> Option<String> {
        self.record.digest.map(|digest| digest.to_string())
    }
}

/// Runs a function from observation JSON to decision JSON over a window, and records it.
#[wasm_bindgen]
pub fn run_backtest(dataset: &Dataset, decide: &Function, settings: &str, seed: u64) -> Result<Run, JsValue> {
    let settings = Settings::read(settings)?;
    let window = settings.window(&dataset.0)?;
    openoutcry::record::check_agent_id(&settings.agent_id).map_err(to_js)?;
    let mut backtest = Backtest::new(&dataset.0, window, seed, settings.costs())
        .and_then(|made| made.with_limits(settings.limits()))
        .and_then(|made| made.with_lookback(settings.lookback()))
        .map_err(to_js)?
        .with_name(&settings.name);
    if let Some(key) = settings.fill_key.map(|key| FillKey::from_bytes(key.0)) {
        backtest = backtest.sealed(key);
    }
    if let Some(commitment) = settings.commitment {
        backtest = backtest.committed(commitment);
    }
    let asked = |observation: &str| {
        let told = decide.call1(&JsValue::NULL, &observation.into()).map_err(AgentFault)?;
        let text = told.dyn_into::<JsString>().map_err(|other| {
            let kind = other.js_typeof().as_string().unwrap_or_default();
            AgentFault(raise("argument_invalid", &format!("a decision must be a text of JSON; received {kind}")))
        })?;
        // Half surrogates have no UTF-8: what would be recorded is not what was said.
        let lone = || AgentFault(raise("bad_json", "a decision must be text; received a lone surrogate"));
        if !text.is_valid_utf16() {
            return Err(lone());
        }
        Ok(Answer::strict(String::from(text)))
    };
    let (run, record) = backtest.try_capture(asked, |_| Ok(())).map_err(|AgentFault(thrown)| {
        debug_assert!(thrown.is_instance_of::<Error>() || !thrown.is_undefined());
        thrown
    })?;
    let record = AgentTrajectory::new(&settings.agent_id, vec![record], settings.in_sample_trials);
    Ok(Run { nav: run.nav, record })
}
