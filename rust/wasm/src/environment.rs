use std::sync::Arc;

use wasm_bindgen::prelude::*;

use crate::dataset::Dataset;
use crate::error::to_js;
use crate::run_settings::{Settings, read};

/// The JSON environment: a market that is stepped with decisions in JSON.
#[wasm_bindgen]
pub struct TradingEnv {
    core: openoutcry::TradingEnv,
    info: String,
    reward: f64,
}

/// A checkpoint. An environment resumed from it gives the same bits.
#[wasm_bindgen]
pub struct State(openoutcry::State);

#[wasm_bindgen]
impl TradingEnv {
    /// Returns an environment over a window of a market.
    ///
    /// `seed` keys the slippage noise.
    #[wasm_bindgen(constructor)]
    pub fn new(dataset: &Dataset, settings: &str, seed: u64) -> Result<Self, JsValue> {
        let settings: Settings = read("settings", settings)?;
        let window = settings.window(&dataset.core)?;
        let made = openoutcry::TradingEnv::new(Arc::clone(&dataset.core), window, settings.costs(), seed)
            .and_then(|env| env.with_limits(settings.limits()))
            .and_then(|env| env.with_lookback(settings.lookback()));
        Ok(Self { core: made.map_err(to_js)?, info: String::new(), reward: 0.0 })
    }

    /// Restarts the window and returns its first observation, canonical JSON.
    pub fn reset(&mut self) -> String {
        let mut observation = String::new();
        self.core.reset_json(&mut observation);
        (self.info, self.reward) = (String::new(), 0.0);
        observation
    }

    /// Trades a decision, advances by one bar, and returns the observation.
    pub fn step(&mut self, decision: &str) -> Result<String, JsValue> {
        let (mut observation, mut info) = (String::new(), String::new());
        let step = self.core.step_json(decision, &mut observation, &mut info).map_err(to_js)?;
        (self.info, self.reward) = (info, step.reward);
        Ok(observation)
    }

    /// Trades to one weight per symbol, advances, and returns the observation.
    pub fn step_weights(&mut self, weights: &[f64]) -> Result<String, JsValue> {
        let stepped = self.core.step_weights(weights).map_err(to_js)?;
        let (mut observation, mut info) = (String::new(), String::new());
        self.core.write_observation(&mut observation);
        self.core.write_info(Some(&stepped), &mut info);
        (self.info, self.reward) = (info, stepped.reward);
        Ok(observation)
    }

    /// Returns a checkpoint.
    pub fn state(&self) -> State {
        State(self.core.clone_state())
    }

    /// Restores a checkpoint and returns its observation.
    ///
    /// It must be of this market, window and rules.
    pub fn restore(&mut self, state: &State) -> Result<String, JsValue> {
        self.core.restore_state(&state.0).map_err(to_js)?;
        let mut observation = String::new();
        self.core.write_observation(&mut observation);
        (self.info, self.reward) = (String::new(), 0.0);
        Ok(observation)
    }

    /// Simple return of NAV of the last step.
    #[wasm_bindgen(getter)]
    pub fn reward(&self) -> f64 {
        self.reward
    }

    /// The info of the last step, canonical JSON; empty before the first.
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
