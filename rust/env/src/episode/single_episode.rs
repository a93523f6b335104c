use openoutcry_contract::{Decision, PrintedCloses, Refusal, to_orders};
use openoutcry_engine::{
    BlockRun, Book, ConfigError, Dataset, DayOrder, Detail, Event, HeldBar, Rules, StepError, Stepped, Window,
    Workspace, run_held, step_day_orders,
};

use crate::episode::bracket_orders::bracket_orders;
use crate::episode::reward::Shaping;
use crate::episode::reward_state::RewardState;

/// Returns `lookback` if it is at least 1.
pub(crate) fn check_lookback(lookback: usize) -> Result<usize, ConfigError> {
    if lookback == 0 {
        return Err(ConfigError::Lookback { lookback });
    }
    Ok(lookback)
}

/// Returns an empty cache of the JSON closes of a window.
pub(crate) fn printed_closes(data: &Dataset, window: Window, lookback: usize) -> PrintedCloses {
    PrintedCloses::new((window.start + 1).saturating_sub(lookback), data.n_symbols())
}

/// Turns orders that change a weight by less than `band` into holds.
///
/// `held` returns the current weights.
#[inline]
pub(crate) fn hold_within(band: f64, held: impl Fn(usize) -> f64, orders: &mut [f64]) {
    if band > 0.0 {
        for (symbol, order) in orders.iter_mut().enumerate() {
            if (*order - held(symbol)).abs() < band {
                *order = f64::NAN;
            }
        }
    }
}

/// One pass over a window, the only caller of [`step_day_orders`] per decision.
///
/// Environments and backtests are built on it.
#[derive(Clone, Debug)]
pub(crate) struct Episode {
    pub(crate) rules: Rules,
    pub(crate) window: Window,
    pub(crate) book: Book,
    pub(crate) terminated: bool,
    /// The state of the reward scheme in the episode.
    pub(crate) memory: RewardState,
    workspace: Workspace,
    orders: Vec<f64>,
    /// The conditions of the last decision.
    conditions: Vec<DayOrder>,
    refusals: Vec<Refusal>,
    /// Whether the workspace has the events of the last step of this account.
    tells: bool,
}

impl Episode {
    pub(crate) fn new(data: &Dataset, window: Window, rules: Rules, detail: Detail) -> Self {
        Self {
            window,
            book: Book::new(data, window.start),
            terminated: false,
            memory: RewardState::default(),
            workspace: Workspace::new(data.n_symbols(), detail),
            orders: vec![f64::NAN; data.n_symbols()],
            conditions: Vec::new(),
            refusals: Vec::new(),
            tells: false,
            rules,
        }
    }

    pub(crate) fn reset(&mut self, data: &Dataset) {
        self.book.restart(data, self.window.start);
        self.forget(false);
    }

    /// Resumes from an account, without events of a last step.
    pub(crate) fn resume(&mut self, book: Book, terminated: bool) {
        self.book = book;
        self.forget(terminated);
    }

    fn forget(&mut self, terminated: bool) {
        (self.terminated, self.memory) = (terminated, RewardState::default());
        self.refusals.clear();
        self.orders.fill(f64::NAN);
        self.conditions.clear();
        self.tells = false;
    }

    /// Returns whether the last bar of the window has been reached.
    pub(crate) fn truncated(&self) -> bool {
        self.book.bar() + 1 == self.window.end
    }

    pub(crate) fn done(&self) -> bool {
        self.terminated || self.truncated()
    }

    /// Writes the weight of each symbol to a row.
    pub(crate) fn write_weights(&self, row: &mut [f64]) {
        row.iter_mut().enumerate().for_each(|(symbol, weight)| *weight = self.book.weight(symbol));
    }

    /// Trades to one weight per symbol, NaN for a hold, and their conditions.
    ///
    /// The conditions are sorted by symbol.
    pub(crate) fn trade(&mut self, data: &Dataset, orders: (&[f64], &[DayOrder])) -> Result<Stepped, StepError> {
        let stepped = self.advance(data, orders)?;
        self.refusals.clear();
        Ok(stepped)
    }

