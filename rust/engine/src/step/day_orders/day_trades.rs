use crate::account::costs::StepCosts;
use crate::account::day_cell::Phase;
use crate::account::day_order::DayOrder;
use crate::account::workspace::Workspace;
use crate::step::accrual::{self, Accrual};
use crate::step::day_orders::day_bar::DayBar;
use crate::step::day_orders::day_fills::DayTrades;
use crate::step::day_orders::{conditions, exits, phases};
use crate::vector::lane_sums;

/// Steps 7 to 12: fills the orders of a bar in their phases, and accrues.
///
/// `decided` are the weights of the decision and `conditions` its conditions, sorted by symbol.
pub(crate) fn trade(
    day: &DayBar<'_>,
    (decided, conditions): (&[f64], &[DayOrder]),
    cash: f64,
    workspace: &mut Workspace,
) -> (DayTrades, Accrual) {
    let mut trades = DayTrades { cash, traded: 0.0, costs: StepCosts::default(), reduction_cut: false };
    conditions::plan(day, conditions, decided, workspace);
    phases::run(day, Phase::Opens, &mut trades, workspace);
    for (symbol, cell) in workspace.day.iter_mut().enumerate() {
        cell.held_opens = lane_sums::get(&workspace.shares, symbol);
    }
    exits::forestall(day, workspace);
    phases::run(day, Phase::Inside, &mut trades, workspace);
    for (symbol, cell) in workspace.day.iter_mut().enumerate() {
        cell.held_inside = lane_sums::get(&workspace.shares, symbol);
    }
    let cash_inside = trades.cash;
    exits::close(day, &mut trades, workspace);
    phases::run(day, Phase::Closes, &mut trades, workspace);
    let accrual = accrual::accrue_day(day.market, day.rules, day.bar, (cash_inside, trades.cash), workspace);
    (trades, accrual)
}
