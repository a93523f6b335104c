//! Random cases as environments and decisions.

use std::sync::Arc;

use openoutcry::{Action, Backtest, Dataset, Decision, Order, TradingEnv, Window};

use crate::place_hash::CellDraws;
use crate::random_market::Case;

/// The fill seed of every run.
const FILL_SEED: u64 = 7;

/// Length of the history: short enough to end within a market of a dozen bars.
pub const LOOKBACK: usize = 5;

pub fn window(case: &Case) -> Window {
    Window { start: case.start, end: case.n_bars }
}

pub fn env(case: &Case, data: &Arc<Dataset>) -> TradingEnv {
    env_until(case, data, case.n_bars)
}

/// Returns an environment whose window ends at a bar.
pub fn env_until(case: &Case, data: &Arc<Dataset>, end: usize) -> TradingEnv {
    let window = Window { start: case.start, end };
    let env = TradingEnv::new(Arc::clone(data), window, case.costs, FILL_SEED).expect("a valid window");
    env.with_limits(case.limits).expect("valid limits").with_lookback(LOOKBACK).expect("valid lookback")
}

pub fn backtest<'a>(case: &Case, data: &'a Dataset) -> Backtest<'a> {
    let backtest = Backtest::new(data, window(case), FILL_SEED, case.costs).expect("a valid window");
    backtest.with_limits(case.limits).expect("valid limits").with_lookback(LOOKBACK).expect("valid lookback")
}

/// Returns the decision with the meaning of the orders of a bar.
///
/// Some orders are in an unusual form.
pub fn decision(case: &Case, data: &Dataset, bar: usize) -> Decision {
    let dice = CellDraws::new(case.seed, "decision");
    let mut decision = Decision { reasoning: "because".into(), ..Decision::default() };
    for (symbol, weight) in case.orders(bar).into_iter().enumerate() {
        let roundabout = dice.chance(0.5, bar, symbol);
        let mut order = Order::new(&data.symbols()[symbol], weight);
        if weight.is_nan() {
            if !roundabout {
                continue;
            }
            (order.action, order.target_weight) = (Action::Hold, 250.0);
        } else if weight == 0.0 && roundabout {
            (order.action, order.target_weight) = (Action::Close, -3.0);
        } else if roundabout {
            order.action = Action::Sell;
        }
        order.confidence = roundabout.then(|| dice.uniform(bar + 1000, symbol));
        decision.orders.push(order);
    }
    decision
}

/// Returns the orders of a bar with the current weight in place of each hold.
pub fn full_row(case: &Case, env: &TradingEnv) -> Vec<f64> {
    let orders = case.orders(env.book().bar()).into_iter().enumerate();
    orders.map(|(i, weight)| if weight.is_nan() { env.book().weight(i) } else { weight }).collect()
}

/// Returns the text of the current observation.
pub fn shown(env: &mut TradingEnv) -> String {
    let mut text = String::new();
    env.write_observation(&mut text);
    text
}

/// The result of one JSON step.
///
/// The observation, the bits of the reward, whether the episode ended, and the info.
#[derive(Clone, Debug, PartialEq)]
pub struct StepRecord {
    pub observation: String,
    pub reward: u64,
    pub done: bool,
    pub info: String,
}

pub fn step(env: &mut TradingEnv, decision: &str) -> StepRecord {
    let (mut observation, mut info) = (String::new(), String::new());
    let step = env.step_json(decision, &mut observation, &mut info).expect("a step");
    StepRecord { observation, reward: step.reward.to_bits(), done: step.done, info }
}

/// Steps to the end with the decisions of the case and returns the results.
pub fn play(case: &Case, env: &mut TradingEnv) -> Vec<StepRecord> {
    let data = Arc::clone(env.data());
    let mut told = Vec::new();
    while !env.done() {
        let decision = decision(case, &data, env.book().bar()).to_json();
        told.push(step(env, &decision));
    }
    told
}
