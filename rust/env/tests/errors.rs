//! Every error of `contract/errors.json`, raised by its example.
//!
//! Each has the documented message.

use std::collections::BTreeMap;
use std::sync::Arc;

use openoutcry::record::AgentTrajectory;
use openoutcry::{
    Backtest, Columns, CostModel, DataError, Dataset, Decision, Fundamental, Limits, NewsItem, Order, State, StepError,
    Stepped, TradingEnv, Window,
};
use serde_json::Value;

/// The slug and the message of an error.
type Raised = (&'static str, String);

fn documented() -> Vec<Value> {
    let document: Value = serde_json::from_str(include_str!("../../../contract/errors.json")).unwrap();
    document["errors"].as_array().unwrap().clone()
}

fn env(data: Dataset) -> TradingEnv {
    let window = Window { start: 0, end: data.n_bars() };
    TradingEnv::new(Arc::new(data), window, CostModel::zero(), 0).unwrap()
}

fn data_error(error: &DataError) -> Raised {
    (error.slug(), error.to_string())
}

fn step_error(error: &StepError) -> Raised {
    (error.slug(), error.to_string())
}

/// Returns the error of each example that is not a text.
fn raised_by_calls() -> BTreeMap<&'static str, Raised> {
    let synthetic = |n_symbols| Dataset::synthetic(n_symbols, 120, 0).unwrap();
    let count = env(synthetic(3)).step_weights(&[0.5, 0.5]).unwrap_err();
    let finite = env(synthetic(2)).step_weights(&[0.5, f64::NAN]).unwrap_err();
    let mut ended = env(Dataset::synthetic(1, 2, 0).unwrap());
    ended.step_weights(&[0.0]).unwrap();
    let over = ended.step_weights(&[0.0]).unwrap_err();
    let window = TradingEnv::new(synthetic(1), Window { start: 118, end: 200 }, CostModel::zero(), 0).unwrap_err();
    let costs = CostModel { fee_bps: -1.0, ..CostModel::zero() }.validate().unwrap_err();
    let limits = Limits { max_weight: f64::NAN, ..Limits::default() }.validate().unwrap_err();
    let shapes = Dataset::new(Columns { open: Some(vec![1.0; 200]), ..columns(120, 2) }).unwrap_err();
    let rates = (0..120).map(|bar| if bar == 1 { 2.0 } else { 0.0001 }).collect();
    let funding = Dataset::new(Columns { charges: [None, None, None, Some(rates)], ..columns(120, 1) }).unwrap_err();
    BTreeMap::from([
        ("funding_invalid", data_error(&funding)),
        ("weight_count", step_error(&count)),
        ("weight_not_finite", step_error(&finite)),
        ("episode_over", step_error(&over)),
        ("nav_overflow", step_error(&overflow())),
        ("window_invalid", (window.slug(), window.to_string())),
        ("cost_invalid", (costs.slug(), costs.to_string())),
        ("limit_invalid", (limits.slug(), limits.to_string())),
        ("dataset_too_large", data_error(&Dataset::synthetic(1_000_000, 1_000_000, 0).unwrap_err())),
        ("shape_mismatch", data_error(&shapes)),
        ("bytes_invalid", data_error(&Dataset::from_bytes(b"date,AA").unwrap_err())),
    ])
}

fn columns(n_bars: usize, n_symbols: usize) -> Columns {
    Columns {
        dates: (0..n_bars).map(|bar| format!("{:04}-01-01", 1000 + bar)).collect(),
        symbols: (0..n_symbols).map(|i| format!("S{i}")).collect(),
        close: vec![1.0; n_bars * n_symbols],
        periods_per_year: 252.0,
        ..Columns::default()
    }
}

