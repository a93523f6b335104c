use openoutcry_contract::record::{Digest, Fill, Harness, Header};
use openoutcry_contract::{Decision, DecisionError, MarketObservation, Refusal, place_orders};
use openoutcry_engine::{
    ConfigError, CostModel, DEFAULT_LOOKBACK, Dataset, Detail, FillKey, Limits, RefusalReason, Rules, StepError,
    Stepped, Window,
};
use thiserror::Error;

use crate::agents::Agent;
use crate::backtest::run::Run;
use crate::episode::single_episode::{Episode, check_lookback};

/// A backtest: a market, a window, and the settings of a run.
#[derive(Clone, Debug)]
pub struct Backtest<'a> {
    pub(crate) data: &'a Dataset,
    pub(crate) window: Window,
    pub(crate) rules: Rules,
    pub(crate) lookback: usize,
    pub(crate) name: String,
    pub(crate) commitment: Option<Digest>,
    pub(crate) fill: Fill,
    pub(crate) harness: Option<Harness>,
}

/// A backtest with invalid settings, or one that failed.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum BacktestError {
    /// The window, a cost or a limit is invalid.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// An answer is not a decision.
    #[error(transparent)]
    Decision(#[from] DecisionError),
    /// A step was refused.
    #[error(transparent)]
    Step(#[from] StepError),
}

impl BacktestError {
    /// Returns the stable name of this error in `contract/errors.json`.
    #[must_use]
    pub fn slug(&self) -> &'static str {
        match self {
            Self::Config(error) => error.slug(),
            Self::Decision(error) => error.slug(),
            Self::Step(error) => error.slug(),
        }
    }
}

impl<'a> Backtest<'a> {
    /// Returns a backtest with default limits; `seed` keys the slippage noise.
    ///
    /// # Errors
    ///
    /// Returns an error if the window leaves the data, a cost is out of range, or an annual rate is charged on a market
    /// without a known number of bars per year.
    pub fn new(data: &'a Dataset, window: Window, seed: u64, costs: CostModel) -> Result<Self, ConfigError> {
        window.validate(data.n_bars())?;
        let rules = Rules::new(costs, Limits::default(), FillKey::from_seed(seed))?;
        rules.check_market(data)?;
        let (lookback, name, fill) = (DEFAULT_LOOKBACK, String::new(), Fill::Seed(seed));
        Ok(Self { data, window, rules, lookback, name, commitment: None, fill, harness: None })
    }

    /// Returns the backtest of a record's header, with rules built from it.
    pub(crate) fn from_header(data: &'a Dataset, header: &Header, rules: Rules) -> Self {
        let Header { window, lookback, fill, .. } = *header;
        let (name, commitment) = (header.dataset.name.clone(), header.dataset.commitment);
        Self { data, window, rules, lookback, name, commitment, fill, harness: None }
    }

    /// Returns this backtest with other limits.
    ///
    /// # Errors
    ///
    /// Returns the first limit that is out of range.
    pub fn with_limits(mut self, limits: Limits) -> Result<Self, ConfigError> {
        self.rules = Rules::new(*self.rules.costs(), limits, self.rules.fill_key())?;
        Ok(self)
    }

    /// Returns this backtest with at most `lookback` closes per symbol in observations.
    ///
    /// # Errors
    ///
    /// Returns an error if `lookback` is 0.
    pub fn with_lookback(mut self, lookback: usize) -> Result<Self, ConfigError> {
        self.lookback = check_lookback(lookback)?;
        Ok(self)
    }

    /// Returns this backtest with a name of the market for records.
    #[must_use]
    pub fn with_name(mut self, name: &str) -> Self {
        name.clone_into(&mut self.name);
        self
    }

    /// Returns this backtest with the commitment of a sealed market for records.
    #[must_use]
    pub fn committed(mut self, commitment: Digest) -> Self {
        self.commitment = Some(commitment);
        self
    }

    /// Returns this backtest with the harness of the agent process for records.
    #[must_use]
    pub fn harnessed(mut self, harness: Harness) -> Self {
        self.harness = Some(harness);
        self
    }

    /// Returns this backtest with a sealed fill key; records hold its commitment only.
    #[must_use]
    pub fn sealed(mut self, key: FillKey) -> Self {
        self.fill = Fill::Commitment(Digest(key.commitment()));
        self.rules = self.rules.with_fill_key(key);
        self
    }

    /// Runs a fallible function over the window.
    ///
    /// # Errors
    ///
    /// Returns the first error of `decide` or of a step.
    pub fn try_run<E: From<StepError>>(
        &self,
        mut decide: impl FnMut(&MarketObservation) -> Result<Decision, E>,
    ) -> Result<Run, E> {
        let mut episode = Episode::new(self.data, self.window, self.rules.clone(), Detail::Full);
        let mut run = Run::begin(self.window, self.data.n_symbols(), self.rules.clone());
        while !episode.done() {
            self.decide_once(&mut episode, &mut run, &mut decide)?;
        }
        Ok(run.finish())
    }

    /// Takes one decision of an agent, and keeps it in the run.
    pub(crate) fn decide_once<E: From<StepError>>(
        &self,
        episode: &mut Episode,
        run: &mut Run,
        decide: impl FnOnce(&MarketObservation) -> Result<Decision, E>,
    ) -> Result<Stepped, E> {
        let as_of = self.data.as_of(episode.book.bar());
        let decision = decide(&MarketObservation::new(as_of, &episode.book, self.lookback))?;
        let stepped = episode.decide(self.data, &decision)?;
        self.keep_orders(&decision, episode, run);
        run.push(&stepped, episode.events(), episode.refusals());
        Ok(stepped)
    }

    /// Keeps the orders that an agent decided in a run.
    ///
    /// They are the orders of a day on which every named symbol is listed. Names are looked up in the whole dataset,
    /// so that the result does not depend on later bars.
    ///
    /// The step refuses an order for a symbol that has not closed yet; one bar later it may fill.
    pub(crate) fn keep_orders(&self, decision: &Decision, episode: &Episode, run: &mut Run) {
        let unknown = |refusal: &Refusal| refusal.reason == RefusalReason::UnknownSymbol;
        if !episode.refusals().iter().any(unknown) {
            return run.orders.push((episode.orders(), episode.conditions()));
        }
        let (mut orders, mut conditions) = (vec![f64::NAN; self.data.n_symbols()], Vec::new());
        place_orders(decision, |name| self.data.index_of(name), &mut orders, &mut conditions);
        run.orders.push((&orders, &conditions));
    }
}

/// Runs an agent over a window with default limits; `seed` keys the slippage noise.
///
/// # Errors
///
/// Returns an error if the window leaves the data, a cost is out of range, or a decision is not finite.
pub fn run_backtest(
    data: &Dataset,
    agent: &mut (impl Agent + ?Sized),
    window: Window,
    seed: u64,
    costs: CostModel,
) -> Result<Run, BacktestError> {
    Ok(Backtest::new(data, window, seed, costs)?.run(agent)?)
}
