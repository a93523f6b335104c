use std::sync::OnceLock;

use openoutcry_contract::Refusal;
use openoutcry_engine::{
    BlockRun, Book, Dataset, Detail, Event, HeldBar, Rules, StepError, Stepped, Totals, Window, Workspace, run_block,
    step_day_orders,
};

use crate::backtest::order_table::OrderTable;
use crate::backtest::pace::Pace;
use crate::episode::single_episode::Episode;

/// A finished backtest: its decisions, NAV and events.
///
/// Positions, fills and flows are not stored. They are recomputed from the decisions on demand.
#[derive(Clone, Debug)]
pub struct Run {
    /// The bars of the run.
    pub window: Window,
    /// NAV at the close of each bar of the window; 1 at the first.
    pub nav: Vec<f64>,
    /// One weight per decision and symbol, NaN for a hold.
    pub orders: OrderTable,
    /// Events other than fills, with the index of their decision.
    pub events: Vec<(usize, Event)>,
    /// Orders with unknown names, with the index of their decision.
    pub refusals: Vec<(usize, Refusal)>,
    /// The decision with which the account was terminated, if it was.
    ///
    /// NAV is constant from there on.
    pub terminated_at: Option<usize>,
    rules: Rules,
    flows: OnceLock<Flows>,
    totals: OnceLock<Totals>,
}

/// Costs and gains of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Flows {
    /// Costs by kind, each with one value per decision.
    ///
    /// In the order of [`openoutcry_engine::StepCosts::KINDS`].
    pub costs: [Vec<f64>; 6],
    /// Gains other than price changes, one value per decision.
    ///
    /// In the order of [`Flows::GAINS`].
    pub gains: [Vec<f64>; 5],
    /// Notional traded over NAV per decision.
    pub turnover: Vec<f64>,
}

impl Flows {
    /// The kinds of gains.
    ///
    /// Interest on idle cash, dividends, gains of settled positions, losses written off, and funding.
    pub const GAINS: [&'static str; 5] = ["interest", "dividends", "settlement", "shortfall", "funding"];

    fn none(decisions: usize) -> Self {
        let zeros = || vec![0.0; decisions];
        Self { costs: std::array::from_fn(|_| zeros()), gains: std::array::from_fn(|_| zeros()), turnover: zeros() }
    }

    fn set(&mut self, decision: usize, stepped: &Stepped) {
        // The pages of a column that is 0 throughout are never written, and take no memory.
        let put = |column: &mut Vec<f64>, value: f64| {
            if value.to_bits() != 0 {
                column[decision] = value;
            }
        };
        self.costs.iter_mut().zip(stepped.costs.by_kind()).for_each(|(column, cost)| put(column, cost));
        let gains = [stepped.interest, stepped.dividends, stepped.settlement, stepped.shortfall, stepped.funding];
        self.gains.iter_mut().zip(gains).for_each(|(column, gain)| put(column, gain));
        put(&mut self.turnover, stepped.turnover);
    }

    /// Returns the sum of all costs of a decision.
    #[must_use]
    pub fn cost_of(&self, decision: usize) -> f64 {
        self.costs.iter().map(|column| column[decision]).sum()
    }
}

/// One fill of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fill {
    /// Bar of the fill.
    pub bar: usize,
    /// Symbol index.
    pub symbol: usize,
    /// Shares bought (> 0) or sold (< 0), per NAV of 1.
    pub shares: f64,
    /// Price, slippage and impact included.
    pub price: f64,
}

impl Run {
    pub(crate) fn begin(window: Window, n_symbols: usize, rules: Rules) -> Self {
        Self::begin_in(Vec::new(), window, n_symbols, rules)
    }

    /// Begins a run in the memory of another NAV.
    pub(crate) fn begin_in(mut nav: Vec<f64>, window: Window, n_symbols: usize, rules: Rules) -> Self {
        nav.clear();
        nav.reserve_exact(window.n_bars());
        nav.push(1.0);
        Self {
            window,
            nav,
            orders: OrderTable::new(Vec::new(), n_symbols),
            events: Vec::new(),
            refusals: Vec::new(),
            terminated_at: None,
            rules,
            flows: OnceLock::new(),
            totals: OnceLock::new(),
        }
    }

