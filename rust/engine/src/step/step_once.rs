use std::sync::Arc;

use crate::account::book::Book;
use crate::account::cost_tables::Tables;
use crate::account::costs::{CostModel, StepCosts};
use crate::account::event::Event;
use crate::account::fill_noise::FillKey;
use crate::account::limits::Limits;
use crate::error::{ConfigError, StepError};
use crate::fast_path::{self, Tariff};
use crate::market::dataset::Dataset;
use crate::step::execution;
#[cfg(feature = "planted")]
use crate::step::planted_faults;
use crate::step::sizing;
use crate::step::solvency;
use crate::vector::cpu_features::Arch;
use crate::vector::lane_sums::{self, Block, LANES};

/// The largest |weight| an order may carry; beyond it the order is refused.
pub const MAX_ABS_WEIGHT: f64 = 100.0;

/// What a market charges and allows: checked once, used by every step.
#[derive(Clone, Debug)]
pub struct Rules {
    costs: CostModel,
    limits: Limits,
    pub(crate) fill_key: FillKey,
    pub(crate) rates: Rates,
    pub(crate) tariff: Tariff,
    pub(crate) tables: Option<Arc<Tables>>,
}

/// Tables computed ahead change no number, and so no rule.
impl PartialEq for Rules {
    fn eq(&self, other: &Self) -> bool {
        (self.costs, self.limits, self.fill_key) == (other.costs, other.limits, other.fill_key)
    }
}

/// The cost model as fractions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Rates {
    pub(crate) fee: f64,
    pub(crate) slippage: f64,
    pub(crate) impact: f64,
    pub(crate) financing: f64,
    pub(crate) cash: f64,
    pub(crate) borrow: f64,
}

impl Rules {
    /// Returns the rules of costs and limits, with the key of the slippage noise.
    ///
    /// # Errors
    ///
    /// Returns the first cost or limit that is out of range.
    pub fn new(costs: CostModel, limits: Limits, fill_key: FillKey) -> Result<Self, ConfigError> {
        costs.validate()?;
        limits.validate()?;
        let rates = Rates {
            fee: costs.fee_bps / 1e4,
            slippage: costs.slippage_bps / 1e4,
            impact: costs.impact_bps / 1e4,
            financing: costs.financing_bps / 1e4,
            cash: costs.cash_bps / 1e4,
            borrow: costs.borrow_bps / 1e4,
        };
        let tariff = Tariff::shared(&costs, &limits, &rates);
        Ok(Self { costs, limits, fill_key, rates, tariff, tables: None })
    }

    /// Returns these rules with another key of the slippage noise.
    #[must_use]
    pub fn with_fill_key(mut self, fill_key: FillKey) -> Self {
        self.fill_key = fill_key;
        self.tables = None;
        self
    }

    /// Returns these rules with what they come to in each bar of `market` worked out.
    ///
    /// Worth it where many accounts share the rules. They are for that market alone from then on.
    #[must_use]
    pub fn with_tables(mut self, market: &Dataset) -> Self {
        self.tables = Some(Arc::new(Tables::new(market, &self)));
        self
    }

    /// Returns the cost model.
    #[must_use]
    pub fn costs(&self) -> &CostModel {
        &self.costs
    }

    /// Returns the key of the slippage noise.
    #[must_use]
    pub fn fill_key(&self) -> FillKey {
        self.fill_key
    }

    /// Returns the limits.
    #[must_use]
    pub fn limits(&self) -> &Limits {
        &self.limits
    }
}

/// How much a step tells beside the money.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    /// What a [`Growth`] is made of, and events other than fills.
    ///
    /// Costs and interest are NaN.
    Growth,
    /// Events other than fills; no average prices.
    Money,
    /// Every event, and average prices.
    Full,
}

/// Work space of a step, reused so that a step allocates nothing.
#[derive(Clone, Debug)]
pub struct Desk {
    pub(crate) detail: Detail,
    pub(crate) arch: Arch,
    /// Weights asked for; NaN is a hold.
    pub(crate) orders: Vec<Block>,
    /// Weights after the limits.
    pub(crate) targets: Vec<Block>,
    /// Shares to trade, before any cut of the fill bar.
    pub(crate) sized: Vec<Block>,
    /// Shares traded.
    pub(crate) filled: Vec<Block>,
    /// Shares held and their marks on the fill bar's share basis.
    pub(crate) shares: Vec<Block>,
    pub(crate) marks: Vec<Block>,
    pub(crate) avg_prices: Vec<Block>,
    /// Slippage with its jitter, and the impact coefficient, per symbol.
    pub(crate) slippage: Vec<Block>,
    pub(crate) impact: Vec<Block>,
    pub(crate) events: Vec<Event>,
    /// Events of the step before, for when this one is refused.
    pub(crate) last_events: Vec<Event>,
}

