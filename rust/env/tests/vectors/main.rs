//! The vectors of `contract/vectors`, replayed bit for bit with every interface.

mod cases;
mod rejections;

use openoutcry::{Decision, Flows, MarketObservation, StepCosts};
use serde_json::Value;

use cases::{Case, File};

fn cases() -> Vec<Case> {
    let texts = [
        include_str!("../../../../contract/vectors/step.json"),
        include_str!("../../../../contract/vectors/episode.json"),
    ];
    texts.into_iter().flat_map(|text| serde_json::from_str::<File>(text).unwrap().cases).collect()
}

/// Returns a number of an info, or of an object in it.
fn number(info: &Value, name: &str) -> f64 {
    info[name].as_f64().unwrap_or_else(|| panic!("{name} in {info}"))
}

/// The infos of the steps of a case.
fn infos(case: &Case) -> Vec<Value> {
    case.expected.steps.iter().map(|step| serde_json::from_str(&step.info).unwrap()).collect()
}

#[track_caller]
fn assert_same_bits(received: f64, expected: f64, what: &str) {
    // -0.0 and 0.0 are one number on the wire.
    assert!(
        received.to_bits() == expected.to_bits() || (received == 0.0 && expected == 0.0),
        "{what}: {received} instead of {expected}"
    );
}

#[test]
fn the_json_door_gives_the_texts_of_every_vector() {
    let cases = cases();
    println!("{} cases, {} steps", cases.len(), cases.iter().map(|case| case.expected.steps.len()).sum::<usize>());
    for case in cases {
        let mut env = case.given.environment().unwrap();
        let mut text = String::new();
        env.reset_json(&mut text);
        assert_eq!(text, case.expected.reset, "{}", case.name);
        for (k, (decision, expected)) in case.given.decisions.iter().zip(&case.expected.steps).enumerate() {
            let (mut observation, mut info) = (String::new(), String::new());
            let step = env.step_json(decision, &mut observation, &mut info).unwrap();
            let what = format!("{} step {k}", case.name);
            assert_eq!(observation, expected.observation, "{what}");
            assert_eq!(info, expected.info, "{what}");
            assert_same_bits(step.reward, expected.reward, &what);
            assert_eq!(step.done, expected.done, "{what}");
        }
        assert_eq!(case.given.decisions.len(), case.expected.steps.len());
    }
}

#[test]
fn the_struct_door_shows_what_every_vector_says() {
    for case in cases() {
        let mut env = case.given.environment().unwrap();
        assert_eq!(env.reset().to_json(), case.expected.reset, "{}", case.name);
        for (decision, expected) in case.given.decisions.iter().zip(&case.expected.steps) {
            let result = env.step(&Decision::from_json(decision).unwrap()).unwrap();
            assert_eq!(result.observation.to_json(), expected.observation, "{}", case.name);
            assert_eq!(result.done, expected.done, "{}", case.name);
            assert_same_bits(result.reward, expected.reward, &case.name);
            let mut info = String::new();
            env.write_info(Some(&result.info.stepped), &mut info);
            assert_eq!(info, expected.info, "{}", case.name);
        }
    }
}

#[test]
fn a_table_of_weights_gives_the_money_of_every_vector() {
    for case in cases() {
        let data = case.given.dataset.dataset().unwrap();
        let run = case.given.backtest(&data).run_orders(case.given.table()).unwrap();
        let flows = run.flows(&data).unwrap();
        for (k, info) in infos(&case).iter().enumerate() {
            let what = |name: &str| format!("{} step {k} {name}", case.name);
            assert_same_bits(run.nav[k + 1], number(info, "nav"), &what("nav"));
            assert_same_bits(flows.turnover[k], number(info, "turnover"), &what("turnover"));
            for (kind, column) in StepCosts::KINDS.into_iter().zip(&flows.costs) {
                assert_same_bits(column[k], number(&info["costs"], kind), &what(kind));
            }
            for (kind, column) in
                Flows::GAINS.into_iter().zip(&flows.gains).filter(|(kind, _)| !["shortfall", "funding"].contains(kind))
            {
                assert_same_bits(column[k], number(info, kind), &what(kind));
            }
        }
    }
}

#[test]
fn the_array_door_gives_the_money_of_every_vector_that_holds_nothing() {
    let cases: Vec<Case> = cases().into_iter().filter(|case| case.given.full_rows().is_some()).collect();
    assert!(cases.len() >= 10, "{} cases of full rows", cases.len());
    for case in cases {
        let mut env = case.given.environment().unwrap();
        let rows = case.given.full_rows().unwrap();
        for (k, ((row, info), step)) in rows.iter().zip(infos(&case)).zip(&case.expected.steps).enumerate() {
            let what = format!("{} step {k}", case.name);
            let stepped = env.step_weights(row).unwrap();
            assert_same_bits(stepped.reward, step.reward, &what);
            assert_same_bits(stepped.nav, number(&info, "nav"), &what);
            for (kind, cost) in StepCosts::KINDS.into_iter().zip(stepped.costs.by_kind()) {
                assert_same_bits(cost, number(&info["costs"], kind), &what);
            }
            let shown = MarketObservation::from_json(&step.observation).unwrap();
            assert_same_bits(env.book().cash(), shown.cash, &what);
            for (i, symbol) in env.data().symbols().iter().enumerate() {
                let held = shown.portfolio.iter().find(|held| held.symbol == *symbol);
                assert_same_bits(env.book().shares(i), held.map_or(0.0, |held| held.shares), &what);
            }
            assert_eq!(env.done(), step.done, "{what}");
        }
    }
}
