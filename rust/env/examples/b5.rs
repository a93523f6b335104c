//! Timing scratch.
use std::sync::Arc;
use std::time::Instant;

use openoutcry::batch::{Autoreset, Batch, Market, Outcome, Seen, Settings, Terms};
use openoutcry::{CostModel, Dataset, Limits, Reward, Window, Windows};

fn terms(costs: &str) -> Terms {
    let fees = CostModel { fee_bps: 5.0, slippage_bps: 2.0, ..CostModel::zero() };
    if costs == "simple" {
        return Terms { costs: fees, limits: Limits { allow_short: false, ..Limits::default() } };
    }
    let limits = Limits { max_participation: Some(0.5), maintenance_margin: 0.1, ..Limits::default() };
    let costs = CostModel { impact_bps: 10.0, financing_bps: 100.0, cash_bps: 50.0, borrow_bps: 25.0, ..fees };
    Terms { costs, limits }
}

fn cpu() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    text.split(' ').next().unwrap().parse::<f64>().unwrap()
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let number = |text: &String| text.parse::<usize>().expect("a whole number");
    let seconds: f64 = arguments[1].parse().unwrap();
    for cell in &arguments[2..] {
        let parts: Vec<String> = cell.split('x').map(str::to_owned).collect();
        let (n_symbols, n_lanes, n_buffers) = (number(&parts[0]), number(&parts[1]), number(&parts[2]));
        let costs = parts[3].clone();
        let market = Arc::new(Market::new(Arc::new(Dataset::synthetic(n_symbols, 5000, 7).expect("a market"))));
        let settings = Settings {
            windows: vec![Windows::Random {
                range: Window { start: 19, end: 5000 },
                n_bars: 252,
                split: "train".to_owned(),
            }],
            autoreset: Autoreset::NextStep,
            reward: Reward::Log,
            lookback: 20,
            no_trade_band: 0.0,
            max_episode_steps: usize::MAX,
            n_threads: 1,
            cells_a_thread: Settings::CELLS_A_THREAD,
            seed: 1,
        };
        let flat = market.flat_len(20);
        let mut seen = vec![vec![0.0_f32; n_lanes * flat]; n_buffers.max(1)];
        let (mut bars, mut account) = (vec![0; n_lanes], vec![0.0; n_lanes * (n_symbols + 1)]);
        let mut batch = Batch::new(vec![market], &vec![(0, terms(&costs)); n_lanes], settings, 0).expect("a batch");
        let weight = |cell: usize| (cell.wrapping_mul(2_654_435_761) % 1000) as f32 / (700.0 * n_symbols as f32);
        let actions: Vec<f32> = (0..n_lanes * n_symbols).map(weight).collect();
        let mut rewards = vec![0.0; n_lanes];
        let mut flags = [(); 3].map(|()| vec![false; n_lanes]);
        let mut k = 0;
        let mut run = |n: usize| {
            for _ in 0..n {
                let [terminated, truncated, reset] = &mut flags;
                let outcome = Outcome { rewards: &mut rewards, terminated, truncated, reset };
                k += 1;
                batch.accept(&actions, None).expect("finite weights");
                let observed = if n_buffers == 0 {
                    Seen::Cursor { bars: &mut bars, account: &mut account }
                } else {
                    Seen::Flat(&mut seen[k % n_buffers])
                };
                batch.step(observed, None, outcome).expect("a step");
            }
        };
        run(10);
        // Rounds of about a millisecond, of fewer steps than an episode.
        let n = (20_000 / n_lanes).max(6);
        let (begin, mut best) = (Instant::now(), f64::INFINITY);
        while begin.elapsed().as_secs_f64() < seconds {
            let start = cpu();
            let wall = Instant::now();
            run(n);
            let _ = start;
            best = best.min(wall.elapsed().as_secs_f64() / (n * n_lanes) as f64);
        }
        println!("{cell:24} {:7.1} ns", best * 1e9);
    }
}