/// Returns a market whose price swings by thirty powers of ten each bar.
fn swinging(n_bars: usize) -> TradingEnv {
    let close = (0..n_bars).map(|bar| if bar % 2 == 0 { 1e-15 } else { 1e15 }).collect();
    let data = Dataset::new(Columns { close, ..columns(n_bars, 1) }).unwrap();
    env(data).with_limits(Limits::off()).unwrap()
}

fn overflow() -> StepError {
    let mut env = swinging(40);
    let mut weights = [100.0, 0.0].into_iter().cycle();
    loop {
        if let Err(error) = env.step_weights(&[weights.next().unwrap()]) {
            return error;
        }
    }
}

/// Returns whether a message matches a template.
///
/// It has the literal parts in order, with any text for each field.
fn is_of_template(message: &str, template: &str) -> bool {
    let mut parts = template.split('{').map(|part| part.split_once('}').map_or(part, |(_, literal)| literal));
    let Some(mut rest) = message.strip_prefix(parts.next().unwrap_or_default()) else { return false };
    let literals: Vec<&str> = parts.collect();
    for literal in &literals {
        match rest.find(literal) {
            Some(place) => rest = &rest[place + literal.len()..],
            None => return false,
        }
    }
    rest.is_empty() || literals.last().is_some_and(|last| last.is_empty() || rest.ends_with(last))
}

#[test]
fn every_documented_error_is_raised_by_its_example_with_its_message() {
    let by_calls = raised_by_calls();
    let mut wrong = Vec::new();
    for error in documented() {
        let text = |field: &Value| field.as_str().unwrap().to_owned();
        let (slug, given, shown) =
            (text(&error["slug"]), text(&error["example"]["given"]), text(&error["example"]["message"]));
        let raised = match (error["kind"].as_str().unwrap(), by_calls.get(slug.as_str())) {
            ("decision", _) => {
                let error = Decision::from_json(&given).unwrap_err();
                (error.slug(), error.to_string())
            }
            (_, Some(raised)) => raised.clone(),
            ("record", None) if given.starts_with('{') => {
                let error = AgentTrajectory::from_json(&given).unwrap_err();
                (error.slug(), error.to_string())
            }
            // Errors of harnesses and session servers are tested with them.
            ("agent" | "infrastructure" | "session", None) => continue,
            ("data", None) => data_error(&Dataset::from_csv(&given, Some(252.0)).unwrap_err()),
            _ => {
                // The first has a test below, record errors have their own tests, and the others are raised by the
                // Python bindings only.
                let elsewhere = [
                    "state_mismatch",
                    "argument_invalid",
                    "unknown_agent",
                    "unknown_dataset",
                    "record_unfinished",
                    "record_unsigned",
                    "record_differs",
                    "fill_key_required",
                    "key_invalid",
                    "submission_invalid",
                    "rules_differ",
                ];
                assert!(elsewhere.contains(&slug.as_str()), "no test raises {slug}");
                continue;
            }
        };
        // A Rust table is flat and has a length where the documented one has a shape.
        let is_flat = slug == "shape_mismatch";
        let same_text = ["nav_overflow", "shape_mismatch"].contains(&slug.as_str()) || raised.1 == shown;
        let template = text(&error["message"]);
        if raised.0 != slug || !same_text || !(is_flat || is_of_template(&raised.1, &template)) {
            wrong.push(format!("{slug}: {raised:?} instead of {shown}"));
        }
    }
    assert_eq!(wrong, [] as [String; 0]);
}

