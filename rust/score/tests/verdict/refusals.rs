use openoutcry_contract::record::Fill;
use openoutcry_contract::{Submission, SubmittedRun};
use openoutcry_score::verdict::{ScoreConfig, score_agent, score_field, score_run};

use crate::random_agents::{Market, Noise, n_undefined, quick, skilled};

fn good() -> Submission {
    skilled(&Market::new(&[150, 150], 0), "a", 1.0, 0.0, 0)
}

/// Returns the slug and message of a refused submission.
fn refused(change: impl Fn(&mut Submission)) -> (&'static str, String) {
    let mut agent = good();
    change(&mut agent);
    let error = score_agent(&agent, &quick()).unwrap_err();
    (error.slug(), error.to_string())
}

#[test]
fn what_is_no_return_is_refused_by_its_place() {
    for (value, told) in
        [(f64::NAN, "NaN on day 1"), (f64::INFINITY, "inf on day 1"), (-1.5, "return of -1.5 below -1 on day 1")]
    {
        let (slug, message) = refused(|agent| agent.runs[0].returns[1] = value);
        assert_eq!(slug, "submission_invalid");
        assert!(message.contains(told) && message.contains("run 0") && message.contains("\"a\""), "{message}");
    }
    let documented =
        "finite returns over disjoint windows in order are required; received NaN on day 1 in run 0 of \"a\"";
    assert_eq!(refused(|agent| agent.runs[0].returns[1] = f64::NAN).1, documented);
}

#[test]
fn windows_that_overlap_come_late_or_come_twice_are_refused() {
    let moved = refused(|agent| {
        agent.runs[1].window.start -= 1;
        agent.runs[1].window.end -= 1;
    });
    assert!(moved.1.contains("overlap"), "{}", moved.1);
    assert!(refused(|agent| agent.runs.reverse()).1.contains("earlier than a previous run"));
    let twice = refused(|agent| agent.runs.push(agent.runs[1].clone()));
    assert!(twice.1.contains("window and fill key of a previous run"), "{}", twice.1);
    let keys = refused(|agent| agent.runs[1].fill = Fill::Seed(9));
    assert!(keys.1.contains("different fill keys"), "{}", keys.1);
}

#[test]
fn series_of_other_lengths_and_empty_submissions_are_refused() {
    assert!(refused(|agent| agent.runs.clear()).1.contains("no run"));
    assert!(refused(|agent| agent.runs[0].returns.clear()).1.contains("0 returns"));
    assert!(refused(|agent| agent.runs[0].benchmarks.as_mut().unwrap().cash.push(0.0)).1.contains("151 values"));
    assert!(refused(|agent| agent.runs[0].trace.as_mut().unwrap().gross.clear()).1.contains("trace of 0 values"));
    assert!(refused(|agent| agent.runs[0].periods_per_year = 0.0).1.contains("0 bars per year"));
    let held = refused(|agent| agent.runs[0].benchmarks.as_mut().unwrap().buy_and_hold[3] = f64::NAN);
    assert!(held.1.contains("NaN on day 3"));
    assert_eq!(score_run(&[], 0).unwrap_err().slug(), "submission_invalid");
    assert_eq!(score_field(&[], &quick()).unwrap_err().slug(), "argument_invalid");
}

#[test]
fn agents_under_other_rules_or_of_one_name_are_refused() {
    let market = Market::new(&[150, 150], 0);
    let mut field = vec![skilled(&market, "a", 1.0, 0.0, 0), skilled(&market, "b", 1.0, 0.0, 1)];
    assert!(score_field(&field, &quick()).is_ok());
    field[1].runs[0].trace.as_mut().unwrap().costs.fee_bps += 1.0;
    let error = score_field(&field, &quick()).unwrap_err();
    assert_eq!(error.slug(), "rules_differ");
    assert_eq!(
        error.to_string(),
        "runs with the same costs, limits, benchmarks and bars per year are required; received \"a\" and \"b\""
    );
    field[1] = skilled(&market, "a", 1.0, 0.0, 1);
    let error = score_field(&field, &quick()).unwrap_err();
    assert_eq!(error.slug(), "argument_invalid");
}

