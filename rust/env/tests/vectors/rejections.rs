//! `reject.json`: refused inputs with their slugs, and unchanged state.

use std::collections::BTreeMap;

use openoutcry::{ConfigError, CostModel, Dataset, Limits, TradingEnv, Window};
use serde::Deserialize;
use serde_json::Value;

use crate::cases::{Data, Given};

#[derive(Deserialize)]
struct File {
    environments: BTreeMap<String, Given>,
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    name: String,
    on: String,
    at: String,
    input: Value,
    expected: Slug,
}

#[derive(Deserialize)]
struct Slug {
    slug: String,
}

/// Returns a number, or that of a string.
fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| value.as_str().expect("a number or its name").parse().expect("NaN or Infinity"))
}

fn row(value: &Value) -> Vec<f64> {
    value.as_array().expect("a row").iter().map(number).collect()
}

fn stepped(given: &Given) -> TradingEnv {
    let mut env = given.environment().expect("valid settings");
    for decision in given.decisions.iter().take(env.window().n_decisions()) {
        env.step_json(decision, &mut String::new(), &mut String::new()).expect("a step");
    }
    env
}

/// Returns the inputs with some settings replaced.
fn but(given: &Given, input: &Value) -> Given {
    let mut other = given.clone();
    for (name, value) in input.as_object().expect("settings") {
        match name.as_str() {
            "window" => other.window = serde_json::from_value(value.clone()).expect("a window"),
            "costs" => assert!(set_cost(&mut other, value)),
            name => panic!("an unknown setting {name}"),
        }
    }
    other
}

fn set_cost(given: &mut Given, costs: &Value) -> bool {
    let mut spelled = serde_json::to_value(&given.costs).expect("costs");
    spelled.as_object_mut().expect("costs").extend(costs.as_object().expect("costs").clone());
    serde_json::from_value(spelled).map(|costs| given.costs = costs).is_ok()
}

/// Returns the slug with which a running environment refuses the input.
///
/// `None` if it does not.
fn refuse(env: &mut TradingEnv, given: &Given, case: &Case) -> Option<&'static str> {
    match case.at.as_str() {
        "decision" => {
            let (mut observation, mut info) = (String::new(), String::new());
            let step = env.step_json(case.input.as_str().expect("a text"), &mut observation, &mut info);
            assert!(observation.is_empty() && info.is_empty(), "{}", case.name);
            step.err().map(|error| error.slug())
        }
        "weights" => env.step_weights(&row(&case.input)).err().map(|error| error.slug()),
        "table" => {
            let orders: Vec<f64> = case.input.as_array().expect("rows").iter().flat_map(row).collect();
            let decisions = given.window().n_decisions() * env.data().n_symbols();
            given.backtest(env.data()).run_orders(orders[..decisions].to_vec()).err().map(|error| error.slug())
        }
        "checkpoint" => {
            let other = stepped(&but(given, &case.input)).clone_state();
            env.restore_state(&other).err().map(|error| error.slug())
        }
        "dataset" => {
            let data: Data = serde_json::from_value(case.input.clone()).expect("a dataset");
            data.dataset().err().map(|error| error.slug())
        }
        "csv" => Dataset::from_csv(case.input.as_str().expect("a text"), Some(252.0)).err().map(|error| error.slug()),
        _ => refuse_to_make(env, given, case).err().map(|error| error.slug()),
    }
}

fn refuse_to_make(env: &TradingEnv, given: &Given, case: &Case) -> Result<(), ConfigError> {
    match case.at.as_str() {
        "window" => {
            let window: [usize; 2] = serde_json::from_value(case.input.clone()).expect("a window");
            Window { start: window[0], end: window[1] }.validate(env.data().n_bars())
        }
        "costs" => with_cost(given.costs(), &case.input).validate(),
        "limits" => with_limit(given.limits(), &case.input).validate(),
        at => panic!("an unknown place {at}"),
    }
}

fn with_cost(mut costs: CostModel, input: &Value) -> CostModel {
    for (name, value) in input.as_object().unwrap() {
        let field = match name.as_str() {
            "fee_bps" => &mut costs.fee_bps,
            "slippage_bps" => &mut costs.slippage_bps,
            "slippage_jitter" => &mut costs.slippage_jitter,
            "impact_bps" => &mut costs.impact_bps,
            "financing_bps" => &mut costs.financing_bps,
            "cash_bps" => &mut costs.cash_bps,
            "borrow_bps" => &mut costs.borrow_bps,
            "capital" => &mut costs.capital,
            name => panic!("an unknown cost {name}"),
        };
        *field = number(value);
    }
    costs
}

fn with_limit(mut limits: Limits, input: &Value) -> Limits {
    for (name, value) in input.as_object().unwrap() {
        match name.as_str() {
            "max_weight" => limits.max_weight = number(value),
            "max_gross" => limits.max_gross = number(value),
            "max_participation" => limits.max_participation = Some(number(value)),
            "maintenance_margin" => limits.maintenance_margin = number(value),
            name => panic!("an unknown limit {name}"),
        }
    }
    limits
}

#[test]
fn every_refusal_has_its_slug_and_leaves_the_state_equal() {
    let file: File = serde_json::from_str(include_str!("../../../../contract/vectors/reject.json")).unwrap();
    println!("{} refusals", file.cases.len());
    let mut wrong = Vec::new();
    for case in file.cases {
        let given = &file.environments[&case.on];
        let (mut env, mut undisturbed) = (stepped(given), stepped(given));
        let slug = refuse(&mut env, given, &case);
        if slug != Some(case.expected.slug.as_str()) {
            wrong.push(format!("{}: {slug:?} instead of {}", case.name, case.expected.slug));
        }
        assert!(env.clone_state() == undisturbed.clone_state(), "{}", case.name);
        let hold = r#"{"orders":[]}"#;
        let told = |env: &mut TradingEnv| {
            let (mut observation, mut info) = (String::new(), String::new());
            let step = env.step_json(hold, &mut observation, &mut info).map(|step| (step.reward.to_bits(), step.done));
            (step.map_err(|error| error.slug()), observation, info)
        };
        assert_eq!(told(&mut env), told(&mut undisturbed), "{}", case.name);
    }
    assert_eq!(wrong, [] as [String; 0]);
}
