//! The conformance kit of `contract/conformance`, with the parser of this crate.

use openoutcry_contract::{CONTRACT_VERSION, Decision, FillTime, MarketObservation, Order, OrderConditions};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use serde_json::{Value, json};

const NEGATIVE: &str = include_str!("../../../contract/conformance/negative.json");
const POSITIVE: &str = include_str!("../../../contract/conformance/positive.json");
const NEGATIVE_1_1: &str = include_str!("../../../contract/conformance/v1.1/negative.json");
const POSITIVE_1_1: &str = include_str!("../../../contract/conformance/v1.1/positive.json");
const ERRORS: &str = include_str!("../../../contract/errors.json");
const FIXTURES: [&str; 14] = [
    include_str!("../../../contract/conformance/awkward_news.json"),
    include_str!("../../../contract/conformance/empty_start.json"),
    include_str!("../../../contract/conformance/empty_universe.json"),
    include_str!("../../../contract/conformance/extreme_prices.json"),
    include_str!("../../../contract/conformance/halted_symbol_held.json"),
    include_str!("../../../contract/conformance/legacy_decision_shape.json"),
    include_str!("../../../contract/conformance/numbers_of_rfc8785.json"),
    include_str!("../../../contract/conformance/several_symbols_with_fundamentals_and_news.json"),
    include_str!("../../../contract/conformance/signed_book.json"),
    include_str!("../../../contract/conformance/signed_short.json"),
    include_str!("../../../contract/conformance/single_symbol_with_a_position.json"),
    include_str!("../../../contract/conformance/unicode_symbols.json"),
    include_str!("../../../contract/conformance/unknown_fields_everywhere.json"),
    include_str!("../../../contract/conformance/unknown_observation_field.json"),
];

#[test]
fn the_version_is_the_one_of_the_contract_folder() {
    assert_eq!(CONTRACT_VERSION, include_str!("../../../contract/VERSION").trim());
}

fn cases(text: &str) -> Vec<Value> {
    serde_json::from_str(text).unwrap()
}

fn text<'a>(case: &'a Value, field: &str) -> &'a str {
    case[field].as_str().unwrap()
}

fn negative() -> Vec<Value> {
    [cases(NEGATIVE), cases(NEGATIVE_1_1)].concat()
}

fn positive() -> Vec<Value> {
    [cases(POSITIVE), cases(POSITIVE_1_1)].concat()
}

/// Returns a decision with all fields and defaults, as in the kit.
///
/// An absent price has no default, and `at` is left out at the open.
fn spelled_out(decision: &Decision) -> Value {
    let order = |order: &Order| {
        let mut value = json!({
            "symbol": order.symbol,
            "action": order.action.name(),
            "target_weight": order.target_weight,
            "confidence": order.confidence_or_default(),
            "rationale": order.rationale,
        });
        let conditions = order.conditions.as_deref().copied().unwrap_or_default();
        for (name, price) in [
            ("limit_price", conditions.limit_price),
            ("stop_price", conditions.stop_price),
            ("stop_loss", conditions.stop_loss),
            ("take_profit", conditions.take_profit),
        ] {
            if let Some(price) = price {
                value[name] = json!(price);
            }
        }
        if conditions.at == FillTime::Close {
            value["at"] = json!("close");
        }
        value
    };
    json!({"orders": decision.orders.iter().map(order).collect::<Vec<_>>(), "reasoning": decision.reasoning})
}

/// Returns a value with every number as a double: 1 and 1.0 are one number.
fn with_doubles(value: Value) -> Value {
    match value {
        Value::Number(number) => json!(number.as_f64().unwrap() + 0.0),
        Value::Array(items) => items.into_iter().map(with_doubles).collect(),
        Value::Object(fields) => fields.into_iter().map(|(name, value)| (name, with_doubles(value))).collect(),
        other => other,
    }
}

#[test]
fn every_negative_case_is_refused_with_its_slug() {
    let cases = negative();
    assert!(cases.len() > 120, "{}", cases.len());
    let wrong: Vec<String> = cases
        .iter()
        .filter_map(|case| match Decision::from_json(text(case, "decision")) {
            Ok(decision) => Some(format!("{}: accepted as {decision:?}", case["name"])),
            Err(error) if error.slug() == text(case, "slug") => None,
            Err(error) => Some(format!("{}: {} instead of {}: {error}", case["name"], error.slug(), case["slug"])),
        })
        .collect();
    println!("{} negative cases", cases.len());
    assert_eq!(wrong, [] as [String; 0]);
}

#[test]
fn every_positive_case_parses_to_what_the_kit_says() {
    let cases = positive();
    println!("{} positive cases", cases.len());
    for case in cases {
        let decision = Decision::from_json(text(&case, "decision")).unwrap_or_else(|error| panic!("{case}: {error}"));
        assert_eq!(with_doubles(spelled_out(&decision)), with_doubles(case["parsed"].clone()), "{}", case["name"]);
        let again = Decision::from_json(&decision.to_json()).unwrap();
        assert_eq!(spelled_out(&again), spelled_out(&decision), "{}", case["name"]);
    }
}

