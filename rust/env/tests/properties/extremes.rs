//! The limits of every range of the contract: valid or refused, without panics.

use std::sync::Arc;

use openoutcry::{Columns, CostModel, Dataset, Decision, Order, TradingEnv};
use proptest::prelude::*;
use serde_json::Value;

use crate::place_hash::CellDraws;
use crate::random_cases::{shown, window};
use crate::random_market::{Case, cases, config};

proptest! {
    #![proptest_config(config(600))]

    #[test]
    fn the_ends_of_every_range_give_an_answer_or_a_refusal(case in cases(), costs in costs()) {
        let Ok(data) = Dataset::new(at_the_ends(&case)) else { return Ok(()) };
        let env = TradingEnv::new(Arc::new(data), window(&case), costs, 1).expect("costs in their ranges");
        let mut env = env.with_limits(case.limits).expect("limits in their ranges");
        let mut seen = shown(&mut env);
        while !env.done() {
            let decided = decision(&case, &env).to_json();
            let (mut observation, mut info) = (String::new(), String::new());
            let state = env.clone_state();
            match env.step_json(&decided, &mut observation, &mut info) {
                Ok(step) => {
                    prop_assert!(step.reward.is_finite() && step.reward >= -1.0);
                    prop_assert!(env.book().nav() >= 0.0);
                    let told: Value = serde_json::from_str(&info).unwrap();
                    let costs = told["costs"].as_object().unwrap().values();
                    prop_assert!(costs.into_iter().all(|cost| cost.as_f64().unwrap() >= 0.0), "{}", info);
                    seen = observation;
                }
                Err(error) => {
                    prop_assert_eq!(error.slug(), "nav_overflow");
                    prop_assert!(env.clone_state() == state && shown(&mut env) == seen);
                    return Ok(());
                }
            }
        }
    }
}

/// Costs at the ends of their ranges.
fn costs() -> impl Strategy<Value = CostModel> {
    let of = |ends: &'static [f64]| prop::sample::select(ends);
    let rates = (of(&[0.0, 1e6]), of(&[-1e6, 0.0, 1e6]), of(&[0.0, 1e6]));
    let fills = (of(&[0.0, 1.0, 1e6]), of(&[0.0, 1.0, 9999.0]), of(&[0.0, 5e-324, 1.0, 1e6]), of(&[0.0, 1.0]));
    (fills, rates, of(&[1e-6, 1e6, 1e18])).prop_map(|(fills, rates, capital)| CostModel {
        fee_bps: fills.0,
        slippage_bps: fills.1,
        impact_bps: fills.2,
        slippage_jitter: fills.3,
        financing_bps: rates.0,
        cash_bps: rates.1,
        borrow_bps: rates.2,
        capital,
        ..CostModel::zero()
    })
}

/// Returns the market of a case with many cells moved to the ends of their ranges.
fn at_the_ends(case: &Case) -> Columns {
    let mut columns = case.columns();
    let move_to = |table: &mut Vec<f64>, purpose: &str, ends: &[f64]| {
        let dice = CellDraws::new(case.seed, purpose);
        for (cell, (bar, symbol)) in case.cells().enumerate() {
            if table[cell].is_finite() && dice.chance(0.5, bar, symbol) {
                table[cell] = dice.pick(ends, bar + 1000, symbol);
            }
        }
    };
    move_to(&mut columns.close, "close at the ends", &[1e-15, 1.0, 1e15]);
    let opens = columns.open.is_some();
    let optional = [
        (&mut columns.open, "open at the ends", &[1e-15, 1.0, 1e15][..]),
        (&mut columns.volume, "volume at the ends", &[0.0, 5e-324, 1e-300, 1.0, 1e18][..]),
        (&mut columns.splits, "split at the ends", &[1e-9, 1.0, 1e9][..]),
        (&mut columns.delistings, "settlement at the ends", &[-1.0, 1e6][..]),
        // Without opens a dividend is below the previous close.
        (&mut columns.dividends, "dividend at the ends", if opens { &[0.0, 1e15] } else { &[0.0, 5e-324] }),
    ];
    for (table, purpose, ends) in optional {
        if let Some(table) = table {
            move_to(table, purpose, ends);
        }
    }
    columns
}

/// Returns a decision of weights up to the largest accepted one.
fn decision(case: &Case, env: &TradingEnv) -> Decision {
    let (dice, bar) = (CellDraws::new(case.seed, "weight at the ends"), env.book().bar());
    let weight = |symbol: usize| dice.pick(&[-100.0, -1.0, -5e-324, 0.0, 1e-300, 1.0, 100.0], bar, symbol);
    let orders = env.data().symbols().iter().enumerate().map(|(symbol, name)| Order::new(name, weight(symbol)));
    Decision { orders: orders.collect(), reasoning: String::new() }
}
