//! The same records on every platform: a digest of the observations of each run.
//!
//! The digests are in `contract/vectors/record.json`, and Python replays them too. `scripts/platforms` runs this in
//! each profile, for each processor and with each C library.

use std::collections::BTreeMap;

use openoutcry::record::{AgentTrajectory, Digest, RunTrajectory};
use openoutcry::scenario::{Key, ScenarioSpec};
use openoutcry::{Backtest, CostModel, Dataset, Terms, Window, agents, canonicalize, replay_run};
use serde::Deserialize;

const VECTOR: &str = include_str!("../../../contract/vectors/record.json");

#[derive(Deserialize)]
struct Vector {
    n_symbols: usize,
    n_days: usize,
    seed: u64,
    window: [usize; 2],
    agent: String,
    costs: BTreeMap<String, f64>,
    shown: BTreeMap<String, String>,
    record: serde_json::Value,
    faulty: serde_json::Value,
}

impl Vector {
    fn read() -> Self {
        serde_json::from_str(VECTOR).unwrap()
    }

    fn costs(&self) -> CostModel {
        let mut costs = CostModel::zero();
        for (name, value) in &self.costs {
            *match name.as_str() {
                "fee_bps" => &mut costs.fee_bps,
                "slippage_bps" => &mut costs.slippage_bps,
                "slippage_jitter" => &mut costs.slippage_jitter,
                "impact_bps" => &mut costs.impact_bps,
                "financing_bps" => &mut costs.financing_bps,
                "cash_bps" => &mut costs.cash_bps,
                "borrow_bps" => &mut costs.borrow_bps,
                other => panic!("{other} is no cost"),
            } = *value;
        }
        costs
    }

    fn market(&self, name: &str) -> Dataset {
        if name == "synthetic" {
            return Dataset::synthetic(self.n_symbols, self.n_days, self.seed).unwrap();
        }
        let named = ScenarioSpec::named(name).unwrap();
        let spec = ScenarioSpec { n_symbols: self.n_symbols, n_days: self.n_days, ..named };
        spec.dataset(&Key::from_seed("train", self.seed)).unwrap()
    }

    fn captured(&self, data: &Dataset, window: [usize; 2]) -> RunTrajectory {
        let [start, end] = window;
        let backtest = Backtest::new(data, Window { start, end }, self.seed, self.costs()).unwrap();
        backtest.capture(&mut *agents::baseline(&self.agent, self.seed).unwrap()).unwrap().1
    }
}

/// Returns the digest of all observations of a run, without versions.
fn shown(run: &RunTrajectory) -> String {
    let mut text = String::new();
    for observation in run.steps.iter().map(|step| &step.observation).chain(run.end.iter().map(|end| &end.observation))
    {
        observation.push_hex(&mut text);
    }
    Digest::of(text).to_string()
}

#[test]
fn every_platform_shows_the_same_bits() {
    let vector = Vector::read();
    let received: BTreeMap<String, String> = vector
        .shown
        .keys()
        .map(|name| (name.clone(), shown(&vector.captured(&vector.market(name), vector.window))))
        .collect();
    assert_eq!(received, vector.shown);
}

#[test]
fn the_records_of_the_vector_are_canonical_whole_and_replay() {
    let vector = Vector::read();
    let data = vector.market("synthetic");
    let read = |record: &serde_json::Value| {
        let text = canonicalize(&record.to_string()).unwrap();
        let record = AgentTrajectory::from_json(&text).unwrap();
        assert_eq!(record.digest, record.computed_digest());
        assert_eq!(record.verify_signature(None), Ok(true));
        assert!(replay_run(&data, &record.runs[0], &Terms::default()).unwrap().is_verified());
        record
    };
    let faulty = read(&vector.faulty);
    assert_eq!(faulty.runs[0].steps.iter().filter(|step| step.fault.is_some()).count(), 3);
    let record = read(&vector.record);
    let Window { start, end } = record.runs[0].header.window;
    let again = vector.captured(&data, [start, end]);
    assert_eq!(again.steps.last().unwrap().observation, record.runs[0].steps.last().unwrap().observation);
}
