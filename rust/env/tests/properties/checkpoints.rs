//! Checkpoints resume exactly, refusals change nothing, and episodes stay ended.

use std::sync::Arc;

use openoutcry::{StepError, TradingEnv};
use proptest::prelude::*;

use crate::random_cases::{backtest, decision, env, env_until, play, shown, step};
use crate::random_market::{Case, cases, config};

/// Texts that are not decisions, one for each reason.
const REFUSED: [(&str, &str); 7] = [
    (r#"{"orders": [}"#, "bad_json"),
    (r#"{"reasoning": "flat"}"#, "missing_field"),
    (r#"{"orders": [], "leverage": 2}"#, "unknown_field"),
    (r#"{"orders": [], "orders": []}"#, "duplicate_field"),
    (r#"{"orders": null}"#, "wrong_type"),
    (r#"{"orders": [{"symbol": "S00", "action": "BUY", "target_weight": 0.5}]}"#, "unknown_action"),
    (
        r#"{"orders": [{"symbol": "S00", "action": "buy", "target_weight": 0.5, "confidence": 2}]}"#,
        "confidence_out_of_range",
    ),
];

proptest! {
    #![proptest_config(config(400))]

    #[test]
    fn a_checkpoint_resumes_with_the_same_bits(case in cases(), at in any::<prop::sample::Index>()) {
        let data = Arc::new(case.dataset());
        let mut env = env(&case, &data);
        for _ in 0..at.index(case.n_bars - case.start - 1) {
            if !env.done() {
                let decided = decision(&case, &data, env.book().bar()).to_json();
                step(&mut env, &decided);
            }
        }
        let state = env.clone_state();
        let seen = shown(&mut env);
        let told = play(&case, &mut env);
        prop_assert!(told.is_empty() || env.clone_state() != state);
        env.restore_state(&state).unwrap();
        prop_assert_eq!(&env.clone_state(), &state);
        prop_assert_eq!(&shown(&mut env), &seen);
        prop_assert_eq!(&play(&case, &mut env), &told);
        let mut other = env_until(&case, &data, case.n_bars);
        other.restore_state(&state).unwrap();
        prop_assert_eq!(&shown(&mut other), &seen);
        prop_assert_eq!(&play(&case, &mut other), &told);
    }

    #[test]
    fn a_reset_plays_the_same_episode_again(case in cases()) {
        let data = Arc::new(case.dataset());
        let mut env = env(&case, &data);
        let (first, told) = (env.reset().to_json(), play(&case, &mut env));
        prop_assert_eq!(env.reset().to_json(), first);
        prop_assert_eq!(play(&case, &mut env), told);
    }

    #[test]
    fn a_refused_input_leaves_the_state_equal_and_the_environment_steppable(case in cases()) {
        let data = Arc::new(case.dataset());
        let (mut plain, mut refusing) = (env(&case, &data), env(&case, &data));
        while !plain.done() {
            let (state, seen) = (refusing.clone_state(), shown(&mut refusing));
            refuse_everything(&mut refusing, case.n_symbols)?;
            prop_assert_eq!(refusing.clone_state(), state);
            prop_assert_eq!(shown(&mut refusing), seen);
            let decided = decision(&case, &data, plain.book().bar()).to_json();
            prop_assert_eq!(step(&mut refusing, &decided), step(&mut plain, &decided));
        }
    }

    #[test]
    fn a_refused_input_leaves_what_the_last_step_had_to_say(case in cases()) {
        let data = Arc::new(case.dataset());
        let mut env = env(&case, &data);
        let stepped = env.step(&decision(&case, &data, case.start)).unwrap().info.stepped;
        let said = |env: &TradingEnv| {
            let mut info = String::new();
            env.write_info(Some(&stepped), &mut info);
            info
        };
        if env.done() {
            return Ok(());
        }
        let before = said(&env);
        refuse_everything(&mut env, case.n_symbols)?;
        prop_assert_eq!(said(&env), before);
    }

    #[test]
    fn the_end_of_an_episode_is_absorbing(case in ruinous()) {
        let data = Arc::new(case.dataset());
        let mut env = env(&case, &data);
        let told = play(&case, &mut env);
        let (state, seen) = (env.clone_state(), shown(&mut env));
        for _ in 0..3 {
            let error = env.step(&decision(&case, &data, case.start)).unwrap_err();
            prop_assert_eq!(error, StepError::EpisodeOver);
            let error = env.step_weights(&vec![0.0; case.n_symbols]).unwrap_err();
            prop_assert_eq!(error.to_string(), StepError::EpisodeOver.to_string());
            let error = env.step_json(r#"{"orders":[]}"#, &mut String::new(), &mut String::new()).unwrap_err();
            prop_assert_eq!(error.slug(), "episode_over");
            prop_assert_eq!(&env.clone_state(), &state);
            prop_assert_eq!(&shown(&mut env), &seen);
        }
        let orders: Vec<f64> = (case.start..case.n_bars - 1).flat_map(|bar| case.orders(bar)).collect();
        let run = backtest(&case, &data).run_orders(orders).unwrap();
        prop_assert_eq!(run.nav.len(), case.n_bars - case.start);
        prop_assert_eq!(run.terminated_at, env.terminated().then(|| told.len() - 1));
        let last = env.book().nav();
        prop_assert!(run.nav[told.len()..].iter().all(|nav| nav.to_bits() == last.to_bits()));
        prop_assert!(run.returns()[told.len()..].iter().all(|return_| *return_ == 0.0));
        let flows = run.flows(&data).unwrap();
        prop_assert!((told.len()..flows.turnover.len()).all(|k| flows.cost_of(k) == 0.0 && flows.turnover[k] == 0.0));
    }
}

/// Cases in which many accounts are lost.
fn ruinous() -> impl Strategy<Value = Case> {
    cases().prop_map(|mut case| {
        (case.has.jumps, case.reach) = (true, 30.0);
        (case.limits.max_gross, case.limits.max_weight) = (f64::INFINITY, f64::INFINITY);
        case
    })
}

fn refuse_everything(env: &mut TradingEnv, n_symbols: usize) -> Result<(), TestCaseError> {
    for (text, slug) in REFUSED {
        let (mut observation, mut info) = (String::new(), String::new());
        let error = env.step_json(text, &mut observation, &mut info).unwrap_err();
        prop_assert_eq!(error.slug(), slug);
        prop_assert_eq!((observation, info), (String::new(), String::new()));
    }
    let error = env.step_weights(&vec![0.0; n_symbols + 1]).unwrap_err();
    prop_assert_eq!(error, StepError::WeightCount { expected: n_symbols, received: n_symbols + 1 });
    for weight in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let mut weights = vec![0.0; n_symbols];
        weights[n_symbols - 1] = weight;
        let error = env.step_weights(&weights).unwrap_err();
        prop_assert_eq!(error.slug(), "weight_not_finite");
        let order = openoutcry::Order { target_weight: weight, ..openoutcry::Order::new("S00", 0.5) };
        let decision = openoutcry::Decision { orders: vec![order], reasoning: String::new() };
        prop_assert_eq!(env.step(&decision).unwrap_err().slug(), "weight_not_finite");
    }
    Ok(())
}
