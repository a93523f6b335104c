//! Answers with faults: each is a hold, is recorded, and replays.

use openoutcry::record::{AgentTrajectory, Fault, Harness, RunTrajectory, Tier, Transport};
use openoutcry::{
    AgentAnswer, Backtest, BacktestError, CostModel, Dataset, Run, Terms, Window, agents, replay_run, submit,
};

const BUY: &str = "{\"orders\":[{\"action\":\"buy\",\"symbol\":\"S000\",\"target_weight\":0.5}]}";
const TALK: &str = "I would buy";

fn market() -> Dataset {
    Dataset::synthetic(4, 60, 1).unwrap()
}

fn backtest(data: &Dataset) -> Backtest<'_> {
    Backtest::new(data, Window { start: 19, end: 26 }, 0, CostModel::default()).unwrap().with_name("a market")
}

fn answered(data: &Dataset, answers: &[AgentAnswer]) -> Result<(Run, RunTrajectory), BacktestError> {
    let mut answers = answers.iter().cloned();
    backtest(data).try_capture(|_| Ok(answers.next().unwrap()), |_| Ok(()))
}

fn held(text: &str, slug: &str) -> AgentAnswer {
    AgentAnswer::held(text.to_owned(), Fault::new(slug).unwrap()).unwrap()
}

fn lenient(text: &str) -> AgentAnswer {
    AgentAnswer::lenient(text.to_owned())
}

#[test]
fn an_answer_with_a_fault_is_a_hold_that_is_recorded_and_replays() {
    let data = market();
    let cut = &BUY[..20];
    let answers =
        [lenient(BUY), held(BUY, "agent_late"), lenient(TALK), held("", "agent_died"), lenient(cut), lenient(BUY)];
    let (run, record) = answered(&data, &answers).unwrap();
    let faults: Vec<_> = record.steps.iter().map(|step| step.fault.as_ref().map(Fault::slug)).collect();
    let told = [None, Some("agent_late"), Some("malformed"), Some("agent_died"), Some("malformed"), None];
    assert_eq!(faults, told);
    let texts: Vec<_> = record.steps.iter().map(|step| step.decision.as_str()).collect();
    assert_eq!(texts, [BUY, BUY, TALK, "", cut, BUY]);
    assert!(replay_run(&data, &record, &Terms::default()).unwrap().is_verified());
    // A hold is a row without orders, and bars without a fault equal those of a run without faults.
    let hold = AgentAnswer::strict("{\"orders\":[]}".to_owned());
    let buy = AgentAnswer::strict(BUY.to_owned());
    let (honest, _) = answered(&data, &[buy.clone(), hold.clone(), hold.clone(), hold.clone(), hold, buy]).unwrap();
    assert_eq!(run.nav, honest.nav);
    assert!(run.orders.to_vec()[4..20].iter().all(|order| order.is_nan()));
}

#[test]
fn a_strict_answer_that_is_no_decision_ends_the_run() {
    let data = market();
    let error = answered(&data, &[lenient(BUY), AgentAnswer::strict(TALK.to_owned())]).unwrap_err();
    assert_eq!(error.slug(), "bad_json");
}

#[test]
fn no_decision_is_called_malformed() {
    assert_eq!(AgentAnswer::held(BUY.to_owned(), Fault::malformed()), None);
    let data = market();
    let said: Vec<_> = std::iter::repeat_n(held(TALK, Fault::MALFORMED), 6).collect();
    let found: Vec<_> = std::iter::repeat_n(lenient(TALK), 6).collect();
    assert_eq!(answered(&data, &said).unwrap().1, answered(&data, &found).unwrap().1);
}

#[test]
fn how_an_agent_was_run_is_bound_by_the_record_and_leaves_the_run_as_it_is() {
    let data = market();
    let harness = Harness { allow_net: true, tier: Tier::T2, transport: Transport::Stdio };
    let captured = |backtest: Backtest<'_>| backtest.capture(&mut agents::Momentum).unwrap().1;
    let (inside, outside) = (captured(backtest(&data)), captured(backtest(&data).harnessed(harness)));
    assert_eq!((inside.harness, outside.harness), (None, Some(harness)));
    assert_eq!(inside.digest(), outside.digest());
    let fields = outside.fields();
    assert!(fields.is_sorted_by_key(|(name, _)| *name));
    let told: Vec<_> = fields.iter().filter(|(name, _)| name.starts_with("harness")).map(|(_, value)| value).collect();
    assert_eq!(told, ["true", "T2", "stdio"]);
    assert!(replay_run(&data, &outside, &Terms::default()).unwrap().is_verified());
    let record = AgentTrajectory::new("x", vec![outside], 0);
    assert_ne!(record.digest, AgentTrajectory::new("x", vec![inside], 0).digest);
    let submitted = submit(&[&data], &record, &Terms::default()).unwrap();
    assert_eq!(submitted.runs[0].trace.as_ref().unwrap().harness, Some(harness));
    let mut integrity_differences = record;
    integrity_differences.runs[0].harness = Some(Harness { tier: Tier::T3, ..harness });
    assert_eq!(submit(&[&data], &integrity_differences, &Terms::default()).unwrap_err().slug(), "record_differs");
}
