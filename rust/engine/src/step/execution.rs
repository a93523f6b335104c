//! Steps 7 to 11 of the timeline: fills in bar t + 1 and their prices.

use crate::account::book::Book;
use crate::account::costs::{MAX_COST, StepCosts};
use crate::account::event::{Event, LimitReason, UnfilledReason};
use crate::account::rules::Rules;
use crate::account::workspace::{Detail, Workspace};
use crate::market::dataset::Dataset;
use crate::vector::lane_sums::{self, Block, LANES, each};

/// Steps 8 to 10: cuts the orders to the capacity of the bar.
pub(crate) fn cut(market: &Dataset, rules: &Rules, book: &Book, bar: usize, workspace: &mut Workspace) {
    workspace.slippage.fill([rules.rates.slippage; LANES]);
    let mut lost = [0.0; LANES];
    for ((filled, sized), price) in workspace.filled.iter_mut().zip(&workspace.sized).zip(market.fill_prices(bar)) {
        *filled = each(|k| if price[k].is_nan() { 0.0 } else { sized[k] });
        lost = each(|k| lost[k] + (sized[k] - filled[k]).abs());
    }
    let dropped = lost.iter().any(|lost| *lost > 0.0);
    if dropped {
        report_untradable(market, bar, workspace);
    }
    let rates = &rules.rates;
    let varies = rates.impact > 0.0 || rules.costs().slippage_jitter > 0.0;
    let mut reduced = dropped;
    if varies || rates.slippage >= MAX_COST || rules.limits().max_participation.is_some() {
        reduced |= cut_to_volume(market, rules, book, bar, workspace);
    }
    if reduced {
        rebalance(rules, book, workspace);
    }
}

fn report_untradable(market: &Dataset, bar: usize, workspace: &mut Workspace) {
    for symbol in 0..market.n_symbols() {
        let shares = lane_sums::get(&workspace.sized, symbol);
        if shares == 0.0 || lane_sums::get(market.fill_prices(bar), symbol).is_finite() {
            continue;
        }
        let reason = if !market.reference_price(bar, symbol).is_finite() || market.close_of(bar, symbol).is_nan() {
            UnfilledReason::NoPrice
        } else if market.is_masked(bar, symbol) {
            UnfilledReason::NotTradable
        } else {
            UnfilledReason::NoVolume
        };
        workspace.events.push(Event::Unfilled { symbol, shares, reason });
    }
}

/// Step 9: cuts each order to the participation limit and the cost limit.
///
/// It sets the cost coefficients of each symbol.
fn cut_to_volume(market: &Dataset, rules: &Rules, book: &Book, bar: usize, workspace: &mut Workspace) -> bool {
    let (rates, costs) = (&rules.rates, rules.costs());
    let mut reduced = false;
    for symbol in 0..market.n_symbols() {
        let shares = lane_sums::get(&workspace.filled, symbol);
        if shares == 0.0 {
            continue;
        }
        // `costs.capital / volume` shares of NAV 1 are the whole volume of the bar.
        let volume = market.volume_of(bar, symbol);
        let mark = lane_sums::get(&workspace.marks, symbol);
        let (transposed, ratio) = match volume {
            Some(volume) => (shares.abs() * costs.capital / volume, costs.capital / volume),
            None => (shares.abs() * mark / book.nav, mark / book.nav),
        };
        // Zero times infinity is NaN.
        let impact = if rates.impact > 0.0 { rates.impact * ratio.sqrt() } else { 0.0 };
        let mut allowed = shares;
        if let Some(most) = rules.limits().max_participation.filter(|most| transposed > *most) {
            let cap = volume.map_or(most * book.nav / mark, |volume| most * volume / costs.capital);
            allowed = cap.copysign(shares);
            let (requested, reason) = (shares, LimitReason::Participation);
            workspace.events.push(Event::Limited { symbol: Some(symbol), requested, allowed, reason });
        }
        let mut slippage = rates.slippage;
        if costs.slippage_jitter > 0.0 {
            let drawn = rules.tables.as_ref().and_then(|tables| tables.slippage(bar));
            slippage =
                drawn.map_or_else(|| rules.jittered_slippage(market, bar, symbol), |row| lane_sums::get(row, symbol));
        }
        if slippage + impact * allowed.abs().sqrt() >= MAX_COST {
            workspace.events.push(Event::Unfilled { symbol, shares: allowed, reason: UnfilledReason::CostTooHigh });
            allowed = 0.0;
        }
        reduced |= allowed != shares;
        lane_sums::set(&mut workspace.slippage, symbol, slippage);
        // Infinity times the root of zero is NaN.
        lane_sums::set(&mut workspace.impact, symbol, if allowed == 0.0 { 0.0 } else { impact });
        lane_sums::set(&mut workspace.filled, symbol, allowed);
    }
    reduced
}

