use js_sys::{Function, JsString};
use openoutcry::record::{AgentTrajectory, check_agent_id};
use openoutcry::{AgentAnswer, Backtest, agents, counted};
use wasm_bindgen::prelude::*;

use crate::dataset::Dataset;
use crate::error::{AgentFault, raise, to_js};
use crate::run_settings::{Captured, Settings, read};

/// A run, with its record if it was an agent's.
#[wasm_bindgen]
pub struct Run {
    run: openoutcry::Run,
    record: Option<AgentTrajectory>,
}

#[wasm_bindgen]
impl Run {
    /// NAV at the close of each bar of the window; 1 at the first.
    #[wasm_bindgen(getter)]
    pub fn nav(&self) -> Vec<f64> {
        self.run.nav.clone()
    }

    /// First bar of the window.
    #[wasm_bindgen(getter)]
    pub fn start(&self) -> usize {
        self.run.window.start
    }

    /// The decision with which the account was terminated, if it was.
    #[wasm_bindgen(getter)]
    pub fn terminated_at(&self) -> Option<usize> {
        self.run.terminated_at
    }

    /// The record, canonical JSON; absent for a run of weights.
    #[wasm_bindgen(getter)]
    pub fn record(&self) -> Option<String> {
        self.record.as_ref().map(AgentTrajectory::to_json)
    }

    /// Digest of the record.
    #[wasm_bindgen(getter)]
    pub fn digest(&self) -> Option<String> {
        self.record.as_ref()?.digest.map(|digest| digest.to_string())
    }
}

fn backtest<'a>(dataset: &'a Dataset, settings: &Settings, seed: u64) -> Result<Backtest<'a>, JsValue> {
    let window = settings.window(&dataset.core)?;
    let mut made = Backtest::new(&dataset.core, window, seed, settings.costs())
        .and_then(|made| made.with_limits(settings.limits()))
        .and_then(|made| made.with_lookback(settings.lookback()))
        .map_err(to_js)?
        .with_name(dataset.name.as_deref().unwrap_or_default());
    if let Some(key) = settings.fill_key() {
        made = made.sealed(key);
    }
    Ok(match dataset.commitment {
        Some(commitment) => made.committed(commitment),
        None => made,
    })
}

/// Runs a function from observation to decision, both JSON, and records it.
#[wasm_bindgen]
pub fn run_backtest(dataset: &Dataset, decide: &Function, settings: &str, seed: u64) -> Result<Run, JsValue> {
    let Captured { agent_id, in_sample_trials, settings } = read("settings", settings)?;
    check_agent_id(&agent_id).map_err(to_js)?;
    let backtest = backtest(dataset, &settings, seed)?;
    let agent = |observation: &str| {
        let answer = decide.call1(&JsValue::NULL, &observation.into()).map_err(AgentFault)?;
        let text = answer.dyn_into::<JsString>().map_err(|other| {
            let kind = other.js_typeof().as_string().unwrap_or_default();
            AgentFault(raise("argument_invalid", &format!("a decision must be JSON text; received {kind}")))
        })?;
        // UTF-8 cannot encode a lone surrogate: the record would differ from the answer.
        if !text.is_valid_utf16() {
            let message = "a decision must be valid UTF-16; received a lone surrogate";
            return Err(AgentFault(raise("argument_invalid", message)));
        }
        Ok(AgentAnswer::strict(String::from(text)))
    };
    let captured = backtest.try_capture(agent, |_| Ok(()));
    let (run, record) = captured.map_err(|AgentFault(thrown)| thrown)?;
    Ok(Run { run, record: Some(AgentTrajectory::new(&agent_id, vec![record], in_sample_trials)) })
}

/// Runs a baseline agent over a window, and records it.
///
/// `seed` is also that of the random agent.
#[wasm_bindgen]
pub fn run_baseline(dataset: &Dataset, name: &str, settings: &str, seed: u64) -> Result<Run, JsValue> {
    let Captured { agent_id, in_sample_trials, settings } = read("settings", settings)?;
    check_agent_id(&agent_id).map_err(to_js)?;
    let mut agent = agents::baseline(name, seed).ok_or_else(|| {
        let known = agents::BASELINES.join(", ");
        raise("unknown_agent", &format!("an agent must be one of {known}; received {name:?}"))
    })?;
    let (run, record) = backtest(dataset, &settings, seed)?.capture(&mut *agent).map_err(to_js)?;
    Ok(Run { run, record: Some(AgentTrajectory::new(&agent_id, vec![record], in_sample_trials)) })
}

/// Returns the names of the baseline agents.
#[wasm_bindgen]
pub fn baselines() -> Vec<String> {
    agents::BASELINES.iter().map(|name| (*name).to_owned()).collect()
}

/// Runs weights over a window: one row per bar of the market; NaN is a hold.
///
/// The window is all bars by default. Only its rows are used.
#[wasm_bindgen]
pub fn run_weights(dataset: &Dataset, weights: &[f64], settings: &str, seed: u64) -> Result<Run, JsValue> {
    let settings = read::<Settings>("settings", settings)?.starting_at_first_bar();
    let backtest = backtest(dataset, &settings, seed)?;
    let (n_bars, n_symbols) = (dataset.core.n_bars(), dataset.core.n_symbols());
    if weights.len() != n_bars * n_symbols {
        let wanted = format!("`weights` must have shape ({n_bars}, {n_symbols})");
        return Err(raise("shape_mismatch", &format!("{wanted}; received {}", counted(weights.len(), "number"))));
    }
    let window = settings.window(&dataset.core)?;
    let decided = window.start * n_symbols..(window.start + window.n_decisions()) * n_symbols;
    let run = backtest.run_orders(weights[decided].to_vec()).map_err(to_js)?;
    Ok(Run { run, record: None })
}