#[test]
fn an_agent_that_brings_its_own_benchmark_is_refused() {
    let market = Market::new(&[150, 150], 0);
    let lies: [fn(&mut SubmittedRun); 4] = [
        |run| run.benchmarks = None,
        |run| run.benchmarks.as_mut().unwrap().buy_and_hold[3] -= 0.01,
        |run| run.benchmarks.as_mut().unwrap().cash[3] -= 0.01,
        |run| run.risk_free = Some(vec![-0.01; run.returns.len()]),
    ];
    for lie in lies {
        let mut field = vec![skilled(&market, "a", 1.0, 0.0, 0), skilled(&market, "b", 1.0, 0.0, 1)];
        lie(&mut field[1].runs[1]);
        assert_eq!(score_field(&field, &quick()).unwrap_err().slug(), "rules_differ");
    }
}

#[test]
fn a_window_or_seed_that_nobody_asked_for_is_refused_and_a_missing_one_blocks() {
    let agent = good();
    let suite = |windows: &str, seeds: &str| {
        let key = "07".repeat(32);
        let windows: Vec<String> = windows
            .split_whitespace()
            .map(|window| {
                let (start, end) = window.split_once(':').unwrap();
                format!("{{\"dataset\":\"{key}\",\"start\":{start},\"end\":{end}}}")
            })
            .collect();
        ScoreConfig::from_json(&format!("{{\"windows\":[{}],\"seeds\":[{seeds}]}}", windows.join(","))).unwrap()
    };
    assert!(
        score_agent(&agent, &suite("0:151 150:301", "\"0\""))
            .unwrap()
            .reasons
            .iter()
            .all(|r| r.slug() != "windows_missing")
    );
    for config in [suite("0:151 150:301 300:400", ""), suite("0:151 150:301", "\"0\",\"1\"")] {
        let score = score_agent(&agent, &config).unwrap();
        assert!(score.reasons.iter().any(|reason| reason.slug() == "windows_missing"));
        assert!(score.rank.is_none() && score.sides[0].romano_wolf.is_err());
    }
    for config in [suite("0:151", ""), suite("0:151 150:301", "\"1\"")] {
        assert_eq!(score_agent(&agent, &config).unwrap_err().slug(), "submission_invalid");
    }
}

#[test]
fn a_configuration_that_makes_no_sense_is_refused() {
    for text in [
        "[]",
        "{\"gates\":[0.9]}",
        "{\"trials\":[3]}",
        "{\"draws\":[5]}",
        "{\"windows\":[[null,0,9]]}",
        "{\"gate\":{}}",
        "{\"gates\":{\"min_dsr\":1.0}}",
        "{\"gates\":{\"level\":-0.1}}",
        "{\"gates\":{\"pass_mode\":\"some\"}}",
        "{\"trials\":{\"spread\":-1.0}}",
        "{\"gates\":{\"rolling_bars\":0}}",
        "{\"gates\":{\"rolling_bars\":1}}",
        "{\"gates\":{\"overfit_blocks\":7}}",
        "{\"gates\":{\"overfit_blocks\":26}}",
        "{\"draws\":{\"replicates\":0}}",
        "{\"draws\":{\"replicates\":10000001}}",
        "{\"draws\":{\"block_length\":0.5}}",
        "{\"windows\":[{\"start\":5,\"end\":6}]}",
        "{\"windows\":[{\"start\":5,\"end\":9},{\"start\":0,\"end\":7}]}",
        "{\"windows\":[{\"start\":5,\"end\":9},{\"start\":5,\"end\":9}]}",
    ] {
        assert_eq!(ScoreConfig::from_json(text).unwrap_err().slug(), "argument_invalid", "{text}");
    }
    assert_eq!(ScoreConfig::from_json("{}").unwrap(), ScoreConfig::default());
    let mut config = quick();
    config.draws.replicates = usize::MAX;
    assert_eq!(score_agent(&good(), &config).unwrap_err().slug(), "argument_invalid");
}

#[test]
fn a_number_is_finite_or_says_why_it_is_not_there() {
    let market = Market::new(&[150, 150], 0);
    let field = [skilled(&market, "a", 1.0, 0.0, 0), market.agent("idle", &[vec![0.0; 300]])];
    let text = score_field(&field, &quick()).unwrap().to_json();
    assert!(n_undefined(&serde_json::from_str(&text).unwrap()) > 10);
    let score = score_run(&Noise::new(0).normal(300, 0.001, 0.01), 7).unwrap();
    assert_eq!(score.selection.n_trials, 7);
}
