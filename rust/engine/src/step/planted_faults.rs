//! Faults planted in the engine by tests, to be detected by the martingale gate.
//!
//! Only the feature `planted` compiles them. No release enables it.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use crate::account::rules::Rules;
use crate::account::workspace::Workspace;
use crate::market::dataset::Dataset;
use crate::step::execution::Fills;
use crate::step::solvency::Account;
use crate::vector::lane_sums;

/// The names of the faults. Each is a function of this module or an arm of one.
pub const FAULTS: [&str; 6] =
    ["fee-credited", "proceeds-twice", "same-bar-fill", "lots-rounded", "short-free", "fills-chosen"];

static FAULT: AtomicUsize = AtomicUsize::new(FAULTS.len());
static SIZE: AtomicU64 = AtomicU64::new(0);

/// Plants a fault in place of the previous one; returns whether the name is known.
///
/// Size 1 is the full fault. An unknown name removes the planted fault.
pub fn plant(fault: &str, size: f64) -> bool {
    let found = FAULTS.iter().position(|name| *name == fault);
    FAULT.store(found.unwrap_or(FAULTS.len()), Ordering::SeqCst);
    SIZE.store(size.to_bits(), Ordering::SeqCst);
    found.is_some()
}

/// Returns the name of the planted fault and its size.
fn planted() -> (&'static str, f64) {
    let fault = FAULTS.get(FAULT.load(Ordering::Relaxed)).copied().unwrap_or("none");
    (fault, f64::from_bits(SIZE.load(Ordering::Relaxed)))
}

/// Returns the cash that the fault adds to the fills of a bar.
pub(crate) fn gift(market: &Dataset, rules: &Rules, bar: usize, fills: &Fills, workspace: &Workspace) -> f64 {
    let (fault, size) = planted();
    match fault {
        // A rebate in place of the commission: the fee is returned, and as much again at size 1.
        "fee-credited" => 2.0 * size * fills.costs.fee,
        "proceeds-twice" => size * 0.5 * (fills.traded - fills.flow),
        // The fill price of the previous bar, which this decision has seen.
        "same-bar-fill" => over_fills(market, bar, workspace, |order, price, symbol| {
            let seen = lane_sums::get(market.fill_prices(bar - 1), symbol);
            if seen.is_finite() { size * order * (price - seen) } else { 0.0 }
        }),
        // Cash for whole lots, rounded down; the shares are as ordered.
        "lots-rounded" => over_fills(market, bar, workspace, |order, price, _| {
            let lot = size / rules.costs().capital;
            price * (order - (order / lot).floor() * lot)
        }),
        _ => 0.0,
    }
}

/// Returns the sum over fills of a function of order, price and symbol.
fn over_fills(market: &Dataset, bar: usize, workspace: &Workspace, of: impl Fn(f64, f64, usize) -> f64) -> f64 {
    let symbols = 0..market.n_symbols();
    symbols
        .map(|symbol| {
            (lane_sums::get(&workspace.filled, symbol), lane_sums::get(market.fill_prices(bar), symbol), symbol)
        })
        .filter(|(order, price, _)| *order != 0.0 && price.is_finite())
        .map(|(order, price, symbol)| of(order, price, symbol))
        .sum()
}

/// Values an account without the debt of its shorts.
pub(crate) fn value(mut account: Account, workspace: &Workspace) -> Account {
    if let ("short-free", size) = planted() {
        let held = workspace.shares.as_flattened().iter().zip(workspace.marks.as_flattened());
        account.nav += size * held.map(|(shares, mark)| (-shares).max(0.0) * mark).sum::<f64>();
    }
    account
}

/// Drops a part of each order that loses on the next day.
///
/// Every fill is paid in full, so the accounting is right and only the profit reveals the fault.
pub(crate) fn choose(market: &Dataset, bar: usize, workspace: &mut Workspace) {
    let ("fills-chosen", size) = planted() else { return };
    for symbol in 0..market.n_symbols() {
        let order = lane_sums::get(&workspace.sized, symbol);
        let day = market.close_of(bar, symbol) - lane_sums::get(market.fill_prices(bar), symbol);
        if order * day < 0.0 {
            lane_sums::set(&mut workspace.sized, symbol, order * (1.0 - size));
        }
    }
}