#[test]
fn a_checkpoint_of_another_market_window_or_rules_is_refused_and_changes_nothing() {
    let window = Window { start: 1, end: 9 };
    let make = |days, window, costs, limits, seed| {
        let env = TradingEnv::new(Dataset::synthetic(2, days, 0).unwrap(), window, costs, seed).unwrap();
        let mut env = env.with_limits(limits).unwrap();
        env.step_weights(&[0.5, 0.25]).unwrap();
        env
    };
    let (costs, limits) = (CostModel { slippage_jitter: 0.5, ..CostModel::default() }, Limits::default());
    let mut env = make(9, window, costs, limits, 0);
    let state = env.clone_state();
    let others = [
        ("market", make(10, window, costs, limits, 0)),
        ("window", make(9, Window { start: 2, end: 9 }, costs, limits, 0)),
        ("costs", make(9, window, CostModel { fee_bps: 9.0, ..costs }, limits, 0)),
        ("limits", make(9, window, costs, Limits { max_gross: 0.9, ..limits }, 0)),
        ("fill seed", make(9, window, costs, limits, 1)),
    ];
    let message = "a checkpoint of this environment is required; received one of another dataset, window or rules";
    let accepted: Vec<&str> = others
        .iter()
        .filter_map(|(name, other)| match env.restore_state(&other.clone_state()) {
            Ok(()) => Some(*name),
            Err(error) => {
                assert_eq!((error.slug(), error.to_string().as_str()), ("state_mismatch", message));
                assert!(env.clone_state() == state, "{name}");
                None
            }
        })
        .collect();
    assert_eq!(accepted, [] as [&str; 0]);
}

/// The events of the last step are part of the state.
///
/// A refused step must keep them, whatever the reason.
#[test]
fn a_refused_step_leaves_what_the_last_step_had_to_say() {
    let decision = |weight: f64| {
        let orders = ["S0", "nobody"].map(|symbol| Order::new(symbol, weight));
        Decision { orders: orders.to_vec(), reasoning: String::new() }
    };
    let said = |env: &TradingEnv, stepped: &Stepped| {
        let mut info = String::new();
        env.write_info(Some(stepped), &mut info);
        info
    };
    for (n_bars, slug) in [(40, "nav_overflow"), (5, "episode_over")] {
        let (mut env, mut weights) = (swinging(n_bars), [100.0, 0.0].into_iter().cycle());
        let mut last = None;
        let error = loop {
            let before = last.as_ref().map(|stepped| said(&env, stepped));
            match env.step(&decision(weights.next().unwrap())) {
                Ok(result) => last = Some(result.info.stepped),
                Err(error) => {
                    assert_eq!(last.as_ref().map(|stepped| said(&env, stepped)), before, "{error}");
                    break error;
                }
            }
        };
        assert_eq!(error.slug(), slug);
    }
}

#[test]
fn where_no_step_was_taken_nothing_has_happened() {
    let mut env = swinging(40);
    let start = env.clone_state();
    let ways: [fn(&mut TradingEnv, &State); 2] =
        [|env, _| env.restart(), |env, start| env.restore_state(start).unwrap()];
    for back in ways {
        env.step_weights(&[0.5]).unwrap();
        assert_eq!(env.events().len(), 1);
        back(&mut env, &start);
        assert_eq!(env.events(), []);
    }
}

