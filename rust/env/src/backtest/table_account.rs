//! Runs of agents, and of tables of decisions, alone or eight at once.

use openoutcry_contract::MarketObservation;
use openoutcry_engine::lane_sums::LANES;
use openoutcry_engine::{BlockRun, Book, Detail, StepError, Totals, Workspace, run_block, step_day_orders, step_once};

use crate::agents::Agent;
use crate::backtest::order_table::OrderTable;
use crate::backtest::pace::Pace;
use crate::backtest::run::Run;
use crate::backtest::run_backtest::Backtest;
use crate::episode::single_episode::Episode;

impl<'a> Backtest<'a> {
    /// Runs an agent over the window.
    ///
    /// # Errors
    ///
    /// Returns an error if a decision holds a weight that is not finite, or NAV leaves the range of f64.
    pub fn run(&self, agent: &mut (impl Agent + ?Sized)) -> Result<Run, StepError> {
        let mut episode = Episode::new(self.data, self.window, self.rules.clone(), Detail::Full);
        let mut run = Run::begin(self.window, self.data.n_symbols(), self.rules.clone());
        let mut totals = Totals::default();
        while !episode.done() && !agent.only_holds() {
            let before = run.nav[run.nav.len() - 1];
            let decide = |observation: &MarketObservation| Ok::<_, StepError>(agent.decide(observation));
            let stepped = self.decide_once(&mut episode, &mut run, decide)?;
            totals.add(before, stepped.turnover, &stepped.costs, episode.book.exposure());
        }
        if episode.done() {
            run.keep(totals);
            return Ok(run.finish());
        }
        self.run_account(TableAccount::holding(self, episode.book, run, totals))
    }

    /// Runs the decisions in `orders`.
    ///
    /// One weight per decision of the window and symbol; NaN is a hold.
    ///
    /// # Errors
    ///
    /// Returns an error if `orders` has the wrong length or holds an infinity.
    pub fn run_orders(&self, orders: Vec<f64>) -> Result<Run, StepError> {
        self.run_table(OrderTable::new(orders, self.data.n_symbols()))
    }

    /// Runs a table of decisions as [`Backtest::run_orders`] does.
    ///
    /// # Errors
    ///
    /// As [`Backtest::run_orders`].
    pub fn run_table(&self, orders: OrderTable) -> Result<Run, StepError> {
        self.run_account(TableAccount::new(self, orders, None).with_totals())
    }

    /// Runs many tables of decisions.
    ///
    /// Each has the bits of [`Backtest::run_orders`].
    #[must_use]
    pub fn run_tables(&self, tables: Vec<OrderTable>) -> Vec<Result<Run, StepError>> {
        self.run_tables_in(&mut Vec::new(), tables)
    }

    /// Runs tables as [`Backtest::run_tables`] does, in the memory of other runs.
    ///
    /// Their NAV takes memory of `navs` while there is some.
    pub fn run_tables_in(&self, navs: &mut Vec<Vec<f64>>, tables: Vec<OrderTable>) -> Vec<Result<Run, StepError>> {
        let mut workspace = Workspace::new(self.data.n_symbols(), Detail::RewardInputs);
        let mut runs = Vec::with_capacity(tables.len());
        let mut tables = tables.into_iter().peekable();
        while tables.peek().is_some() {
            let mut accounts: Vec<_> =
                tables.by_ref().take(LANES).map(|orders| TableAccount::new(self, orders, navs.pop())).collect();
            self.run_rows(&mut accounts, self.window.n_decisions(), &mut workspace);
            runs.extend(accounts.into_iter().map(TableAccount::finish));
        }
        runs
    }

    /// Runs the decisions of `run` one bar later; the first bar is a hold.
    ///
    /// It measures the value of the signal with a delay of one bar.
    ///
    /// # Errors
    ///
    /// Returns an error if `run` has another market or window.
    pub fn run_delayed(&self, run: &Run) -> Result<Run, StepError> {
        self.run_table(run.orders.delayed(|decision, symbol| self.data.split_of(self.window.start + decision, symbol)))
    }