/// Step 10: scales all new exposure if a reduction was cut.
///
/// Gross exposure stays within its bound.
fn rebalance(rules: &Rules, book: &Book, workspace: &mut Workspace) {
    let (mut held, mut kept, mut added) = ([0.0; LANES], [0.0; LANES], [0.0; LANES]);
    let mut reduction_cut = false;
    for symbol in 0..workspace.shares.len() * LANES {
        let (shares, mark) = (lane_sums::get(&workspace.shares, symbol), lane_sums::get(&workspace.marks, symbol));
        let (wanted, _) = parts(lane_sums::get(&workspace.sized, symbol), shares);
        let (toward, away) = parts(lane_sums::get(&workspace.filled, symbol), shares);
        reduction_cut |= toward < wanted;
        held[symbol % LANES] += shares.abs() * mark;
        kept[symbol % LANES] += (shares.abs() - toward) * mark;
        added[symbol % LANES] += away * mark;
    }
    let (held, kept, added) = (lane_sums::total(&held), lane_sums::total(&kept), lane_sums::total(&added));
    let budget = rules.limits().max_gross * book.nav;
    let bound = if held > budget { held } else { budget };
    if !reduction_cut || added <= 0.0 || kept + added <= bound {
        return;
    }
    let scale = if bound > kept { (bound - kept) / added } else { 0.0 };
    for (filled, shares) in workspace.filled.as_flattened_mut().iter_mut().zip(workspace.shares.as_flattened()) {
        let (toward, away) = parts(*filled, *shares);
        if away > 0.0 {
            *filled = (toward + away * scale).copysign(*filled);
        }
    }
    let (requested, allowed) = ((kept + added) / book.nav, (kept + added * scale) / book.nav);
    workspace.events.push(Event::Limited { symbol: None, requested, allowed, reason: LimitReason::Rebalanced });
}

/// Returns the shares of an order toward flat and away from it.
fn parts(order: f64, held: f64) -> (f64, f64) {
    let size = order.abs();
    let opposite = held != 0.0 && order.is_sign_negative() != held.is_sign_negative();
    let toward = if !opposite {
        0.0
    } else if size < held.abs() {
        size
    } else {
        held.abs()
    };
    (toward, size - toward)
}

/// Totals of all fills of a bar.
pub(crate) struct Fills {
    /// Cash paid for shares, negative if received.
    pub(crate) flow: f64,
    /// Notional traded.
    pub(crate) traded: f64,
    pub(crate) costs: StepCosts,
}

/// Step 11: fills all orders at once.
pub(crate) fn fill(market: &Dataset, rules: &Rules, bar: usize, workspace: &mut Workspace) -> Fills {
    if workspace.detail == Detail::Full {
        report_fills(market, bar, workspace);
    }
    if rules.rates.impact > 0.0 {
        fill_all::<true>(market, rules, bar, workspace)
    } else {
        fill_all::<false>(market, rules, bar, workspace)
    }
}

/// Fills every order, with an impact term if `IMPACT`.
///
/// Without impact all coefficients are 0, and so is the term. Skipping it leaves the bits unchanged.
fn fill_all<const IMPACT: bool>(market: &Dataset, rules: &Rules, bar: usize, workspace: &mut Workspace) -> Fills {
    let (mut flow, mut traded) = ([0.0; LANES], [0.0; LANES]);
    let (mut slipped, mut pushed) = ([0.0; LANES], [0.0; LANES]);
    let coefficients = workspace.slippage.iter().zip(&workspace.impact);
    let positions = workspace.shares.iter_mut().zip(&workspace.marks);
    for (((order, price), (slippage, impact)), (shares, mark)) in
        workspace.filled.iter().zip(market.fill_prices(bar)).zip(coefficients).zip(positions)
    {
        let price: Block = each(|k| if price[k].is_nan() { mark[k] } else { price[k] });
        let impact: Block = each(|k| if IMPACT { impact[k] * order[k].abs().sqrt() } else { 0.0 });
        let cost: Block = each(|k| (slippage[k] + impact[k]).copysign(order[k]));
        let fill_price: Block = each(|k| price[k] * (1.0 + cost[k]));
        flow = each(|k| flow[k] + order[k] * fill_price[k]);
        traded = each(|k| traded[k] + order[k].abs() * fill_price[k]);
        slipped = each(|k| slipped[k] + order[k].abs() * price[k] * slippage[k]);
        if IMPACT {
            pushed = each(|k| pushed[k] + order[k].abs() * price[k] * impact[k]);
        }
        *shares = each(|k| shares[k] + order[k]);
    }
    let traded = lane_sums::total(&traded);
    let costs = StepCosts {
        fee: rules.rates.fee * traded,
        slippage: lane_sums::total(&slipped),
        impact: lane_sums::total(&pushed),
        ..StepCosts::default()
    };
    Fills { flow: lane_sums::total(&flow), traded, costs }
}

/// Records each fill and updates the average price of the position.
fn report_fills(market: &Dataset, bar: usize, workspace: &mut Workspace) {
    for symbol in 0..market.n_symbols() {
        let order = lane_sums::get(&workspace.filled, symbol);
        if order == 0.0 {
            continue;
        }
        let cost = lane_sums::get(&workspace.slippage, symbol)
            + lane_sums::get(&workspace.impact, symbol) * order.abs().sqrt();
        let price = lane_sums::get(market.fill_prices(bar), symbol) * (1.0 + cost.copysign(order));
        workspace.events.push(Event::Filled { symbol, shares: order, price });
        let (held, average) =
            (lane_sums::get(&workspace.shares, symbol), lane_sums::get(&workspace.avg_prices, symbol));
        let after = held + order;
        let average = if after == 0.0 {
            0.0
        } else if held == 0.0 || held.is_sign_negative() != after.is_sign_negative() {
            price
        } else if held.is_sign_negative() == order.is_sign_negative() {
            (average * held.abs() + price * order.abs()) / after.abs()
        } else {
            average
        };
        lane_sums::set(&mut workspace.avg_prices, symbol, average);
    }
}
