use crate::account::costs::MAX_COST;
use crate::account::day_cell::Phase;
use crate::account::event::{Event, LimitReason, UnfilledReason};
use crate::account::workspace::{Detail, Workspace};
use crate::market::charges::Charge;
use crate::step::day_orders::day_bar::DayBar;
use crate::step::day_orders::day_fills::{DayTrades, FillSums};
use crate::step::execution::{self, parts};
use crate::vector::lane_sums::{self, LANES};

/// Steps 8 to 11 for the orders of one phase.
pub(super) fn run(day: &DayBar<'_>, phase: Phase, trades: &mut DayTrades, workspace: &mut Workspace) {
    report_failures(phase, workspace);
    let n_symbols = day.market.n_symbols();
    let mut any = false;
    for symbol in 0..n_symbols {
        let is_own = workspace.day[symbol].phase == Some(phase);
        any |= is_own;
        let shares = if is_own { lane_sums::get(&workspace.sized, symbol) } else { 0.0 };
        lane_sums::set(&mut workspace.filled, symbol, shares);
    }
    if !any {
        return;
    }
    cut_to_volume(day, trades, workspace);
    // The order of two fills inside a bar is unknown, so a reduction there makes no room for another order.
    let funds = phase != Phase::Inside;
    execution::rebalance(day.rules, day.nav, (trades.reduction_cut, funds), workspace);
    if day.rules.limits().cash_account {
        cut_to_cash(day, trades.cash, funds, workspace);
    }
    fill(day, phase, trades, workspace);
    for symbol in 0..n_symbols {
        if workspace.day[symbol].phase == Some(phase) {
            lane_sums::set(&mut workspace.sized, symbol, 0.0);
        }
    }
}

fn report_failures(phase: Phase, workspace: &mut Workspace) {
    for symbol in 0..workspace.day.len() {
        if let Some((of, reason)) = workspace.day[symbol].failure
            && of == phase
        {
            let shares = lane_sums::get(&workspace.sized, symbol);
            workspace.events.push(Event::Unfilled { symbol, shares, reason });
        }
    }
}

/// Step 9: cuts each order to the participation limit and the cost limit.
fn cut_to_volume(day: &DayBar<'_>, trades: &mut DayTrades, workspace: &mut Workspace) {
    for symbol in 0..day.market.n_symbols() {
        let shares = lane_sums::get(&workspace.filled, symbol);
        if shares == 0.0 {
            continue;
        }
        let liquidity = day.liquidity(symbol, lane_sums::get(&workspace.marks, symbol));
        let mut allowed = shares;
        let bound = day.rules.limits().max_participation;
        if let Some(most) = bound.filter(|most| liquidity.participation(shares) > *most) {
            allowed = liquidity.shares(most).copysign(shares);
            let (requested, reason) = (shares, LimitReason::Participation);
            workspace.events.push(Event::Limited { symbol: Some(symbol), requested, allowed, reason });
        }
        if workspace.day[symbol].cost(allowed.abs()) >= MAX_COST {
            workspace.events.push(Event::Unfilled { symbol, shares: allowed, reason: UnfilledReason::CostTooHigh });
            allowed = 0.0;
        }
        let held = lane_sums::get(&workspace.shares, symbol);
        trades.reduction_cut |= parts(allowed, held).0 < parts(shares, held).0;
        lane_sums::set(&mut workspace.filled, symbol, allowed);
    }
}

/// Cuts the purchases of a phase to the cash there is, pro rata.
///
/// `funds` states whether the sales of the phase pay for its purchases.
fn cut_to_cash(day: &DayBar<'_>, cash: f64, funds: bool, workspace: &mut Workspace) {
    let fee_of = |symbol: usize| {
        let charged = day.market.charge(Charge::Fee, day.bar, symbol);
        charged.map_or(day.rules.rates.fee, |bps| bps / 1e4)
    };
    let (mut bought, mut sold) = ([0.0; LANES], [0.0; LANES]);
    for (symbol, cell) in workspace.day.iter().enumerate() {
        let shares = lane_sums::get(&workspace.filled, symbol);
        if shares > 0.0 {
            bought[symbol % LANES] += shares * cell.fill(shares).price * (1.0 + fee_of(symbol));
        } else if shares < 0.0 && funds {
            sold[symbol % LANES] += -shares * cell.fill(shares).price * (1.0 - fee_of(symbol));
        }
    }
    let (need, have) = (lane_sums::total(&bought), cash + lane_sums::total(&sold));
    let have = if have > 0.0 { have } else { 0.0 };
    if need <= have {
        return;
    }
    for shares in workspace.filled.as_flattened_mut().iter_mut().filter(|shares| **shares > 0.0) {
        *shares *= have / need;
    }
    workspace.events.push(Event::Limited { symbol: None, requested: need, allowed: have, reason: LimitReason::Cash });
}

/// Step 11: fills the orders of a phase at once.
fn fill(day: &DayBar<'_>, phase: Phase, trades: &mut DayTrades, workspace: &mut Workspace) {
    let mut sums = FillSums::default();
    for symbol in 0..day.market.n_symbols() {
        let shares = lane_sums::get(&workspace.filled, symbol);
        if shares == 0.0 {
            continue;
        }
        let fill = workspace.day[symbol].fill(shares);
        sums.add(day, symbol, shares, &fill);
        if workspace.detail == Detail::Full {
            workspace.events.push(Event::Filled { symbol, shares, price: fill.price });
            execution::average_in(workspace, symbol, shares, fill.price);
        }
        let before = lane_sums::get(&workspace.shares, symbol);
        let after = before + shares;
        lane_sums::set(&mut workspace.shares, symbol, after);
        let cell = &mut workspace.day[symbol];
        cell.traded += shares.abs();
        if phase == Phase::Inside {
            cell.filled_inside = true;
            let adds = parts(shares, before).1 > 0.0;
            cell.entry = if adds { fill.base } else { f64::NAN };
        }
    }
    trades.pay(day, &sums);
}
