use std::sync::Arc;

use openoutcry_contract::{Decision, MarketObservation, PrintedCloses, StepInfo, write_observation};
use openoutcry_engine::{
    AsOf, Book, Charge, ConfigError, CostModel, DEFAULT_LOOKBACK, Dataset, Detail, Event, FillKey, Limits, Rules,
    StepError, Stepped, Window,
};

use crate::environment::env_state::{State, StateOwner};
use crate::environment::step_result::{Info, JsonStep, StepJsonError, StepResult};
use crate::episode::bracket_orders::{DISTANCES, is_distance};
use crate::episode::reward::Shaping;
use crate::episode::reward_state::StepFigures;
use crate::episode::single_episode::{Episode, check_lookback, printed_closes};

/// An environment: a market that is stepped one decision per bar.
///
/// A new environment is ready to step. `reset` restarts the window.
#[derive(Clone, Debug)]
pub struct TradingEnv {
    data: Arc<Dataset>,
    episode: Episode,
    lookback: usize,
    fill_key: FillKey,
    shaping: Shaping,
    printed: PrintedCloses,
}

fn check_finite(weights: &[f64]) -> Result<(), StepError> {
    match weights.iter().position(|weight| !weight.is_finite()) {
        Some(index) => Err(StepError::WeightNotFinite { index, weight: weights[index] }),
        None => Ok(()),
    }
}

impl TradingEnv {
    /// Returns an environment over `window`, with default limits.
    ///
    /// `seed` keys the slippage noise.
    ///
    /// # Errors
    ///
    /// Returns an error if the window leaves the data, a cost is out of range, or an annual rate is charged on a market
    /// without a known number of bars per year.
    pub fn new(
        data: impl Into<Arc<Dataset>>,
        window: Window,
        costs: CostModel,
        seed: u64,
    ) -> Result<Self, ConfigError> {
        let data = data.into();
        window.validate(data.n_bars())?;
        let fill_key = FillKey::from_seed(seed);
        let rules = Rules::new(costs, Limits::default(), fill_key)?;
        rules.check_market(&data)?;
        let episode = Episode::new(&data, window, rules, Detail::Full);
        let lookback = DEFAULT_LOOKBACK;
        let printed = printed_closes(&data, window, lookback);
        Ok(Self { printed, data, episode, lookback, fill_key, shaping: Shaping::default() })
    }

    /// Returns this environment with other limits, at the start of its window.
    ///
    /// # Errors
    ///
    /// Returns the first limit that is out of range.
    pub fn with_limits(mut self, limits: Limits) -> Result<Self, ConfigError> {
        let rules = Rules::new(*self.episode.rules.costs(), limits, self.fill_key)?;
        self.episode = Episode::new(&self.data, self.episode.window, rules, Detail::Full);
        Ok(self)
    }

    /// Returns this environment with at most `lookback` closes per symbol shown.
    ///
    /// # Errors
    ///
    /// Returns an error if `lookback` is 0.
    pub fn with_lookback(mut self, lookback: usize) -> Result<Self, ConfigError> {
        self.lookback = check_lookback(lookback)?;
        self.printed = printed_closes(&self.data, self.episode.window, lookback);
        Ok(self)
    }

    /// Returns this environment with shaping of the steps of [`TradingEnv::act`].
    #[must_use]
    pub fn with_shaping(mut self, shaping: Shaping) -> Self {
        self.shaping = shaping;
        self
    }

    /// Restarts the window and returns its first observation.
    pub fn reset(&mut self) -> MarketObservation {
        self.restart();
        self.observation()
    }

    /// Restarts the window without an observation.
    pub fn restart(&mut self) {
        self.episode.reset(&self.data);
    }

    /// Starts another window without an observation.
    ///
    /// # Errors
    ///
    /// Returns an error, and changes nothing, if the window leaves the data.
    pub fn begin(&mut self, window: Window) -> Result<(), ConfigError> {
        window.validate(self.data.n_bars())?;
        if window != self.episode.window {
            self.printed = printed_closes(&self.data, window, self.lookback);
            self.episode.window = window;
        }
        self.restart();
        Ok(())
    }

    /// Trades a decision and advances by one bar.
    ///
    /// # Errors
    ///
    /// Returns an error, and changes nothing, if the episode has ended or a weight is not finite.
    pub fn step(&mut self, decision: &Decision) -> Result<StepResult, StepError> {
        let stepped = self.episode.decide(&self.data, decision)?;
        let info = Info {
            nav: stepped.nav,
            costs: stepped.costs,
            events: self.episode.events().to_vec(),
            refusals: self.episode.refusals().to_vec(),
            stepped,
        };
        Ok(StepResult { observation: self.observation(), reward: stepped.reward, done: self.done(), info })
    }

    /// Trades to one weight per symbol and advances by one bar, without an observation.
    ///
    /// # Errors
    ///
    /// Returns an error, and changes nothing, if the episode has ended, or `weights` has the wrong length or holds a
    /// value that is not finite.
    pub fn step_weights(&mut self, weights: &[f64]) -> Result<Stepped, StepError> {
        check_finite(weights)?;
        self.episode.trade(&self.data, (weights, &[]))
    }

