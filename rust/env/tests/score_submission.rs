//! Facts of a submission that are not results of its replay.

use std::fmt::Write;

use openoutcry::record::AgentTrajectory;
use openoutcry::{
    Agent, Backtest, CostModel, Dataset, Decision, MarketObservation, Order, Terms, Window, agents, replay_submission,
    submit, submit_at,
};

const COSTS: CostModel =
    CostModel { fee_bps: 2.0, slippage_bps: 1.0, slippage_jitter: 0.0, impact_bps: 50.0, cash_bps: 40.0, ..ZERO };
const ZERO: CostModel = CostModel {
    stop_gap: 0.0,
    fee_bps: 0.0,
    slippage_bps: 0.0,
    slippage_jitter: 0.0,
    impact_bps: 0.0,
    financing_bps: 0.0,
    cash_bps: 0.0,
    borrow_bps: 0.0,
    capital: 1e6,
};

fn backtest(data: &Dataset) -> Backtest<'_> {
    Backtest::new(data, Window { start: 19, end: data.n_bars() }, 0, COSTS).unwrap()
}

fn record(data: &Dataset, agent: &mut impl Agent) -> AgentTrajectory {
    AgentTrajectory::new("a", vec![backtest(data).capture(agent).unwrap().1], 0)
}

#[test]
fn orders_that_were_filled_are_there_with_what_was_said_of_them() {
    let data = Dataset::synthetic(2, 60, 1).unwrap();
    let names: Vec<String> = data.symbols().to_vec();
    let mut said = 0;
    let mut bold = |_: &MarketObservation| {
        said += 1;
        let first = Order { confidence: Some(0.7), ..Order::new(&names[0], if said % 2 == 0 { 0.5 } else { -0.3 }) };
        Decision { orders: vec![first, Order::new(&names[1], 0.2)], reasoning: String::new() }
    };
    let (run, trajectory) = backtest(&data).capture(&mut bold).unwrap();
    let record = AgentTrajectory::new("a", vec![trajectory], 0);
    let submission = replay_submission(&data, &record, COSTS).unwrap();
    let stated = &submission.runs[0].trace.as_ref().unwrap().stated;
    let fills = run.fills(&data).unwrap();
    assert_eq!(stated.len(), fills.len());
    for (order, fill) in stated.iter().zip(&fills) {
        assert_eq!(order.fill, fill.price);
        assert_eq!(Some(order.close), data.as_of(fill.bar).close(fill.symbol));
        assert_eq!(order.confidence, (fill.symbol == 0).then_some(0.7));
        assert_eq!(order.weight == 0.2, fill.symbol == 1);
    }
    // A hold states nothing, even if it changes nothing.
    let held = replay_submission(&data, &self::record(&data, &mut agents::HoldCash), COSTS).unwrap();
    assert!(held.runs[0].trace.as_ref().unwrap().stated.is_empty());
}

#[test]
fn each_run_is_replayed_on_the_market_of_its_fingerprint() {
    let (one, other) = (Dataset::synthetic(2, 60, 1).unwrap(), Dataset::synthetic(3, 80, 2).unwrap());
    let runs = [&one, &other].map(|data| backtest(data).capture(&mut agents::Momentum).unwrap().1);
    let record = AgentTrajectory::new("a", runs.to_vec(), 0);
    let submission = submit(&[&other, &one], &record, &Terms::default()).unwrap();
    assert_eq!(submission.runs.iter().map(|run| run.returns.len()).collect::<Vec<_>>(), [40, 60]);
    assert_eq!(submit(&[&one], &record, &Terms::default()).unwrap_err().slug(), "record_differs");
}

#[test]
fn a_larger_capital_pays_more_for_the_same_weights_and_no_capital_is_refused() {
    let n_days = 60;
    let mut text = "date,symbol,close,volume\n".to_owned();
    for day in 0..n_days {
        let close = 100.0 + f64::from(day % 7);
        writeln!(text, "2020-{:02}-{:02},A,{close},1e6", 1 + day / 28, 1 + day % 28).unwrap();
    }
    let data = Dataset::from_csv(&text, Some(252.0)).unwrap();
    let mut weight = 0.1;
    let mut bold = |_: &MarketObservation| {
        weight = 1.0 - weight;
        Decision { orders: vec![Order::new("A", weight)], reasoning: String::new() }
    };
    let record = record(&data, &mut bold);
    let at = |capital| submit_at(&[&data], &record, &Terms::default(), capital).unwrap();
    let here = replay_submission(&data, &record, COSTS).unwrap();
    let same = at(COSTS.capital).unwrap();
    let (same_held, here_held) = (same.runs[0].benchmarks.as_ref().unwrap(), here.runs[0].benchmarks.as_ref().unwrap());
    assert_eq!((&same.runs[0].returns, &same_held.cash), (&here.runs[0].returns, &here_held.cash));
    assert_eq!(same_held.buy_and_hold, here_held.buy_and_hold);
    assert_eq!((same_held.passive.len(), here_held.passive.len()), (0, 6));
    assert!(same.runs[0].trace.is_none());
    let total = |capital| at(capital).unwrap().runs[0].returns.iter().sum::<f64>();
    assert!(total(1e6) > total(1e8) && total(1e8) > total(1e10));
    assert_eq!(at(0.0).unwrap_err().slug(), "cost_invalid");
    assert_eq!(at(f64::NAN).unwrap_err().slug(), "cost_invalid");
}