    /// Returns accounts for tables of decisions that arrive in blocks of rows.
    #[must_use]
    pub fn table_blocks(&self, n_accounts: usize) -> TableBlocks<'a> {
        let begin = || {
            let (book, run) = (Book::new(self.data, self.window.start), Run::begin(self.window, 0, self.rules.clone()));
            TableAccount { book, run, fault: None, totals: None }
        };
        TableBlocks {
            accounts: (0..n_accounts).map(|_| begin()).collect(),
            workspace: Workspace::new(self.data.n_symbols(), Detail::RewardInputs),
            n_rows: 0,
            backtest: self.clone(),
        }
    }

    /// Runs an account from its last decision to the end of the window.
    pub(crate) fn run_account(&self, account: TableAccount) -> Result<Run, StepError> {
        let mut workspace = Workspace::new(self.data.n_symbols(), Detail::RewardInputs);
        let (mut decision, mut pace) = (account.run.nav.len() - 1, Pace::default());
        let mut accounts = [account];
        while decision < self.window.n_decisions() {
            let together = pace.run(|| self.run_together(&mut accounts, decision, &workspace));
            if together == 0 {
                accounts[0].advance(self, decision, &mut workspace);
            }
            decision += together.max(1);
        }
        let [account] = accounts;
        account.finish()
    }

    /// Runs the first rows of the orders of accounts.
    pub(crate) fn run_rows(&self, accounts: &mut [TableAccount], n_rows: usize, workspace: &mut Workspace) {
        let mut decision = 0;
        while decision < n_rows {
            let together = match <&mut [TableAccount; LANES]>::try_from(&mut *accounts) {
                Ok(accounts) => self.run_together(accounts, decision, workspace),
                Err(_) => 0,
            };
            if together == 0 {
                for account in &mut *accounts {
                    account.advance(self, decision, workspace);
                }
            }
            decision += together.max(1);
        }
    }

    /// Runs decisions of one or eight accounts on the fast path.
    ///
    /// Starts at `decision` and returns the number of decisions run.
    fn run_together<const A: usize>(
        &self,
        accounts: &mut [TableAccount; A],
        decision: usize,
        workspace: &Workspace,
    ) -> usize {
        let runs = |account: &TableAccount| account.is_open() && !account.run.orders.is_conditional(decision);
        if !accounts.iter().all(runs) {
            return 0;
        }
        let mut tracks = accounts.each_mut().map(|account| BlockRun {
            book: &mut account.book,
            orders: account.run.orders.plain_rows_from(decision),
            nav: &mut account.run.nav,
            totals: if A == 1 { account.totals.as_mut() } else { None },
            held: None,
        });
        run_block(self.data, &self.rules, &mut tracks, workspace)
    }
}

/// Accounts whose decisions arrive in blocks of rows.
///
/// They keep nothing of earlier blocks. Eight accounts run at once, with the bits of [`Backtest::run_tables`].
pub struct TableBlocks<'a> {
    backtest: Backtest<'a>,
    accounts: Vec<TableAccount>,
    workspace: Workspace,
    n_rows: usize,
}

impl TableBlocks<'_> {
    /// Runs the next rows of decisions, one table of equal length per account.
    ///
    /// # Errors
    ///
    /// Returns an error if the rows leave the window or differ in number, or hold an infinity; then no account has
    /// changed. Returns an error if a step is refused.
    pub fn advance(&mut self, tables: Vec<Vec<f64>>) -> Result<(), StepError> {
        let Backtest { data, window, .. } = self.backtest;
        if tables.len() != self.accounts.len() {
            return Err(StepError::WeightCount { expected: self.accounts.len(), received: tables.len() });
        }
        let (n_symbols, left) = (data.n_symbols(), window.n_decisions() - self.n_rows);
        let n_rows = tables.first().map_or(0, |orders| orders.len() / n_symbols).min(left);
        let read = |orders: Vec<f64>| {
            if orders.len() != n_rows * n_symbols {
                return Err(StepError::WeightCount { expected: n_rows * n_symbols, received: orders.len() });
            }
            let orders = OrderTable::new(orders, n_symbols);
            not_finite(window.start + self.n_rows, n_symbols, &orders).map_or(Ok(orders), Err)
        };
        // All are read before the first changes an account.
        let tables = tables.into_iter().map(read).collect::<Result<Vec<_>, _>>()?;
        for (account, orders) in self.accounts.iter_mut().zip(tables) {
            account.take_rows(orders);
        }
        self.backtest.run_rows(&mut self.accounts, n_rows, &mut self.workspace);
        self.n_rows += n_rows;
        self.accounts.iter_mut().find_map(|account| account.fault.take()).map_or(Ok(()), Err)
    }

    /// Returns the NAV of each account before the last rows and after each.
    ///
    /// It is shorter after a termination.
    pub fn navs(&self) -> impl Iterator<Item = &[f64]> {
        self.accounts.iter().map(|account| &*account.run.nav)
    }
}

