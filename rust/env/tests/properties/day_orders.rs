//! Orders with conditions give the same bits at every interface.
//!
//! Conditions that nothing meets leave the bits of plain orders.

use std::sync::Arc;

use openoutcry::record::AgentTrajectory;
use openoutcry::{
    Action, AgentAnswer, Backtest, BacktestError, ConditionTable, Dataset, DayOrder, Decision, MarketObservation,
    Order, OrderTable, Terms, TradingEnv, replay_run,
};
use openoutcry_contract::{FillTime, OrderConditions};
use proptest::prelude::*;

use crate::place_hash::CellDraws;
use crate::random_cases::{backtest, env, step, window};
use crate::random_market::{Case, cases, config};

/// Returns the market of a case with highs and lows.
///
/// Some are missing or inside the bar.
fn ranged(case: &Case) -> Arc<Dataset> {
    let mut columns = case.columns();
    let draws = CellDraws::new(case.seed, "range");
    let open = columns.open.clone().unwrap_or_else(|| columns.close.clone());
    let side = |sign: f64, purpose: usize| {
        let price = |(cell, (bar, symbol)): (usize, (usize, usize))| {
            if draws.chance(0.05, bar + purpose, symbol) {
                return f64::NAN;
            }
            let most =
                if sign > 0.0 { open[cell].max(columns.close[cell]) } else { open[cell].min(columns.close[cell]) };
            most * (1.0 + sign * draws.between(-0.005, 0.03, bar + purpose + 1000, symbol))
        };
        case.cells().enumerate().map(price).collect::<Vec<f64>>()
    };
    let (high, low) = (side(1.0, 0), side(-1.0, 5000));
    (columns.high, columns.low) = (Some(high), Some(low));
    Arc::new(Dataset::new(columns).expect("a valid market"))
}

/// Returns the conditions of the orders of a bar, near its closes.
fn conditions(case: &Case, data: &Dataset, bar: usize) -> Vec<DayOrder> {
    let draws = CellDraws::new(case.seed, "conditions");
    let orders = case.orders(bar).into_iter().enumerate();
    let order = |(symbol, weight): (usize, f64)| {
        let close = data.as_of(bar).close(symbol).filter(|close| close.is_finite()).unwrap_or(50.0);
        let price = |chance: f64, purpose: usize| {
            let given = draws.chance(chance, bar + purpose, symbol);
            if given { close * draws.between(0.96, 1.04, bar + purpose + 500, symbol) } else { f64::NAN }
        };
        let at_close = !weight.is_nan() && draws.chance(0.2, bar, symbol);
        let has_exits = weight != 0.0 && !at_close;
        let order = DayOrder {
            symbol,
            limit: if weight.is_nan() { f64::NAN } else { price(0.3, 1000) },
            stop: if weight.is_nan() || at_close { f64::NAN } else { price(0.25, 2000) },
            stop_loss: if has_exits { price(0.35, 3000) } else { f64::NAN },
            take_profit: if has_exits { price(0.35, 4000) } else { f64::NAN },
            at_close,
        };
        order.is_conditional().then_some(order)
    };
    orders.filter_map(order).collect()
}

/// Returns the decision of a bar in the form of the wire.
fn decision(case: &Case, data: &Dataset, bar: usize) -> Decision {
    let mut decision = Decision::hold();
    let conditions = conditions(case, data, bar);
    for (symbol, weight) in case.orders(bar).into_iter().enumerate() {
        let of = conditions.iter().find(|order| order.symbol == symbol);
        if weight.is_nan() && of.is_none() {
            continue;
        }
        let mut order = Order::new(&data.symbols()[symbol], if weight.is_nan() { 0.0 } else { weight });
        if weight.is_nan() {
            order.action = Action::Hold;
        }
        let price = |price: f64| (!price.is_nan()).then_some(price);
        order.conditions = of.map(|of| {
            Box::new(OrderConditions {
                limit_price: price(of.limit),
                stop_price: price(of.stop),
                stop_loss: price(of.stop_loss),
                take_profit: price(of.take_profit),
                at: if of.at_close { FillTime::Close } else { FillTime::Open },
            })
        });
        decision.orders.push(order);
    }
    decision
}

/// Returns the orders of a case, with the conditions of each bar.
fn table(case: &Case, conditions: impl Fn(usize) -> Vec<DayOrder>) -> OrderTable {
    let bars = window(case).start..window(case).end - 1;
    let rows = bars.clone().flat_map(|bar| case.orders(bar)).collect();
    let mut table = ConditionTable::default();
    bars.enumerate().for_each(|(decision, bar)| table.push(decision, &conditions(bar)));
    OrderTable::new(rows, case.n_symbols).with_conditions(table)
}

fn bits(numbers: &[f64]) -> Vec<u64> {
    numbers.iter().map(|number| number.to_bits()).collect()
}

/// Returns the backtest of a case, with a late fill of stops in half of the cases.
fn gapped(case: &Case) -> Case {
    let stop_gap = if case.seed.is_multiple_of(2) { 0.0 } else { 0.25 };
    Case { costs: openoutcry::CostModel { stop_gap, ..case.costs }, ..case.clone() }
}

