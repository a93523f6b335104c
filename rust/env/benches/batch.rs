//! Time of a step of a lane in a batch.
//!
//! With and without observations.

use std::hint::black_box;
use std::sync::Arc;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use openoutcry::batch::{Autoreset, Batch, Market, ObservationArrays, Outcome, Settings, Terms};
use openoutcry::{CostModel, Dataset, EpisodeMarkets, EpisodeWindows, Limits, Reward, Window};

/// The timed terms: fee and slippage, and every cost and limit.
fn terms() -> [(&'static str, Terms); 2] {
    let fees = CostModel { fee_bps: 5.0, slippage_bps: 2.0, ..CostModel::zero() };
    let every = CostModel { impact_bps: 10.0, financing_bps: 100.0, cash_bps: 50.0, borrow_bps: 25.0, ..fees };
    let limits = Limits { max_participation: Some(0.5), maintenance_margin: 0.1, ..Limits::default() };
    [
        ("fee and slippage", Terms { costs: fees, limits: Limits { allow_short: false, ..Limits::default() } }),
        ("every cost and limit", Terms { costs: every, limits }),
    ]
}

fn batch(market: &Arc<Market>, n_lanes: usize, terms: Terms) -> Batch {
    let range = Window { start: 19, end: market.data().n_bars() };
    let settings = Settings {
        windows: vec![EpisodeWindows::Random { range, n_bars: 252, split: "train".to_owned() }],
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
    Batch::new(vec![Arc::clone(market)], &vec![(0, terms); n_lanes], settings, 0).expect("a batch")
}

fn step(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("batch_step");
    for (n_symbols, n_lanes) in [(4, 64), (4, 1024), (30, 1024), (100, 64), (100, 1024)] {
        let market = Arc::new(Market::new(Arc::new(Dataset::synthetic(n_symbols, 2500, 7).expect("a market"))));
        let weight = |cell: usize| (cell.wrapping_mul(2_654_435_761) % 1000) as f32 / (1100.0 * n_symbols as f32);
        let actions: Vec<f32> = (0..n_lanes * n_symbols).map(weight).collect();
        let mut flat = vec![0.0; n_lanes * market.flat_len(20)];
        let (mut bars, mut account) = (vec![0; n_lanes], vec![0.0; n_lanes * (n_symbols + 1)]);
        let mut rewards = vec![0.0; n_lanes];
        let mut flags = [(); 3].map(|()| vec![false; n_lanes]);
        group.throughput(Throughput::Elements(n_lanes as u64));
        for (name, terms) in terms() {
            for is_flat in [true, false] {
                let mut batch = batch(&market, n_lanes, terms);
                let place = format!("{n_symbols}x{n_lanes} {}", if is_flat { "flat" } else { "cursor" });
                group.bench_function(BenchmarkId::new(name, place), |bencher| {
                    bencher.iter(|| {
                        let [terminated, truncated, reset] = &mut flags;
                        let outcome = Outcome { rewards: &mut rewards, terminated, truncated, reset };
                        let seen = if is_flat {
                            ObservationArrays::Flat(&mut flat)
                        } else {
                            ObservationArrays::Cursor { bars: &mut bars, account: &mut account }
                        };
                        batch.accept(black_box(&actions), None).expect("finite weights");
                        batch.step(seen, None, outcome).expect("a step");
                    });
                });
            }
        }
    }
    group.finish();
}

criterion_group!(benches, step);
criterion_main!(benches);