/// One table of decisions, and its account.
pub(crate) struct TableAccount {
    book: Book,
    run: Run,
    fault: Option<StepError>,
    /// Totals of the steps so far, while the fast path runs them all.
    ///
    /// They cost it a tenth of its time.
    totals: Option<Totals>,
}

impl TableAccount {
    pub(crate) fn new(of: &Backtest<'_>, orders: OrderTable, nav: Option<Vec<f64>>) -> Self {
        let fault = fault_of(of, &orders);
        let mut run = Run::begin_in(nav.unwrap_or_default(), of.window, 0, of.rules.clone());
        run.orders = orders;
        Self { book: Book::new(of.data, of.window.start), run, fault, totals: None }
    }

    /// Returns this account, adding the totals of its steps.
    pub(crate) fn with_totals(self) -> Self {
        Self { totals: Some(Totals::default()), ..self }
    }

    /// Returns an account that holds until the end, after the decisions of a run.
    pub(crate) fn holding(of: &Backtest<'_>, book: Book, mut run: Run, totals: Totals) -> Self {
        run.orders.hold_from(run.nav.len() - 1, of.window.n_decisions());
        Self { book, run, fault: None, totals: Some(totals) }
    }

    fn is_open(&self) -> bool {
        self.fault.is_none() && self.run.terminated_at.is_none()
    }

    /// Replaces the decisions by the next rows, and keeps the last NAV.
    fn take_rows(&mut self, orders: OrderTable) {
        self.run.nav.drain(..self.run.nav.len() - 1);
        self.run.events.clear();
        self.run.orders = orders;
    }

    #[inline]
    fn advance(&mut self, of: &Backtest<'_>, decision: usize, workspace: &mut Workspace) {
        if !self.is_open() {
            return;
        }
        self.totals = None;
        let (row, conditions) = self.run.orders.decision(decision);
        let stepped = match conditions {
            [] => step_once(of.data, &of.rules, &mut self.book, row, workspace),
            _ => step_day_orders(of.data, &of.rules, &mut self.book, (row, conditions), workspace),
        };
        match stepped {
            Ok(stepped) => self.run.push(&stepped, workspace.events(), &[]),
            Err(fault) => self.fault = Some(fault),
        }
    }

    pub(crate) fn finish(mut self) -> Result<Run, StepError> {
        if let Some(fault) = self.fault {
            return Err(fault);
        }
        if let Some(totals) = self.totals {
            self.run.keep(totals);
        }
        Ok(self.run.finish())
    }
}

/// Returns the fault of a table of decisions, if it has one.
///
/// Checked before the first trade: an account that is terminated early would hide a later fault.
pub(crate) fn fault_of(of: &Backtest<'_>, orders: &OrderTable) -> Option<StepError> {
    let (n_symbols, decisions) = (of.data.n_symbols(), of.window.n_decisions());
    if orders.n_weights() != decisions * n_symbols {
        return Some(StepError::WeightCount { expected: decisions * n_symbols, received: orders.n_weights() });
    }
    not_finite(of.window.start, n_symbols, orders)
}

/// Returns the first infinity of decisions; their first is at `bar`.
fn not_finite(bar: usize, n_symbols: usize, orders: &OrderTable) -> Option<StepError> {
    let (place, weight) = orders.infinite()?;
    let (bar, symbol) = (bar + place / n_symbols, place % n_symbols);
    Some(StepError::TableNotFinite { bar, symbol, weight })
}
