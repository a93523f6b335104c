use crate::account::book::Book;
use crate::account::costs::StepCosts;
use crate::account::day_order::DayOrder;
use crate::account::event::{Event, RefusalReason};
use crate::account::outcome::Stepped;
use crate::account::rules::Rules;
use crate::account::workspace::{Detail, Workspace};
use crate::error::StepError;
use crate::fast_path;
use crate::market::dataset::Dataset;
use crate::step::accrual::{self, Accrual};
use crate::step::corporate_actions::{self, Actions};
use crate::step::day_orders::{self, DayBar};
#[cfg(feature = "planted")]
use crate::step::planted_faults;
use crate::step::{execution, sizing, solvency};
use crate::vector::lane_sums;

/// Trades `book` to `orders` and moves it to the close of the next bar.
///
/// These are the fifteen steps of `contract/README.md`.
///
/// `orders` holds one signed fraction of NAV per symbol; NaN holds the position. Events are written to `workspace`.
///
/// # Errors
///
/// Returns an error, and leaves `book` unchanged, if `orders` has the wrong length or holds an infinity, or if NAV
/// leaves the range of f64.
///
/// # Panics
///
/// Panics if the book is at the last bar of the data, or `workspace` was made for another number of symbols.
pub fn step_once(
    market: &Dataset,
    rules: &Rules,
    book: &mut Book,
    orders: &[f64],
    workspace: &mut Workspace,
) -> Result<Stepped, StepError> {
    let bar = book.bar + 1;
    book.check_nav()?;
    if orders.len() != market.n_symbols() {
        return Err(StepError::WeightCount { expected: market.n_symbols(), received: orders.len() });
    }
    workspace.orders.as_flattened_mut()[..orders.len()].copy_from_slice(orders);
    // A hold fills nothing, so the fast path leaves out neither an event nor an average price.
    if (workspace.detail != Detail::Full || orders.iter().all(|order| order.is_nan()))
        && let Some(stepped) = fast_path::step(market, rules, book, workspace)
    {
        return Ok(stepped);
    }
    if rules.limits().cash_account || market.has_charges() {
        return step_in_phases(market, rules, book, (orders, &[]), workspace);
    }
    sizing::accept(market, rules, book, orders, workspace)?;
    sizing::size(market, book, workspace);

    let mut cash = book.cash;
    let actions = corporate_actions::apply(market, bar, &mut cash, workspace);
    #[cfg(feature = "planted")]
    planted_faults::choose(market, bar, workspace);
    execution::cut(market, rules, book, bar, workspace);
    let fills = execution::fill(market, rules, bar, workspace);
    cash -= fills.flow + fills.costs.fee;
    #[cfg(feature = "planted")]
    let cash = cash + planted_faults::gift(market, rules, bar, &fills, workspace);

    let accrual = accrual::accrue(market, rules, bar, cash, workspace);
    let traded = Traded { cash, turnover: fills.traded, costs: fills.costs, actions, accrual };
    finish(market, rules, book, &traded, workspace)
}

/// Trades as [`step_once`] does, where orders may have conditions.
///
/// These are the rules of section 1.9 of the contract.
///
/// `conditions` has at most one row per symbol, sorted by symbol. The weight of the same symbol in `orders` states the
/// size; the exits of a hold belong to the position that is held. Without a condition the step is `step_once`.
///
/// # Errors
///
/// Returns the errors of [`step_once`].
///
/// # Panics
///
/// Panics as [`step_once`] does, and if a condition names no symbol of the market.
#[inline]
pub fn step_day_orders(
    market: &Dataset,
    rules: &Rules,
    book: &mut Book,
    (orders, conditions): (&[f64], &[DayOrder]),
    workspace: &mut Workspace,
) -> Result<Stepped, StepError> {
    if conditions.is_empty() {
        return step_once(market, rules, book, orders, workspace);
    }
    book.check_nav()?;
    if orders.len() != market.n_symbols() {
        return Err(StepError::WeightCount { expected: market.n_symbols(), received: orders.len() });
    }
    workspace.orders.as_flattened_mut()[..orders.len()].copy_from_slice(orders);
    step_in_phases(market, rules, book, (orders, conditions), workspace)
}