#[test]
fn every_other_fault_of_data_has_a_documented_slug_and_says_what_is_required() {
    let base = || columns(3, 2);
    let known = |available_at: &str, symbol| Fundamental {
        symbol,
        available_at: available_at.into(),
        name: "eps".into(),
        value: 1.0,
    };
    let heard = |available_at: &str| NewsItem { symbol: 0, available_at: available_at.into(), headline: "!".into() };
    let faults = [
        Columns { periods_per_year: 0.0, ..base() },
        Columns { risk_free: Some(vec![0.0, f64::NAN, 0.0]), ..base() },
        Columns { risk_free: Some(vec![0.0; 2]), ..base() },
        Columns { fundamentals: vec![known("yesterday", 0)], ..base() },
        Columns { fundamentals: vec![known("1000-01-01", 2)], ..base() },
        Columns { fundamentals: vec![Fundamental { value: f64::NAN, ..known("1000-01-01", 0) }], ..base() },
        Columns { fundamentals: vec![known("1000-01-01", 0), known("1000-01-01", 0)], ..base() },
        Columns { news: vec![heard("1000-1-1")], ..base() },
        Columns { close: vec![1.0, 0.0, 1.0, 1.0, 1.0, 1.0], ..base() },
        Columns { open: Some(vec![f64::INFINITY; 6]), ..base() },
        Columns { high: Some(vec![-1.0; 6]), ..base() },
        Columns { low: Some(vec![1e16; 6]), ..base() },
        Columns { volume: Some(vec![-1.0; 6]), ..base() },
        Columns { dividends: Some(vec![1.0; 6]), ..base() },
        Columns { splits: Some(vec![0.0; 6]), ..base() },
        Columns { delistings: Some(vec![-1.5; 6]), ..base() },
        Columns { delistings: Some(vec![0.0; 6]), ..base() },
        Columns { tradable: Some(vec![true; 5]), ..base() },
        Columns { symbols: vec!["A".into(), "A".into()], ..base() },
        Columns { symbols: vec!["A".into(), " B".into()], ..base() },
        Columns { symbols: vec!["A".into(), "B\n".into()], ..base() },
        Columns { dates: vec!["1000-01-01".to_owned(); 3].into(), ..base() },
    ];
    let slugs: Vec<String> = documented().iter().map(|error| error["slug"].as_str().unwrap().to_owned()).collect();
    for (index, fault) in faults.into_iter().enumerate() {
        let (slug, message) = match Dataset::new(fault.clone()) {
            Ok(_) => panic!("fault {index} is accepted: {fault:?}"),
            Err(error) => data_error(&error),
        };
        println!("{slug}: {message}");
        assert!(slugs.iter().any(|known| known == slug), "{slug}");
        let (required, received) = message.split_once("; received ").unwrap_or_else(|| panic!("{message}"));
        assert!(!required.is_empty() && !received.is_empty() && !message.ends_with('.'), "{message}");
    }
}

#[test]
fn every_column_ends_where_the_contract_says() {
    let make = |name: &str, value: f64| {
        let table = Some(vec![value; 6]);
        let base = Columns { open: Some(vec![1.0; 6]), ..columns(3, 2) };
        let settled = Some([vec![f64::NAN; 4], vec![value; 2]].concat());
        Dataset::new(match name {
            "close" => Columns { close: vec![value; 6], ..base },
            "open" => Columns { open: table, ..base },
            "volume" => Columns { volume: table, ..base },
            "dividends" => Columns { dividends: table, ..base },
            "splits" => Columns { splits: table, ..base },
            _ => Columns { delistings: settled, ..base },
        })
    };
    let ranges: [(&str, f64, f64); 6] = [
        ("close", 1e-15, 1e15),
        ("open", 1e-15, 1e15),
        ("volume", 0.0, 1e18),
        ("dividends", 0.0, 1e15),
        ("splits", 1e-9, 1e9),
        ("delistings", -1.0, 1e6),
    ];
    for (name, low, high) in ranges {
        for (value, is_accepted) in [(low, true), (high, true), (low.next_down(), false), (high.next_up(), false)] {
            assert_eq!(make(name, value).is_ok(), is_accepted, "{name} of {value:e}");
        }
    }
}

/// A setter of one field, and the ends of its range.
type Field<T> = (fn(f64) -> T, f64, f64);