#[test]
fn the_samples_of_every_fixture_parse_to_what_it_says() {
    for fixture in FIXTURES {
        let fixture: Value = serde_json::from_str(fixture).unwrap();
        for case in fixture["decisions"].as_array().unwrap() {
            let decision = Decision::from_json(text(case, "decision")).unwrap();
            let parsed = with_doubles(case["parsed"].clone());
            assert_eq!(with_doubles(spelled_out(&decision)), parsed, "{}", fixture["name"]);
        }
    }
}

#[test]
fn an_observation_is_read_whatever_else_it_holds() {
    for fixture in FIXTURES {
        let fixture: Value = serde_json::from_str(fixture).unwrap();
        let observation = MarketObservation::from_json(&fixture["observation"].to_string()).unwrap();
        let again = MarketObservation::from_json(&observation.to_json()).unwrap();
        assert_eq!(observation, again, "{}", fixture["name"]);
        if fixture["validates"] == true {
            let printed: Value = serde_json::from_str(&observation.to_json()).unwrap();
            assert_eq!(with_doubles(printed), with_doubles(fixture["observation"].clone()), "{}", fixture["name"]);
        }
    }
}

#[test]
fn a_refusal_of_each_kind_tells_what_is_required_what_came_and_where() {
    for case in negative() {
        let message = Decision::from_json(text(&case, "decision")).unwrap_err().to_string();
        let (required, received) = message.split_once("; received ").unwrap_or_else(|| panic!("{message}"));
        assert!(!required.is_empty() && !received.is_empty() && !message.ends_with('.'), "{message}");
        assert!(message.contains(" at line "), "{}: {message}", case["name"]);
    }
}

#[test]
fn the_example_of_a_decision_error_has_the_message_shown() {
    let errors: Value = serde_json::from_str(ERRORS).unwrap();
    let errors = errors["errors"].as_array().unwrap().iter().filter(|error| error["kind"] == "decision");
    let mut slugs = Vec::new();
    for error in errors {
        let found = Decision::from_json(text(&error["example"], "given")).unwrap_err();
        assert_eq!(
            (found.slug(), found.to_string().as_str()),
            (text(error, "slug"), text(&error["example"], "message"))
        );
        slugs.push(found.slug());
    }
    assert_eq!(slugs.len(), 10);
}

fn price() -> impl Strategy<Value = Option<f64>> {
    prop::option::of(1e-15..=1e15)
}

fn conditions() -> impl Strategy<Value = OrderConditions> {
    let at = prop::sample::select(FillTime::NAMES.map(|(_, at)| at).to_vec());
    (price(), price(), price(), price(), at).prop_map(|(limit_price, stop_price, stop_loss, take_profit, at)| {
        OrderConditions { limit_price, stop_price, stop_loss, take_profit, at }
    })
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 2000,
        rng_seed: RngSeed::Fixed(20_260_101),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn what_is_printed_reads_back_the_same(
        orders in prop::collection::vec((".*", 0..4_usize, any::<i64>(), prop::option::of(0.0..=1.0), ".*"), 0..4),
        reasoning in ".*",
        conditions in conditions(),
    ) {
        let order = |(symbol, action, weight, confidence, rationale): (String, usize, i64, Option<f64>, String)| {
            let action = openoutcry_contract::Action::NAMES[action].1;
            let target_weight = weight as f64 / 3e17;
            let is_valid = !conditions.is_empty() && conditions.validate(action, target_weight).is_ok();
            let conditions = is_valid.then(|| Box::new(conditions));
            Order { symbol, action, target_weight, confidence, rationale, conditions }
        };
        let decision = Decision { orders: orders.into_iter().map(order).collect(), reasoning };
        prop_assert_eq!(Decision::from_json(&decision.to_json()).unwrap(), decision);
    }

    #[test]
    fn the_parser_and_the_check_of_conditions_agree(
        conditions in conditions(),
        action in 0..4_usize,
        weight in prop::sample::select(vec![0.0, -0.0, 0.5, -0.5]),
    ) {
        let action = openoutcry_contract::Action::NAMES[action].1;
        let order = Order { action, conditions: Some(Box::new(conditions)), ..Order::new("A", weight) };
        let text = Decision { orders: vec![order], reasoning: String::new() }.to_json();
        let slug = |error: openoutcry_contract::DecisionError| error.slug();
        prop_assert_eq!(Decision::from_json(&text).map(|_| ()).map_err(slug), conditions.validate(action, weight).map_err(slug));
    }

    #[test]
    fn a_broken_text_is_refused_and_never_panics(
        case in prop::sample::select(positive()),
        cut in any::<prop::sample::Index>(),
        junk in "[\\[\\]{}:,\"0-9a-z\\\\ ]{0,3}",
    ) {
        let whole = text(&case, "decision");
        let mut place = cut.index(whole.len());
        while !whole.is_char_boundary(place) {
            place -= 1;
        }
        let broken = format!("{}{junk}{}", &whole[..place], &whole[place..]);
        if let Err(error) = Decision::from_json(&broken) {
            prop_assert!(error.to_string().contains("; received "), "{}", error);
        }
        prop_assert!(Decision::from_json(&whole[..place]).is_err() || whole[place..].trim().is_empty());
    }
}