/// Steps the orders in `workspace` by phases.
#[inline(never)]
fn step_in_phases(
    market: &Dataset,
    rules: &Rules,
    book: &mut Book,
    (orders, conditions): (&[f64], &[DayOrder]),
    workspace: &mut Workspace,
) -> Result<Stepped, StepError> {
    let side = |order: &DayOrder| {
        let weight = orders[order.symbol];
        if weight.is_nan() { book.weight(order.symbol) } else { weight }
    };
    let crossed = |order: &&DayOrder| {
        order.exits_cross(side(order))
            && sizing::refusal(market, rules, book, order.symbol, orders[order.symbol]).is_none()
    };
    for order in conditions.iter().filter(crossed) {
        lane_sums::set(&mut workspace.orders, order.symbol, f64::NAN);
    }
    sizing::accept(market, rules, book, orders, workspace)?;
    for order in conditions.iter().filter(crossed) {
        let symbol = order.symbol;
        let event = Event::Refused { symbol, weight: side(order), reason: RefusalReason::ExitsCrossed };
        let before = |event: &&Event| matches!(event, Event::Refused { symbol: of, .. } if *of < symbol);
        workspace.events.insert(workspace.events.iter().take_while(before).count(), event);
    }
    sizing::size(market, book, workspace);
    let mut cash = book.cash;
    let bar = book.bar + 1;
    let actions = corporate_actions::apply(market, bar, &mut cash, workspace);
    let day = DayBar { market, rules, nav: book.nav, bar };
    let (trades, accrual) = day_orders::trade(&day, (orders, conditions), cash, workspace);
    let traded = Traded { cash: trades.cash, turnover: trades.traded, costs: trades.costs, actions, accrual };
    finish(market, rules, book, &traded, workspace)
}

/// An account after its fills and before its valuation.
struct Traded {
    cash: f64,
    turnover: f64,
    costs: StepCosts,
    actions: Actions,
    accrual: Accrual,
}

/// Steps 13 to 15: values the account, solves it and moves `book` to the bar.
#[inline(always)]
fn finish(
    market: &Dataset,
    rules: &Rules,
    book: &mut Book,
    traded: &Traded,
    workspace: &mut Workspace,
) -> Result<Stepped, StepError> {
    let Traded { accrual, actions, .. } = traded;
    let bar = book.bar + 1;
    // Without funding no bit changes: less 0 is the same number, for a zero of either sign.
    let cash = traded.cash + accrual.idle - accrual.funding - accrual.borrow;
    let account = solvency::mark(market, bar, cash, workspace);
    #[cfg(feature = "planted")]
    let account = planted_faults::value(account, workspace);
    let account = solvency::solve(market, rules, bar, account, workspace);
    let nav = account.nav;
    if !(nav + account.shortfall).is_finite() {
        std::mem::swap(&mut workspace.events, &mut workspace.last_events);
        return Err(StepError::NavOverflow { nav, bar });
    }
    let costs = StepCosts {
        financing: accrual.financing(),
        borrow: accrual.borrow,
        liquidation: account.liquidation,
        ..traded.costs
    };
    let reports = workspace.detail != Detail::RewardInputs;
    let stepped = Stepped {
        nav,
        reward: nav / book.nav - 1.0,
        costs: if reports { costs } else { StepCosts::NOT_COMPUTED },
        interest: if reports { accrual.interest() } else { f64::NAN },
        funding: 0.0 - accrual.funding,
        dividends: actions.dividends,
        settlement: actions.settlement,
        shortfall: account.shortfall,
        turnover: traded.turnover / book.nav,
        forced_turnover: account.closed / book.nav,
        terminated: account.terminated,
    };
    (book.bar, book.cash, book.nav) = (bar, account.cash, nav);
    std::mem::swap(&mut book.shares, &mut workspace.shares);
    std::mem::swap(&mut book.marks, &mut workspace.marks);
    book.weigh();
    if workspace.detail == Detail::Full {
        std::mem::swap(&mut book.avg_prices, &mut workspace.avg_prices);
    }
    Ok(stepped)
}
