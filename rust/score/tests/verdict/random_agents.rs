//! Random agents of the tests.

use openoutcry_contract::record::{Digest, Fill};
use openoutcry_contract::{Benchmarks, CostModel, Limits, Submission, SubmittedRun, Trace, Window};
use openoutcry_score::normal_distribution;
use openoutcry_score::verdict::{ScoreConfig, SuiteWindow};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

pub(crate) const YEAR: f64 = 252.0;

/// Returns the configuration of a board with few draws.
pub(crate) fn quick() -> ScoreConfig {
    let mut config = ScoreConfig::default();
    config.draws.replicates = 99;
    config
}

/// Returns the configuration of a suite with the windows of the agents, all sealed.
pub(crate) fn held_to(agents: &[Submission]) -> ScoreConfig {
    let mut config = quick();
    for run in agents.iter().flat_map(|agent| &agent.runs) {
        let Window { start, end } = run.window;
        let window = SuiteWindow { dataset: run.dataset, start, end, sealed: true };
        if !config.windows.contains(&window) {
            config.windows.push(window);
        }
    }
    config
}

/// Random numbers of a seed.
pub(crate) struct Noise(ChaCha8Rng);

impl Noise {
    pub(crate) fn new(seed: u64) -> Self {
        Self(ChaCha8Rng::seed_from_u64(seed))
    }

    /// Returns normal values of a mean and deviation.
    pub(crate) fn normal(&mut self, n: usize, mean: f64, deviation: f64) -> Vec<f64> {
        let mut one = || {
            let open = (self.0.next_u64() >> 11) as f64 + 0.5;
            mean + deviation * normal_distribution::quantile(open / 9_007_199_254_740_992.0)
        };
        (0..n).map(|_| one()).collect()
    }
}

/// The market of a test: windows of returns with buy-and-hold.
pub(crate) struct Market {
    pub lengths: Vec<usize>,
    pub held: Vec<f64>,
}

impl Market {
    pub(crate) fn new(lengths: &[usize], seed: u64) -> Self {
        let n = lengths.iter().sum();
        Self { lengths: lengths.to_vec(), held: Noise::new(1_000_000 + seed).normal(n, 0.0003, 0.01) }
    }

    pub(crate) fn n_days(&self) -> usize {
        self.held.len()
    }

    /// Returns an agent with traces, and one run per window for each seed.
    pub(crate) fn agent(&self, name: &str, seeds: &[Vec<f64>]) -> Submission {
        let mut runs = Vec::new();
        for (seed, returns) in seeds.iter().enumerate() {
            let mut day = 0;
            for length in &self.lengths {
                let days = day..day + length;
                runs.push(run(day, seed, &returns[days.clone()], &self.held[days]));
                day += length;
            }
        }
        Submission {
            agent_id: name.to_owned(),
            in_sample_trials: 0,
            digest: Some(Digest([1; 32])),
            capacity: None,
            runs,
        }
    }
}

/// Returns a run that begins at a bar, under the key of a seed.
pub(crate) fn run(start: usize, seed: usize, returns: &[f64], held: &[f64]) -> SubmittedRun {
    let n = returns.len();
    let mut nav = vec![1.0];
    nav.extend(returns.iter().scan(1.0, |nav, r| {
        *nav *= 1.0 + r;
        Some(*nav)
    }));
    SubmittedRun {
        dataset: Some(Digest([7; 32])),
        dataset_name: "test".to_owned(),
        window: Window { start, end: start + n + 1 },
        dates: Vec::new(),
        periods_per_year: YEAR,
        fill: Fill::Seed(seed as u64),
        returns: returns.to_vec(),
        risk_free: None,
        terminated_at: None,
        benchmarks: Some(Benchmarks { buy_and_hold: held.to_vec(), cash: vec![0.0; n], passive: Vec::new() }),
        trace: Some(Trace {
            digest: Digest([2; 32]),
            costs: CostModel::default(),
            harness: None,
            limits: Limits::default(),
            nav,
            turnover: vec![0.1; n],
            paid: std::array::from_fn(|kind| vec![if kind == 0 { 1e-5 } else { 0.0 }; n]),
            gross: vec![0.9; n],
            net: vec![0.5; n],
            events: [("filled", n as u64)].into(),
            faults: [].into(),
            delayed: returns.to_vec(),
            stated: Vec::new(),
        }),
    }
}

/// Returns an agent with an annual Sharpe ratio and a `beta` to buy-and-hold.
pub(crate) fn skilled(market: &Market, name: &str, sharpe: f64, beta: f64, seed: u64) -> Submission {
    let own = Noise::new(seed).normal(market.n_days(), 0.01 * sharpe / YEAR.sqrt(), 0.01);
    let returns = own.iter().zip(&market.held).map(|(own, held)| own + beta * held).collect();
    market.agent(name, &[returns])
}

/// Returns the number of missing numbers, each with its reason.
pub(crate) fn n_undefined(value: &serde_json::Value) -> usize {
    match value {
        serde_json::Value::Object(fields) => {
            let told = fields.get("undefined").and_then(serde_json::Value::as_object);
            let mut n = 0;
            for (name, why) in told.into_iter().flatten() {
                assert!(fields[name].is_null() && !why.as_str().unwrap().is_empty(), "{name}");
                n += 1;
            }
            n + fields.values().map(n_undefined).sum::<usize>()
        }
        serde_json::Value::Array(each) => each.iter().map(n_undefined).sum(),
        _ => 0,
    }
}
