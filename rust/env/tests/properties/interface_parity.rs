//! JSON, arrays, structs and backtests give the same bits.
//!
//! They are interfaces of one engine.

use std::sync::Arc;

use openoutcry::{MarketObservation, OrderTable, Totals};
use openoutcry_contract::canonical_json;
use proptest::prelude::*;
use serde_json::Value;

use crate::random_cases::{backtest, decision, env, full_row, play, shown, step, window};
use crate::random_market::{cases, config};

proptest! {
    #![proptest_config(config(400))]

    #[test]
    fn every_door_gives_the_same_bits(case in cases()) {
        let data = Arc::new(case.dataset());
        let (mut by_json, mut by_row, mut by_struct) = (env(&case, &data), env(&case, &data), env(&case, &data));
        let orders: Vec<f64> = (window(&case).start..window(&case).end - 1).flat_map(|bar| case.orders(bar)).collect();
        let by_table = backtest(&case, &data).run_orders(orders).unwrap();
        let mut bar = case.start;
        let mut agent = |_: &MarketObservation| {
            bar += 1;
            decision(&case, &data, bar - 1)
        };
        let by_agent = backtest(&case, &data).run(&mut agent).unwrap();
        prop_assert_eq!(bits(&by_agent.nav), bits(&by_table.nav));
        let flows = by_table.flows(&data).unwrap();
        prop_assert_eq!(by_agent.flows(&data).unwrap(), flows);
        prop_assert_eq!(&by_agent.terminated_at, &by_table.terminated_at);
        let mut totals = Totals::default();

        for k in 0.. {
            let nav_before = by_row.book().nav();
            let row = full_row(&case, &by_row);
            let decided = decision(&case, &data, by_struct.book().bar());
            let stepped = by_row.step_weights(&row).unwrap();
            let result = by_struct.step(&decided).unwrap();
            let told = step(&mut by_json, &decided.to_json());
            prop_assert_eq!(result.info.stepped, stepped);
            prop_assert_eq!((told.reward, told.done), (stepped.reward.to_bits(), by_row.done()));
            prop_assert_eq!(result.observation.to_json(), told.observation);
            prop_assert_eq!(by_row.book(), by_json.book());
            prop_assert_eq!(by_struct.book(), by_json.book());
            prop_assert_eq!(by_table.nav[k + 1].to_bits(), stepped.nav.to_bits());
            for (column, cost) in flows.costs.iter().zip(stepped.costs.by_kind()) {
                prop_assert_eq!(column[k].to_bits(), cost.to_bits());
            }
            totals.add(nav_before, stepped.turnover, &stepped.costs, by_row.book().exposure());
            if told.done {
                prop_assert_eq!(by_table.terminated_at, by_row.terminated().then_some(k));
                prop_assert_eq!(by_table.totals(&data).unwrap(), totals);
                prop_assert_eq!(by_agent.totals(&data).unwrap(), totals);
                break;
            }
        }
    }

    #[test]
    fn tables_run_side_by_side_give_the_bits_of_each_alone(case in cases(), n_tables in 1_usize..40) {
        let data = Arc::new(case.dataset());
        let orders: Vec<f64> = (window(&case).start..window(&case).end - 1).flat_map(|bar| case.orders(bar)).collect();
        let tables: Vec<OrderTable> = (0..n_tables).map(|k| {
            let mut rotated = orders.clone();
            rotated.rotate_left(k % orders.len());
            if k == 7 {
                rotated[0] = f64::INFINITY;
            }
            OrderTable::new(rotated, case.n_symbols)
        }).collect();
        let together = backtest(&case, &data).run_tables(tables.clone());
        prop_assert_eq!(together.len(), n_tables);
        for (run, orders) in together.into_iter().zip(tables) {
            let alone = backtest(&case, &data).run_table(orders);
            match (run, alone) {
                (Ok(run), Ok(alone)) => {
                    prop_assert_eq!(bits(&run.nav), bits(&alone.nav));
                    prop_assert_eq!(bits(&run.orders.to_vec()), bits(&alone.orders.to_vec()));
                    prop_assert_eq!(format!("{:?}", run.events), format!("{:?}", alone.events));
                    prop_assert_eq!(run.terminated_at, alone.terminated_at);
                    prop_assert_eq!(run.flows(&data).unwrap(), alone.flows(&data).unwrap());
                }
                (run, alone) => prop_assert_eq!(run.err().map(|e| e.to_string()), alone.err().map(|e| e.to_string())),
            }
        }
    }

    #[test]
    fn the_order_of_the_orders_changes_no_bit(case in cases(), seed in any::<u64>()) {
        let data = Arc::new(case.dataset());
        let (mut plain, mut shuffled) = (env(&case, &data), env(&case, &data));
        let dice = crate::place_hash::CellDraws::new(seed, "shuffle");
        while !plain.done() {
            let decided = decision(&case, &data, plain.book().bar());
            let mut other = decided.clone();
            for place in (1..other.orders.len()).rev() {
                other.orders.swap(place, dice.below(place + 1, plain.book().bar(), place));
            }
            let (a, b) = (step(&mut plain, &decided.to_json()), step(&mut shuffled, &other.to_json()));
            prop_assert_eq!((a.observation, a.reward, a.done), (b.observation, b.reward, b.done));
            prop_assert_eq!(plain.book(), shuffled.book());
            prop_assert_eq!(without_refusals(&a.info), without_refusals(&b.info));
        }
    }

    #[test]
    fn the_observation_written_is_the_observation_made(case in cases()) {
        let data = Arc::new(case.dataset());
        let mut env = env(&case, &data);
        let mut seen = vec![shown(&mut env)];
        prop_assert_eq!(&seen[0], &env.reset().to_json());
        while !env.done() {
            let decided = decision(&case, &data, env.book().bar()).to_json();
            seen.push(step(&mut env, &decided).observation);
            let made = env.observation();
            prop_assert_eq!(&seen[seen.len() - 1], &made.to_json());
            prop_assert_eq!(&seen[seen.len() - 1], &shown(&mut env));
            prop_assert_eq!(MarketObservation::from_json(&seen[seen.len() - 1]).unwrap(), made);
        }
    }

    #[test]
    fn every_text_is_canonical_json(case in cases()) {
        let data = Arc::new(case.dataset());
        let mut env = env(&case, &data);
        for told in play(&case, &mut env) {
            for text in [told.observation, told.info] {
                let value: Value = serde_json::from_str(&text).unwrap();
                prop_assert_eq!(canonical(&value), text);
            }
        }
    }

    #[test]
    fn an_observation_accounts_for_the_nav_and_names_only_what_is_listed(case in cases()) {
        let data = Arc::new(case.dataset());
        let mut env = env(&case, &data);
        play_and_check(&case, &mut env)?;
    }
}