    /// Appends the outcome of one decision.
    pub(crate) fn push(&mut self, stepped: &Stepped, events: &[Event], refusals: &[Refusal]) {
        let decision = self.nav.len() - 1;
        self.nav.push(stepped.nav);
        if !events.is_empty() {
            let kept = events.iter().filter(|event| !matches!(event, Event::Filled { .. }));
            self.events.extend(kept.map(|event| (decision, *event)));
        }
        self.refusals.extend(refusals.iter().map(|refusal| (decision, refusal.clone())));
        if stepped.terminated {
            self.terminated_at = Some(decision);
        }
    }

    /// Pads a terminated run to the end of its window.
    ///
    /// NAV is constant and all orders are holds.
    pub(crate) fn finish(mut self) -> Self {
        let decisions = self.window.n_decisions();
        let last = self.nav[self.nav.len() - 1];
        // Decisions after a termination were not run.
        self.orders.hold_from(self.nav.len() - 1, decisions);
        self.nav.resize(decisions + 1, last);
        self
    }

    /// Keeps the totals that the run itself has added.
    pub(crate) fn keep(&mut self, totals: Totals) {
        self.totals = OnceLock::from(totals);
    }

    /// Returns the simple return of each bar after the first.
    ///
    /// It is 0 after the account was terminated.
    #[must_use]
    pub fn returns(&self) -> Vec<f64> {
        let mut returns = Vec::with_capacity(self.nav.len() - 1);
        self.write_returns(&mut returns);
        returns
    }

    /// Replaces `returns` by those of [`Run::returns`].
    pub fn write_returns(&self, returns: &mut Vec<f64>) {
        returns.clear();
        returns.extend(self.nav.windows(2).map(|of| if of[0] == 0.0 { 0.0 } else { of[1] / of[0] - 1.0 }));
    }

    /// Returns the costs, limits and fill key of the run.
    #[must_use]
    pub fn rules(&self) -> &Rules {
        &self.rules
    }

    /// Returns the costs and gains of every decision, 0 after a termination.
    ///
    /// # Errors
    ///
    /// Returns an error if `data` is not the dataset of the run.
    pub fn flows(&self, data: &Dataset) -> Result<&Flows, StepError> {
        if let Some(flows) = self.flows.get() {
            return Ok(flows);
        }
        let mut flows = Flows::none(self.window.n_decisions());
        self.replay(data, Detail::Money, |bar, seen| flows.set(bar - 1, seen.stepped))?;
        Ok(self.flows.get_or_init(|| flows))
    }

    /// Returns the totals of the run.
    ///
    /// Unless the run has added them, the first call recomputes the steps from the decisions.
    ///
    /// # Errors
    ///
    /// Returns an error if `data` is not the dataset of the run.
    pub fn totals(&self, data: &Dataset) -> Result<Totals, StepError> {
        if let Some(totals) = self.totals.get() {
            return Ok(*totals);
        }
        let n_symbols = data.n_symbols();
        if self.orders.n_weights() != self.window.n_decisions() * n_symbols {
            return Err(StepError::StateMismatch);
        }
        let (mut totals, mut nav) = (Totals::default(), Vec::with_capacity(self.nav.len()));
        let mut book = Book::new(data, self.window.start);
        let mut workspace = Workspace::new(n_symbols, Detail::Money);
        let mut pace = Pace::default();
        while nav.len() < self.window.n_decisions() && self.terminated_at.is_none_or(|last| nav.len() <= last) {
            let (orders, decided) = (self.orders.plain_rows_from(nav.len()), self.orders.decision(nav.len()));
            let track = BlockRun { book: &mut book, orders, nav: &mut nav, totals: Some(&mut totals), held: None };
            if orders.is_empty() || pace.run(|| run_block(data, &self.rules, &mut [track], &workspace)) == 0 {
                let stepped = step_day_orders(data, &self.rules, &mut book, decided, &mut workspace)?;
                totals.add(self.nav[nav.len()], stepped.turnover, &stepped.costs, book.exposure());
                nav.push(stepped.nav);
            }
        }
        if nav.iter().zip(&self.nav[1..]).any(|(again, once)| again.to_bits() != once.to_bits()) {
            return Err(StepError::StateMismatch);
        }
        Ok(*self.totals.get_or_init(|| totals))
    }

