use crate::account::book::Book;
use crate::account::costs::StepCosts;
use crate::account::outcome::Stepped;
use crate::account::rules::Rules;
use crate::account::workspace::{Detail, Workspace};
use crate::error::StepError;
use crate::fast_path;
use crate::market::dataset::Dataset;
#[cfg(feature = "planted")]
use crate::step::planted_faults;
use crate::step::{accrual, corporate_actions, execution, sizing, solvency};

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
    let mut cash = cash + planted_faults::gift(market, rules, bar, &fills, workspace);

    let accrual = accrual::accrue(market, rules, bar, cash, workspace);
    cash = cash + accrual.idle - accrual.borrow;
    let account = solvency::mark(market, bar, cash, workspace);
    #[cfg(feature = "planted")]
    let account = planted_faults::value(account, workspace);
    let account = solvency::solve(rules, account, workspace);
    let nav = account.nav;
    if !(nav + account.shortfall).is_finite() {
        std::mem::swap(&mut workspace.events, &mut workspace.last_events);
        return Err(StepError::NavOverflow { nav, bar });
    }
    let costs = StepCosts {
        financing: accrual.financing(),
        borrow: accrual.borrow,
        liquidation: account.liquidation,
        ..fills.costs
    };
    let reports = workspace.detail != Detail::RewardInputs;
    let stepped = Stepped {
        nav,
        reward: nav / book.nav - 1.0,
        costs: if reports { costs } else { StepCosts::NOT_COMPUTED },
        interest: if reports { accrual.interest() } else { f64::NAN },
        dividends: actions.dividends,
        settlement: actions.settlement,
        shortfall: account.shortfall,
        turnover: fills.traded / book.nav,
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
