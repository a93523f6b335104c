use std::sync::Arc;

use wasm_bindgen::prelude::*;

use crate::dataset::Dataset;
use crate::error::to_js;
use crate::settings::Settings;

/// The JSON door: a market to step through with decisions in JSON.
#[wasm_bindgen]
pub struct TradingEnv {
    core: openoutcry::TradingEnv,
    observation: String,
    info: String,
    reward: f64,
}

#[wasm_bindgen]
impl TradingEnv {
    /// Returns an environment over a window of a market.
    #[wasm_bindgen(constructor)]
    pub fn new(dataset: &Dataset, settings: &str, seed: u64) -> Result<Self, JsValue> {
        let settings = Settings::read(settings)?;
        let window = settings.window(&dataset.0)?;
        let made = openoutcry::TradingEnv::new(Arc::clone(&dataset.0), window, settings.costs(), seed)
            .and_then(|env| env.with_limits(settings.limits()))
            .and_then(|env| env.with_lookback(settings.lookback()));
        let core = made.map_err(to_js)?;
        Ok(Self { core, observation: String::new(), info: String::new(), reward: 0.0 })
    }

    /// Begins the window anew and returns its first observation, canonical JSON.
    pub fn reset(&mut self) -> String {
        self.observation.clear();
        self.core.reset_json(&mut self.observation);
        self.observation.clone()
    }

    /// Trades as a decision says, moves on by one bar, and returns the observation.
    pub fn step(&mut self, decision: &str) -> Result<String, JsValue> {
        let (mut observation, mut info) = (String::new(), String::new());
        let step = self.core.step_json(decision, &mut observation, &mut info).map_err(to_js)?;
        (self.observation, self.info, self.reward) = (observation, info, step.reward);
        Ok(self.observation.clone())
    }

    /// Simple return of NAV of the last step.
    #[wasm_bindgen(getter)]
    pub fn reward(&self) -> f64 {
        self.reward
    }

    /// What the last step had to say, canonical JSON.
    #[wasm_bindgen(getter)]
    pub fn info(&self) -> String {
        self.info.clone()
    }

    /// Whether the account was liquidated or ruined.
    #[wasm_bindgen(getter)]
    pub fn terminated(&self) -> bool {
        self.core.terminated()
    }

    /// Whether the window has ended.
    #[wasm_bindgen(getter)]
    pub fn truncated(&self) -> bool {
        self.core.truncated()
    }

    /// NAV at the current close; 1 at the start.
    #[wasm_bindgen(getter)]
    pub fn nav(&self) -> f64 {
        self.core.book().nav()
    }

    /// Index of the current bar in the market.
    #[wasm_bindgen(getter)]
    pub fn bar(&self) -> usize {
        self.core.book().bar()
    }
}