    /// Returns the weights held at the close of each bar.
    ///
    /// `n_bars * n_symbols` values, signed fractions of NAV.
    ///
    /// # Errors
    ///
    /// Returns an error if `data` is not the dataset of the run.
    pub fn weights(&self, data: &Dataset) -> Result<Vec<f64>, StepError> {
        let mut weights = vec![0.0; self.nav.len() * data.n_symbols()];
        self.replay(data, Detail::Money, |bar, seen| {
            weights[bar * data.n_symbols()..][..data.n_symbols()].copy_from_slice(seen.weights);
        })?;
        Ok(weights)
    }

    /// Returns all fills in the order of bars and symbols.
    ///
    /// # Errors
    ///
    /// Returns an error if `data` is not the dataset of the run.
    pub fn fills(&self, data: &Dataset) -> Result<Vec<Fill>, StepError> {
        let mut fills = Vec::new();
        self.replay(data, Detail::Full, |bar, seen| fills.extend(self.fills_of(bar, seen.events)))?;
        Ok(fills)
    }

    /// Returns the weights and the fills of one replay, which also gives the flows.
    ///
    /// # Errors
    ///
    /// Returns an error if `data` is not the dataset of the run.
    pub fn positions(&self, data: &Dataset) -> Result<(Vec<f64>, Vec<Fill>), StepError> {
        let (n_symbols, mut fills) = (data.n_symbols(), Vec::new());
        let (mut weights, mut flows) = (vec![0.0; self.nav.len() * n_symbols], Flows::none(self.window.n_decisions()));
        self.replay(data, Detail::Full, |bar, seen| {
            flows.set(bar - 1, seen.stepped);
            weights[bar * n_symbols..][..n_symbols].copy_from_slice(seen.weights);
            fills.extend(self.fills_of(bar, seen.events));
        })?;
        self.flows.get_or_init(|| flows);
        Ok((weights, fills))
    }

    /// Returns the fills of a step.
    fn fills_of(&self, bar: usize, events: &[Event]) -> impl Iterator<Item = Fill> {
        let bar = self.window.start + bar;
        events.iter().filter_map(move |event| match *event {
            Event::Filled { symbol, shares, price } | Event::Exited { symbol, shares, price, .. } => {
                Some(Fill { bar, symbol, shares, price })
            }
            _ => None,
        })
    }

    /// Replays the decisions and calls `see` after each with its bar in the window.
    fn replay(&self, data: &Dataset, detail: Detail, mut see: impl FnMut(usize, Seen<'_>)) -> Result<(), StepError> {
        let n_symbols = data.n_symbols();
        if self.orders.n_weights() != self.window.n_decisions() * n_symbols {
            return Err(StepError::StateMismatch);
        }
        let mut episode = Episode::new(data, self.window, self.rules.clone(), detail);
        let (mut decision, mut held, mut weights) = (0, Vec::new(), vec![0.0; n_symbols]);
        while decision < self.window.n_decisions() && !episode.done() {
            let rows = self.orders.plain_rows_from(decision);
            held.clear();
            episode.hold(data, &rows[..rows.len().min(HELD * n_symbols)], &mut held);
            for HeldBar { stepped, weights } in &held {
                decision += 1;
                self.check(decision, stepped)?;
                see(decision, Seen { weights: &weights[..n_symbols], events: &[], stepped });
            }
            if held.is_empty() {
                let stepped = episode.trade(data, self.orders.decision(decision))?;
                decision += 1;
                self.check(decision, &stepped)?;
                episode.write_weights(&mut weights);
                see(decision, Seen { weights: &weights, events: episode.events(), stepped: &stepped });
            }
        }
        Ok(())
    }

    /// Checks that a step of a replay gives the NAV of the run.
    fn check(&self, bar: usize, stepped: &Stepped) -> Result<(), StepError> {
        if stepped.nav.to_bits() == self.nav[bar].to_bits() { Ok(()) } else { Err(StepError::StateMismatch) }
    }
}

/// Holds that are replayed before they are seen.
const HELD: usize = 512;

/// A step of a replay.
struct Seen<'s> {
    /// Weights at its close.
    weights: &'s [f64],
    events: &'s [Event],
    stepped: &'s Stepped,
}
