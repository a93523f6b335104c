//! Steps lanes, for the counts of `scripts/instructions`.
//!
//! `lane_steps SYMBOLS simple|scaled|every LANES flat|sliding|alone|table|tables STEPS`: a batch of lanes, as many
//! environments of one lane, or as many backtests of a table of weights, one by one or all at once.

use std::sync::Arc;

use openoutcry::batch::{Autoreset, Batch, Market, ObservationArrays, Outcome, Settings, SlidingArray, Terms};
use openoutcry::{
    Backtest, CostModel, Dataset, EpisodeMarkets, EpisodeWindows, Limits, OrderTable, Reward, TradingEnv, Window,
};

const WINDOW: Window = Window { start: 19, end: 400 };

fn terms(costs: &str) -> Terms {
    let fees = CostModel { fee_bps: 5.0, slippage_bps: 2.0, ..CostModel::zero() };
    if costs == "simple" {
        return Terms { costs: fees, limits: Limits { allow_short: false, ..Limits::default() } };
    }
    if costs == "scaled" {
        return Terms { costs: fees, limits: Limits { max_gross: 0.2, ..Limits::default() } };
    }
    let limits = Limits { max_participation: Some(0.5), maintenance_margin: 0.1, ..Limits::default() };
    let costs = CostModel { impact_bps: 10.0, financing_bps: 100.0, cash_bps: 50.0, borrow_bps: 25.0, ..fees };
    Terms { costs, limits }
}

/// Returns different weights for each of `n_lanes` lanes.
fn weights(n_symbols: usize, n_lanes: usize) -> Vec<f64> {
    let weight = |cell: usize| (cell.wrapping_mul(2_654_435_761) % 1000) as f64 / (1100.0 * n_symbols as f64);
    (0..n_lanes * n_symbols).map(weight).collect()
}

fn step_batch(data: Dataset, terms: Terms, n_lanes: usize, slides: bool, n_steps: usize) {
    let market = Arc::new(Market::new(Arc::new(data)));
    let settings = Settings {
        windows: vec![EpisodeWindows::Fixed(WINDOW)],
        episode_markets: EpisodeMarkets::Fixed,
        autoreset: Autoreset::SameStep,
        reward: Reward::Simple,
        lookback: 20,
        no_trade_band: 0.0,
        max_episode_steps: usize::MAX,
        n_threads: 1,
        cells_a_thread: Settings::CELLS_A_THREAD,
        streaming_len: Settings::STREAMING_LEN,
        seed: 1,
    };
    let mut seen = vec![0.0_f32; n_lanes * market.flat_len(20)];
    let actions: Vec<f32> =
        weights(market.data().n_symbols(), n_lanes).into_iter().map(|weight| weight as f32).collect();
    let mut batch = Batch::new(vec![market], &vec![(0, terms); n_lanes], settings, 0).expect("a batch");
    let mut sliding_array = slides.then(|| SlidingArray::new(&batch));
    let mut rows =
        sliding_array.as_ref().map_or_else(Vec::new, |sliding_array| vec![0.0; n_lanes * sliding_array.row_len()]);
    let mut rewards = vec![0.0; n_lanes];
    let mut flags = [(); 3].map(|()| vec![false; n_lanes]);
    for step in 0..n_steps {
        let [terminated, truncated, reset] = &mut flags;
        let outcome = Outcome { rewards: &mut rewards, terminated, truncated, reset };
        batch.accept(&actions, None).expect("finite weights");
        let seen = match &mut sliding_array {
            Some(sliding_array) => {
                let turn = step % sliding_array.n_turns();
                ObservationArrays::Sliding(sliding_array.seen(&mut rows, turn))
            }
            None => ObservationArrays::Flat(&mut seen),
        };
        batch.step(seen, None, outcome).expect("a step");
    }
    println!("{:?}", rewards.first());
}

fn step_alone(data: Dataset, terms: Terms, n_lanes: usize, n_steps: usize) {
    let data = Arc::new(data);
    let weights = weights(data.n_symbols(), n_lanes);
    for row in weights.chunks(data.n_symbols()) {
        let env = TradingEnv::new(Arc::clone(&data), WINDOW, terms.costs, 1).expect("an environment");
        let mut env = env.with_limits(terms.limits).expect("limits");
        for _ in 0..n_steps {
            env.step_weights(row).expect("a step");
        }
        println!("{}", env.book().nav());
    }
}

fn run_tables(data: &Dataset, terms: Terms, n_lanes: usize, at_once: bool, n_steps: usize) {
    let window = Window { end: WINDOW.start + n_steps + 1, ..WINDOW };
    let backtest = Backtest::new(data, window, 1, terms.costs).expect("a window");
    let backtest = backtest.with_limits(terms.limits).expect("limits");
    let weights = weights(data.n_symbols(), n_lanes);
    let tables = weights.chunks(data.n_symbols()).map(|row| OrderTable::new(row.repeat(n_steps), data.n_symbols()));
    let runs = if at_once {
        backtest.run_tables(tables.collect())
    } else {
        tables.map(|table| backtest.run_table(table)).collect()
    };
    println!("{:?}", runs.last().map(|run| run.as_ref().expect("a run").nav.last()));
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, n_symbols, costs, n_lanes, way, n_steps] = arguments.as_slice() else {
        panic!("SYMBOLS, simple, scaled or every, LANES, a way and STEPS are required; received {arguments:?}");
    };
    let number = |text: &String| text.parse::<usize>().expect("a whole number");
    let (n_lanes, n_steps, terms) = (number(n_lanes), number(n_steps), terms(costs));
    let data = Dataset::synthetic(number(n_symbols), WINDOW.end, 7).expect("a market");
    match way.as_str() {
        "flat" | "sliding" => step_batch(data, terms, n_lanes, way == "sliding", n_steps),
        "alone" => step_alone(data, terms, n_lanes, n_steps),
        "table" | "tables" => run_tables(&data, terms, n_lanes, way == "tables", n_steps),
        _ => panic!("flat, sliding, alone, table or tables is required; received {way:?}"),
    }
}
