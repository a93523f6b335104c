//! Steps a batch: what `scripts/instructions` counts.
//!
//! `batch_steps SYMBOLS simple|every LANES flat|sliding STEPS`

use std::sync::Arc;

use openoutcry::batch::{Autoreset, Batch, Market, Outcome, Seen, Settings, Strip, Terms};
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

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, n_symbols, costs, n_lanes, way, n_steps] = arguments.as_slice() else {
        panic!("SYMBOLS, simple or every, LANES, flat or sliding, and STEPS are required; received {arguments:?}");
    };
    let number = |text: &String| text.parse::<usize>().expect("a whole number");
    let (n_symbols, n_lanes, n_steps) = (number(n_symbols), number(n_lanes), number(n_steps));
    let market = Arc::new(Market::new(Arc::new(Dataset::synthetic(n_symbols, 400, 7).expect("a market"))));
    let settings = Settings {
        windows: vec![Windows::Fixed(Window { start: 19, end: 400 })],
        autoreset: Autoreset::SameStep,
        reward: Reward::Simple,
        lookback: 20,
        no_trade_band: 0.0,
        max_episode_steps: usize::MAX,
        n_threads: 1,
        cells_a_thread: Settings::CELLS_A_THREAD,
        bypass_len: Settings::BYPASS_LEN,
        seed: 1,
    };
    let mut seen = vec![0.0_f32; n_lanes * market.flat_len(20)];
    let mut batch = Batch::new(vec![market], &vec![(0, terms(costs)); n_lanes], settings, 0).expect("a batch");
    let mut strip = (way == "sliding").then(|| Strip::new(&batch));
    let mut rows = strip.as_ref().map_or_else(Vec::new, |strip| vec![0.0; n_lanes * strip.row_len()]);
    let weight = |cell: usize| (cell.wrapping_mul(2_654_435_761) % 1000) as f32 / (1100.0 * n_symbols as f32);
    let actions: Vec<f32> = (0..n_lanes * n_symbols).map(weight).collect();
    let mut rewards = vec![0.0; n_lanes];
    let mut flags = [(); 3].map(|()| vec![false; n_lanes]);
    for step in 0..n_steps {
        let [terminated, truncated, reset] = &mut flags;
        let outcome = Outcome { rewards: &mut rewards, terminated, truncated, reset };
        batch.accept(&actions, None).expect("finite weights");
        let seen = match &mut strip {
            Some(strip) => {
                let turn = step % strip.n_turns();
                Seen::Sliding(strip.seen(&mut rows, turn))
            }
            None => Seen::Flat(&mut seen),
        };
        batch.step(seen, None, outcome).expect("a step");
    }
    println!("{:?}", rewards.first());
}