fn play_and_check(case: &crate::random_market::Case, env: &mut openoutcry::TradingEnv) -> Result<(), TestCaseError> {
    let columns = case.columns();
    while !env.done() {
        let decided = decision(case, &Arc::clone(env.data()), env.book().bar());
        let result = env.step(&decided).unwrap();
        let (bar, seen) = (env.book().bar(), &result.observation);
        prop_assert_eq!(&seen.date, &columns.dates.get(bar).to_string());
        let closed = |i: usize| (0..=bar).any(|t| columns.close[t * case.n_symbols + i].is_finite());
        let settled = |i: usize| {
            let delistings = columns.delistings.as_ref();
            delistings.is_some_and(|table| (0..=bar).any(|t| !table[t * case.n_symbols + i].is_nan()))
        };
        let listed = (0..case.n_symbols).filter(|i| closed(*i) && !settled(*i));
        let listed: Vec<&String> = listed.map(|i| &columns.symbols[i]).collect();
        prop_assert_eq!(seen.symbols.iter().map(|symbol| &symbol.symbol).collect::<Vec<_>>(), listed);
        let mut value = seen.cash;
        for held in &seen.portfolio {
            let view = seen.symbols.iter().find(|symbol| symbol.symbol == held.symbol).expect("a listed symbol");
            value += held.shares * view.close_history[view.close_history.len() - 1];
            prop_assert!(held.shares != 0.0 && held.avg_price > 0.0);
        }
        let scale = 1.0_f64.max(seen.cash.abs());
        prop_assert!((value - result.info.nav).abs() <= 1e-11 * scale, "{} {}", value, result.info.nav);
    }
    Ok(())
}

fn bits(values: &[f64]) -> Vec<u64> {
    values.iter().map(|value| value.to_bits()).collect()
}

/// Returns an info without the refusals of unknown names.
///
/// Those are reported in the order of the list.
fn without_refusals(info: &str) -> Value {
    let mut info: Value = serde_json::from_str(info).unwrap();
    info["events"].as_array_mut().unwrap().retain(|event| event["slug"] != "refused");
    info
}

/// Returns the RFC 8785 text of a value.
///
/// Its keys are plain or sort as `BTreeMap` sorts them.
fn canonical(value: &Value) -> String {
    let mut text = String::new();
    push(&mut text, value);
    text
}

fn push(text: &mut String, value: &Value) {
    match value {
        Value::Number(number) => canonical_json::push_number(text, number.as_f64().expect("a number")),
        Value::String(string) => canonical_json::push_string(text, string),
        Value::Array(items) => canonical_json::push_array(text, items, push),
        Value::Object(fields) => {
            let mut fields: Vec<(&String, &Value)> = fields.iter().collect();
            fields.sort_by(|(a, _), (b, _)| a.encode_utf16().cmp(b.encode_utf16()));
            let mut before = '{';
            for (key, value) in fields {
                text.push(before);
                canonical_json::push_string(text, key);
                text.push(':');
                push(text, value);
                before = ',';
            }
            text.push_str(if before == '{' { "{}" } else { "}" });
        }
        Value::Bool(_) | Value::Null => text.push_str("no message holds these"),
    }
}