proptest! {
    #![proptest_config(config(400))]

    #[test]
    fn conditions_have_the_same_effect_at_every_interface(case in cases()) {
        let case = gapped(&case);
        let data = ranged(&case);
        let orders = table(&case, |bar| conditions(&case, &data, bar));
        let of = backtest(&case, &data);
        let by_table = of.run_table(orders.clone()).unwrap();
        let mut bar = case.start;
        let mut agent = |_: &MarketObservation| {
            bar += 1;
            decision(&case, &data, bar - 1)
        };
        let by_agent = of.run(&mut agent).unwrap();
        prop_assert_eq!(bits(&by_agent.nav), bits(&by_table.nav));
        prop_assert_eq!(by_agent.terminated_at, by_table.terminated_at);
        let flows = by_table.flows(&data).unwrap();
        prop_assert_eq!(by_agent.flows(&data).unwrap(), flows);
        prop_assert_eq!(by_agent.totals(&data).unwrap(), by_table.totals(&data).unwrap());
        prop_assert_eq!(by_agent.fills(&data).unwrap(), by_table.fills(&data).unwrap());

        let (mut by_json, mut by_struct): (TradingEnv, TradingEnv) = (env(&case, &data), env(&case, &data));
        for k in 0.. {
            let decided = decision(&case, &data, by_struct.book().bar());
            let result = by_struct.step(&decided).unwrap();
            let told = step(&mut by_json, &decided.to_json());
            prop_assert_eq!(result.observation.to_json(), told.observation);
            prop_assert_eq!(by_struct.book(), by_json.book());
            prop_assert_eq!(by_table.nav[k + 1].to_bits(), result.info.stepped.nav.to_bits());
            for (column, cost) in flows.costs.iter().zip(result.info.stepped.costs.by_kind()) {
                prop_assert_eq!(column[k].to_bits(), cost.to_bits());
                prop_assert!(cost >= 0.0, "a cost of {cost}");
            }
            if told.done {
                break;
            }
        }
    }

    #[test]
    fn tables_with_conditions_run_side_by_side_as_alone(case in cases(), n_tables in 7_usize..18) {
        let data = ranged(&case);
        let of = backtest(&case, &data);
        let tables: Vec<OrderTable> = (0..n_tables).map(|k| {
            table(&case, |bar| if (bar + k) % 3 == 0 { Vec::new() } else { conditions(&case, &data, bar) })
        }).collect();
        for (run, orders) in of.run_tables(tables.clone()).into_iter().zip(tables) {
            let (run, alone) = (run.unwrap(), of.run_table(orders).unwrap());
            prop_assert_eq!(bits(&run.nav), bits(&alone.nav));
            prop_assert_eq!(format!("{:?}", run.events), format!("{:?}", alone.events));
            prop_assert_eq!(run.flows(&data).unwrap(), alone.flows(&data).unwrap());
        }
    }

    #[test]
    fn a_record_with_conditions_replays_and_states_its_version(case in cases()) {
        let case = gapped(&case);
        let data = ranged(&case);
        let of = backtest(&case, &data);
        let (by_table, from_table) = of.capture_orders(&table(&case, |bar| conditions(&case, &data, bar))).unwrap();
        let mut bar = case.start;
        let decide = |_: &str| {
            bar += 1;
            Ok(AgentAnswer::strict(decision(&case, &data, bar - 1).to_json()))
        };
        let (by_text, from_text) = of.try_capture::<BacktestError>(decide, |_| Ok(())).unwrap();
        prop_assert_eq!(bits(&by_table.nav), bits(&by_text.nav));
        let has_charge = openoutcry::Charge::ALL.into_iter().any(|charge| data.has_charge(charge));
        for record in [from_table, from_text] {
            let replay = replay_run(&data, &record, &Terms::default()).unwrap();
            prop_assert_eq!(replay.differences, Vec::new());
            let has_conditions = record.steps.iter().any(|step| Decision::from_json(&step.decision).unwrap().has_day_orders());
            let needs = has_conditions || has_charge || case.costs.stop_gap != 0.0 || case.limits.cash_account;
            prop_assert_eq!(record.contract_version(), if needs { "1.1" } else { "1.0" });
            let agent = AgentTrajectory::new("agent", vec![record], 0);
            prop_assert_eq!(&AgentTrajectory::from_bytes(agent.to_json().as_bytes()).unwrap(), &agent);
            prop_assert_eq!(&AgentTrajectory::from_lines(agent.to_lines().as_bytes()).unwrap().record, &agent);
        }
    }

    #[test]
    fn conditions_that_nothing_meets_leave_the_bits_of_plain_orders(case in cases()) {
        let data = ranged(&case);
        let of: Backtest<'_> = backtest(&case, &data);
        let plain = of.run_table(table(&case, |_| Vec::new())).unwrap();
        // No price of these markets reaches them, for a long or for a short.
        let far = |bar: usize| {
            let weights = case.orders(bar).into_iter().enumerate().filter(|(_, weight)| *weight != 0.0 && !weight.is_nan());
            weights.map(|(symbol, weight)| {
                let (stop_loss, take_profit) = if weight > 0.0 { (1e-15, 1e15) } else { (1e15, 1e-15) };
                DayOrder { stop_loss, take_profit, ..DayOrder::unconditional(symbol) }
            }).collect()
        };
        let guarded = of.run_table(table(&case, far)).unwrap();
        prop_assert_eq!(bits(&guarded.nav), bits(&plain.nav));
        prop_assert_eq!(guarded.flows(&data).unwrap(), plain.flows(&data).unwrap());
        prop_assert_eq!(guarded.weights(&data).unwrap(), plain.weights(&data).unwrap());
        prop_assert_eq!(guarded.fills(&data).unwrap(), plain.fills(&data).unwrap());
    }
}