    /// Trades to one weight per symbol with shaping, a hold where `hold` is set.
    ///
    /// `brackets` is empty, or has two numbers per symbol: the distances of a stop loss and of a take profit from the last
    /// close as fractions of it, 0 or less for none. Returns the step and its reward.
    ///
    /// # Errors
    ///
    /// As [`TradingEnv::step_weights`], and if a distance is not in [-1, 1).
    pub fn act(
        &mut self,
        weights: &[f64],
        hold: Option<&[bool]>,
        brackets: &[f64],
    ) -> Result<(Stepped, f64), StepError> {
        check_finite(weights)?;
        if let Some(index) = brackets.iter().position(|distance| !is_distance(*distance)) {
            return Err(StepError::Distance { symbol: index / DISTANCES, distance: brackets[index] });
        }
        self.episode.act(&self.data, weights, (hold, brackets), &self.shaping)
    }

    /// Returns the figures of the last step of [`TradingEnv::act`].
    ///
    /// Only an environment with [`crate::Reward::Return`] keeps them.
    #[must_use]
    pub fn figures(&self) -> StepFigures {
        self.episode.memory.figures
    }

    /// Restarts the window and appends its first observation as canonical JSON.
    pub fn reset_json(&mut self, text: &mut String) {
        self.restart();
        self.write_observation(text);
    }

    /// Trades a decision in JSON and appends observation and info as canonical JSON.
    ///
    /// # Errors
    ///
    /// Returns an error, and changes nothing, if the text is not a decision or the step is refused.
    pub fn step_json(
        &mut self,
        decision: &str,
        observation: &mut String,
        info: &mut String,
    ) -> Result<JsonStep, StepJsonError> {
        let decision = Decision::from_json(decision)?;
        let stepped = self.episode.decide(&self.data, &decision)?;
        self.write_observation(observation);
        self.write_info(Some(&stepped), info);
        Ok(JsonStep { reward: stepped.reward, done: self.done() })
    }

    /// Appends the current observation to `text` as canonical JSON.
    pub fn write_observation(&mut self, text: &mut String) {
        let as_of = self.data.as_of(self.episode.book.bar());
        write_observation(text, as_of, &self.episode.book, self.lookback, &mut self.printed);
    }

    /// Appends the info of the last step to `text` as canonical JSON.
    pub fn write_info(&self, stepped: Option<&Stepped>, text: &mut String) {
        let (refusals, events) = match stepped {
            Some(_) => (self.episode.refusals(), self.episode.events()),
            None => (&[][..], &[][..]),
        };
        let nav = self.book().nav();
        let has_funding = self.data.has_charge(Charge::Funding);
        StepInfo { symbols: self.data.symbols(), stepped, nav, has_funding, refusals, events }.write_json(text);
    }

    /// Returns the current observation.
    #[must_use]
    pub fn observation(&self) -> MarketObservation {
        MarketObservation::new(self.as_of(), &self.episode.book, self.lookback)
    }

    /// Returns the view of the market at the current bar.
    #[must_use]
    pub fn as_of(&self) -> AsOf<'_> {
        self.data.as_of(self.episode.book.bar())
    }

    /// Returns the account.
    #[must_use]
    pub fn book(&self) -> &Book {
        &self.episode.book
    }

    /// Returns the target weights of the last decision; NaN is a hold.
    ///
    /// The no-trade band is applied. All are holds after a reset or a restored state.
    #[must_use]
    pub fn orders(&self) -> &[f64] {
        self.episode.orders()
    }

    /// Returns the events of the last step.
    ///
    /// Empty after a reset or a restored state.
    #[must_use]
    pub fn events(&self) -> &[Event] {
        self.episode.events()
    }

    /// Returns the market.
    #[must_use]
    pub fn data(&self) -> &Arc<Dataset> {
        &self.data
    }

    /// Returns the window.
    #[must_use]
    pub fn window(&self) -> Window {
        self.episode.window
    }

    /// Returns the largest number of closes per symbol in an observation.
    #[must_use]
    pub fn lookback(&self) -> usize {
        self.lookback
    }

    /// Returns whether the account was liquidated or ruined.
    #[must_use]
    pub fn terminated(&self) -> bool {
        self.episode.terminated
    }

    /// Returns whether the last bar of the window has been reached.
    #[must_use]
    pub fn truncated(&self) -> bool {
        self.episode.truncated()
    }

    /// Returns whether the episode has ended.
    #[must_use]
    pub fn done(&self) -> bool {
        self.episode.done()
    }

    /// Returns a checkpoint of the account.
    #[must_use]
    pub fn clone_state(&self) -> State {
        State {
            owner: self.owner(),
            book: self.episode.book.clone(),
            terminated: self.episode.terminated,
            memory: self.episode.memory,
            window: self.episode.window,
        }
    }

    fn owner(&self) -> StateOwner {
        StateOwner::Held(Arc::clone(&self.data), Box::new(self.episode.rules.clone()), self.shaping)
    }

    /// Restores a checkpoint.
    ///
    /// # Errors
    ///
    /// Returns an error, and changes nothing, if the checkpoint is of another market, window or rules.
    pub fn restore_state(&mut self, state: &State) -> Result<(), StepError> {
        let is_same = state.window == self.episode.window && state.owner.is_same(&self.owner());
        if !is_same || state.book.n_symbols() != self.data.n_symbols() {
            return Err(StepError::StateMismatch);
        }
        self.episode.resume(state.book.clone(), state.terminated);
        self.episode.memory = state.memory;
        Ok(())
    }
}
