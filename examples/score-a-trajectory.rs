//! Run, record, verify and score an agent; the verifier needs only the data and the record.
//!
//! `cargo run --release -p openoutcry-score --example score-a-trajectory`; `score_a_trajectory.py` is the same program in
//! Python and prints the same lines.

use std::error::Error;

use openoutcry::record::AgentTrajectory;
use openoutcry::{
    Backtest, CostModel, Dataset, Decision, Limits, MarketObservation, Order, ReplayError, SymbolHistory, Window,
    replay_submission,
};
use openoutcry_score::verdict::{Edition, ScoreConfig, score_agent};

const COSTS: CostModel = CostModel { fee_bps: 1.0, slippage_bps: 2.0, ..CostModel::zero() };

/// Windows of the runs; each starts on the last bar of the previous one.
const WINDOWS: [Window; 4] = [
    Window { start: 19, end: 270 },
    Window { start: 269, end: 520 },
    Window { start: 519, end: 770 },
    Window { start: 769, end: 1000 },
];

/// Holds a quarter of NAV in each symbol above the mean of its last twenty closes.
fn decide(observation: &MarketObservation) -> Decision {
    let order_for = |view: &SymbolHistory| {
        let closes = &view.close_history;
        let mean = closes.iter().sum::<f64>() / closes.len() as f64;
        let is_above = closes.last().is_some_and(|close| *close > mean);
        Order::new(&view.symbol, if is_above { 0.25 } else { 0.0 })
    };
    Decision { orders: observation.symbols.iter().map(order_for).collect(), ..Decision::hold() }
}

/// Runs the agent and returns its record as text, which is all that the verifier receives.
fn record(data: &Dataset) -> Result<String, Box<dyn Error>> {
    let mut runs = Vec::new();
    for window in WINDOWS {
        let backtest =
            Backtest::new(data, window, 0, COSTS)?.with_limits(Limits::default())?.with_name("synthetic-4x1000");
        let (_, run) = backtest.capture(&mut decide)?;
        runs.push(run);
    }
    Ok(AgentTrajectory::new("above its mean", runs, 3).to_json())
}

/// Scores an untrusted record: every number is recomputed from the decisions and the data.
fn verify(data: &Dataset, text: &str) -> Result<(), Box<dyn Error>> {
    let trajectory = AgentTrajectory::from_json(text)?;
    let submission = replay_submission(data, &trajectory, COSTS)?;
    let config = ScoreConfig { edition: Edition::Third, ..ScoreConfig::default() };
    let score = score_agent(&submission, &config)?;
    println!("record {}", trajectory.digest.ok_or("a finished record is required")?);
    println!("{} {}", score.agent_id, score.verdict.slug());
    println!("z {:.12}", score.z?);
    for gate in &score.gates {
        println!("{} {}", gate.slug, gate.passed.map_or("unknown", |passed| if passed { "passed" } else { "failed" }));
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let data = Dataset::synthetic(4, 1000, 3)?;
    let text = record(&data)?;
    verify(&data, &text)?;
    // One decision is changed afterwards; the chain has not been recomputed.
    let forged = text.replacen(r#"target_weight\":0.25"#, r#"target_weight\":0.24"#, 1);
    let refused = replay_submission(&data, &AgentTrajectory::from_json(&forged)?, COSTS);
    let Err(ReplayError::Differs { run, field, cause, .. }) = refused else {
        return Err("a forged record must be refused".into());
    };
    println!("forged: run {run}, {field}: {cause}");
    Ok(())
}
