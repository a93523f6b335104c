use crate::account::costs::StepCosts;
use crate::account::day_cell::Phase;
use crate::account::day_order::DayOrder;
use crate::account::rules::Rules;
use crate::account::workspace::Workspace;
use crate::market::dataset::Dataset;
use crate::step::accrual::{self, Accrual};
use crate::step::day_orders::{conditions, exits, phases};
use crate::step::liquidity::Liquidity;
use crate::vector::lane_sums;

/// The bar of a step with day orders.
#[derive(Clone, Copy)]
pub(crate) struct DayBar<'a> {
    pub(crate) market: &'a Dataset,
    pub(crate) rules: &'a Rules,
    /// NAV at close t.
    pub(crate) nav: f64,
    /// Bar t + 1.
    pub(crate) bar: usize,
}

impl DayBar<'_> {
    pub(super) fn liquidity(&self, symbol: usize, mark: f64) -> Liquidity {
        Liquidity::of(self.market, self.rules, (self.bar, symbol), (mark, self.nav))
    }
}

/// The cash of the account and the totals of its fills in a bar.
pub(crate) struct DayTrades {
    pub(crate) cash: f64,
    /// Notional traded.
    pub(crate) traded: f64,
    pub(crate) costs: StepCosts,
    /// Whether step 9 has cut a reduction in a phase so far.
    pub(super) reduction_cut: bool,
}

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