#[test]
fn every_cost_and_limit_ends_where_the_contract_says() {
    let zero = CostModel::zero();
    let costs: [Field<CostModel>; 8] = [
        (|v| CostModel { fee_bps: v, ..CostModel::zero() }, 0.0, 1e6),
        (|v| CostModel { slippage_bps: v, ..CostModel::zero() }, 0.0, 9999.0),
        (|v| CostModel { slippage_jitter: v, ..CostModel::zero() }, 0.0, 1.0),
        (|v| CostModel { impact_bps: v, ..CostModel::zero() }, 0.0, 1e6),
        (|v| CostModel { financing_bps: v, ..CostModel::zero() }, 0.0, 1e6),
        (|v| CostModel { cash_bps: v, ..CostModel::zero() }, -1e6, 1e6),
        (|v| CostModel { borrow_bps: v, ..CostModel::zero() }, 0.0, 1e6),
        (|v| CostModel { capital: v, ..CostModel::zero() }, 1e-6, 1e18),
    ];
    for (make, low, high) in costs {
        assert_ne!(make(high), zero);
        for (value, is_accepted) in [(low, true), (high, true), (low.next_down(), false), (high.next_up(), false)] {
            assert_eq!(make(value).validate().is_ok(), is_accepted, "{:?}", make(value));
        }
        assert!(make(f64::NAN).validate().is_err());
    }
    let limits: [Field<Limits>; 4] = [
        (|v| Limits { max_weight: v, ..Limits::off() }, 0.0, f64::INFINITY),
        (|v| Limits { max_gross: v, ..Limits::off() }, 0.0, f64::INFINITY),
        (|v| Limits { max_participation: Some(v), ..Limits::off() }, 0.0, f64::INFINITY),
        (|v| Limits { maintenance_margin: v, ..Limits::off() }, 0.0, 1.0_f64.next_down()),
    ];
    for (make, low, high) in limits {
        assert!(make(low).validate().is_ok() && make(high).validate().is_ok(), "{:?}", make(high));
        assert!(make(low.next_down()).validate().is_err() && make(f64::NAN).validate().is_err(), "{:?}", make(low));
        assert!(high.is_infinite() || make(high.next_up()).validate().is_err(), "{:?}", make(high));
    }
}

#[test]
fn a_table_of_orders_is_refused_before_its_first_trade() {
    let data = Dataset::synthetic(2, 10, 0).unwrap();
    let backtest = Backtest::new(&data, Window { start: 0, end: 10 }, 0, CostModel::zero()).unwrap();
    let error = backtest.run_orders(vec![0.0; 17]).unwrap_err();
    assert_eq!(error, StepError::WeightCount { expected: 18, received: 17 });
    let mut orders = vec![f64::NAN; 18];
    assert!(backtest.run_orders(orders.clone()).is_ok());
    orders[17] = f64::NEG_INFINITY;
    let error = backtest.run_orders(orders).unwrap_err();
    assert_eq!(error, StepError::TableNotFinite { bar: 8, symbol: 1, weight: f64::NEG_INFINITY });
    assert_eq!(error.slug(), "weight_not_finite");
}

#[test]
fn a_number_has_one_value_at_a_moment_whatever_the_order_of_the_input() {
    let known = |symbol: usize, name: &str, available_at: &str, value: f64| Fundamental {
        symbol,
        available_at: available_at.into(),
        name: name.into(),
        value,
    };
    let of = |fundamentals: Vec<Fundamental>| Dataset::new(Columns { fundamentals, ..columns(3, 2) });
    let others = vec![
        known(0, "eps", "1000-01-01", 1.0),
        known(0, "eps", "1000-01-02", 2.0),
        known(0, "eps", "1000-01-01T00:00:00", 3.0),
        known(0, "book", "1000-01-01", 4.0),
        known(1, "eps", "1000-01-01", 5.0),
    ];
    assert!(of(others.clone()).is_ok());
    for (value, received) in [(-2.5, "-2.5 and 1.0"), (1.5, "1.0 and 1.5"), (1.0, "1.0 twice")] {
        for place in 0..=others.len() {
            let mut items = others.clone();
            items.insert(place, known(0, "eps", "1000-01-01", value));
            let error = of(items).unwrap_err();
            let symbol = &columns(3, 2).symbols[0];
            let required = format!("`fundamentals` must have one value of \"eps\" for {symbol:?} at 1000-01-01");
            assert_eq!(data_error(&error), ("value_invalid", format!("{required}; received {received}")));
        }
    }
}
