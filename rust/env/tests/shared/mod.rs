//! Helpers of several tests of records.

use openoutcry::record::{Recorder, RunTrajectory, Seen};

/// Returns a run with a recomputed hash chain, as a careful forger would.
pub fn forged(run: &RunTrajectory) -> RunTrajectory {
    let mut recorder = Recorder::new(run.header.clone()).harnessed(run.harness);
    for step in &run.steps {
        let seen = Seen { cash: step.cash, nav: step.nav, observation: step.observation };
        if step.contract_version.is_some() {
            recorder.expect_day_orders();
        }
        recorder.step(seen, step.decision.clone(), step.fault.clone());
    }
    let end = run.end.clone().unwrap();
    recorder.end(Seen { cash: end.cash, nav: end.nav, observation: end.observation }, end.terminated)
}