    /// Runs the first decisions while they are holds, and adds each to `held`.
    ///
    /// A decision has one weight per symbol.
    ///
    /// It may stop at a hold, which [`Episode::trade`] supports.
    pub(crate) fn hold(&mut self, data: &Dataset, orders: &[f64], held: &mut Vec<HeldBar>) {
        let first = orders.get(..data.n_symbols());
        if first.is_some_and(|orders| orders.iter().all(|order| order.is_nan())) {
            let mut nav = Vec::new();
            let mut track = BlockRun { book: &mut self.book, orders, nav: &mut nav, totals: None, held: Some(held) };
            run_held(data, &self.rules, &mut track, &self.workspace);
        }
    }

    /// Trades with shaping, and returns the step and its reward.
    ///
    /// It trades to one weight per symbol, with a hold where `hold` is set, and with the exits of `brackets`, if any.
    pub(crate) fn act(
        &mut self,
        data: &Dataset,
        weights: &[f64],
        (hold, brackets): (Option<&[bool]>, &[f64]),
        shaping: &Shaping,
    ) -> Result<(Stepped, f64), StepError> {
        let mut orders = weights.to_vec();
        for (order, _) in orders.iter_mut().zip(hold.unwrap_or(&[])).filter(|(_, hold)| **hold) {
            *order = f64::NAN;
        }
        if orders.len() == self.book.n_symbols() {
            hold_within(shaping.no_trade_band, |symbol| self.book.weight(symbol), &mut orders);
        }
        let mut conditions = std::mem::take(&mut self.conditions);
        conditions.clear();
        if !brackets.is_empty() {
            bracket_orders(brackets, &orders, &self.book, &mut conditions);
        }
        let stepped = self.trade(data, (&orders, &conditions));
        self.conditions = conditions;
        let stepped = stepped?;
        self.orders = orders;
        Ok((stepped, shaping.reward.of(&stepped, &mut self.memory)))
    }

    /// Trades a decision.
    pub(crate) fn decide(&mut self, data: &Dataset, decision: &Decision) -> Result<Stepped, StepError> {
        if let Some(index) = decision.orders.iter().position(|order| !order.target_weight.is_finite()) {
            return Err(StepError::WeightNotFinite { index, weight: decision.orders[index].target_weight });
        }
        let mut orders = std::mem::take(&mut self.orders);
        let mut conditions = std::mem::take(&mut self.conditions);
        let refusals = to_orders(decision, data.as_of(self.book.bar()), &mut orders, &mut conditions);
        let stepped = self.advance(data, (&orders, &conditions));
        (self.orders, self.conditions) = (orders, conditions);
        if stepped.is_ok() {
            self.refusals = refusals;
        }
        stepped
    }

    fn advance(&mut self, data: &Dataset, orders: (&[f64], &[DayOrder])) -> Result<Stepped, StepError> {
        if self.done() {
            return Err(StepError::EpisodeOver);
        }
        let stepped = step_day_orders(data, &self.rules, &mut self.book, orders, &mut self.workspace)?;
        self.terminated = stepped.terminated;
        self.tells = true;
        Ok(stepped)
    }

    /// Returns the dense orders of the last decision; NaN is a hold.
    ///
    /// Before the first decision, all are holds.
    pub(crate) fn orders(&self) -> &[f64] {
        &self.orders
    }

    /// Returns the conditions of the last decision, sorted by symbol.
    pub(crate) fn conditions(&self) -> &[DayOrder] {
        &self.conditions
    }

    pub(crate) fn refusals(&self) -> &[Refusal] {
        &self.refusals
    }

    pub(crate) fn events(&self) -> &[Event] {
        if self.tells { self.workspace.events() } else { &[] }
    }
}