impl Desk {
    /// Returns the work space for steps of `rules` on a market of `n_symbols`.
    #[must_use]
    pub fn new(n_symbols: usize, detail: Detail) -> Self {
        let zeros = vec![[0.0; LANES]; lane_sums::n_blocks(n_symbols)];
        // A symbol can be refused or limited, stale, delisted, limited, unfilled, filled and liquidated; the account thrice.
        let most_events = 8 * n_symbols + 4;
        Self {
            detail,
            arch: Arch::new(),
            slippage: zeros.clone(),
            orders: zeros.clone(),
            targets: zeros.clone(),
            sized: zeros.clone(),
            filled: zeros.clone(),
            shares: zeros.clone(),
            marks: zeros.clone(),
            avg_prices: zeros.clone(),
            impact: zeros,
            events: Vec::with_capacity(most_events),
            last_events: Vec::with_capacity(most_events),
        }
    }

    /// Returns what happened in the last step, in the order of the timeline.
    #[must_use]
    pub fn events(&self) -> &[Event] {
        &self.events
    }
}

/// The outcome of one step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stepped {
    /// NAV at the close of the fill bar.
    pub nav: f64,
    /// Simple return of NAV from close to close.
    pub reward: f64,
    /// What the decision cost, by kind, in units of NAV 1.
    pub costs: StepCosts,
    /// Interest on idle cash; negative where the rate is.
    pub interest: f64,
    /// Dividends received less dividends paid on shorts.
    pub dividends: f64,
    /// Gain of settled positions over their marks.
    pub settlement: f64,
    /// Loss beyond the account, written off.
    pub shortfall: f64,
    /// Notional traded at fill prices, over the NAV it was decided on.
    pub turnover: f64,
    /// Whether the account was liquidated or ruined.
    pub terminated: bool,
}

/// The part of a step's outcome that a reward is made of.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Growth {
    /// See [`Stepped::nav`].
    pub nav: f64,
    /// See [`Stepped::reward`].
    pub reward: f64,
    /// See [`Stepped::turnover`].
    pub turnover: f64,
}

impl Stepped {
    /// Returns what a reward is made of.
    #[must_use]
    pub fn growth(&self) -> Growth {
        Growth { nav: self.nav, reward: self.reward, turnover: self.turnover }
    }
}

/// Trades `book` to `orders` and carries it to the close of the next bar.
///
/// These are the fifteen steps of `contract/README.md`.
///
/// `orders` holds one signed fraction of NAV per symbol; NaN holds what is there. What the step had to say is left in
/// `desk`.
///
/// # Errors
///
/// Returns an error, and leaves `book` unchanged, if `orders` has the wrong length or holds an infinity, or if NAV
/// leaves the range of f64.
///
/// # Panics
///
/// Panics if the book is at the last bar of the data, or `desk` was made for another number of symbols.
pub fn step_once(
    market: &Dataset,
    rules: &Rules,
    book: &mut Book,
    orders: &[f64],
    desk: &mut Desk,
) -> Result<Stepped, StepError> {
    let bar = book.bar + 1;
    book.check_nav()?;
    if orders.len() != market.n_symbols() {
        return Err(StepError::WeightCount { expected: market.n_symbols(), received: orders.len() });
    }
    desk.orders.as_flattened_mut()[..orders.len()].copy_from_slice(orders);
    if desk.detail != Detail::Full
        && let Some(stepped) = fast_path::step(market, rules, book, desk)
    {
        return Ok(stepped);
    }
    sizing::accept(market, rules, book, orders, desk)?;
    sizing::size(market, book, desk);

    let mut cash = book.cash;
    let actions = solvency::act(market, bar, &mut cash, desk);
    #[cfg(feature = "planted")]
    planted_faults::choose(market, bar, desk);
    execution::cut(market, rules, book, bar, desk);
    let fills = execution::fill(market, rules, bar, desk);
    cash -= fills.flow + fills.costs.fee;
    #[cfg(feature = "planted")]
    let mut cash = cash + planted_faults::gift(market, rules, bar, &fills, desk);

    let accrual = solvency::accrue(market, rules, bar, cash, desk);
    cash = cash + accrual.idle - accrual.borrow;
    let account = solvency::mark(market, bar, cash, desk);
    #[cfg(feature = "planted")]
    let account = planted_faults::value(account, desk);
    let account = solvency::solve(rules, account, desk);
    let nav = account.nav;
    if !(nav + account.shortfall).is_finite() {
        std::mem::swap(&mut desk.events, &mut desk.last_events);
        return Err(StepError::NavOverflow { nav, bar });
    }
    let costs = StepCosts {
        financing: accrual.financing(),
        borrow: accrual.borrow,
        liquidation: account.liquidation,
        ..fills.costs
    };
    let tells = desk.detail != Detail::Growth;
    let stepped = Stepped {
        nav,
        reward: nav / book.nav - 1.0,
        costs: if tells { costs } else { StepCosts::UNTOLD },
        interest: if tells { accrual.interest() } else { f64::NAN },
        dividends: actions.dividends,
        settlement: actions.settlement,
        shortfall: account.shortfall,
        turnover: fills.traded / book.nav,
        terminated: account.terminated,
    };
    (book.bar, book.cash, book.nav) = (bar, account.cash, nav);
    std::mem::swap(&mut book.shares, &mut desk.shares);
    std::mem::swap(&mut book.marks, &mut desk.marks);
    book.weigh();
    if desk.detail == Detail::Full {
        std::mem::swap(&mut book.avg_prices, &mut desk.avg_prices);
    }
    Ok(stepped)
}
