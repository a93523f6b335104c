//! Time of a step of each interface, and of a backtest of a table of weights.

use std::hint::black_box;
use std::sync::Arc;

use criterion::{BatchSize, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use openoutcry::{Backtest, CostModel, Dataset, TradingEnv, Window};

/// The timed costs: the defaults, and all kinds.
fn cost_models() -> [(&'static str, CostModel); 2] {
    let usual = CostModel { fee_bps: 1.0, slippage_bps: 2.0, ..CostModel::zero() };
    let every = CostModel {
        slippage_jitter: 0.5,
        impact_bps: 20.0,
        financing_bps: 400.0,
        cash_bps: 200.0,
        borrow_bps: 50.0,
        ..usual
    };
    [("fee and slippage", usual), ("every cost", every)]
}

/// Returns weights that sum to 0.98 in each row and change on every bar.
fn weights(n_rows: usize, n_symbols: usize) -> Vec<f64> {
    let draw = |cell: usize| 1.0 + (cell.wrapping_mul(2_654_435_761) % 1000) as f64 / 1000.0;
    let mut weights: Vec<f64> = (0..n_rows * n_symbols).map(draw).collect();
    for row in weights.chunks_exact_mut(n_symbols) {
        let total: f64 = row.iter().sum();
        for weight in row {
            *weight *= 0.98 / total;
        }
    }
    weights
}

fn run_orders(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("run_orders");
    for (n_symbols, n_bars) in [(4, 2500), (100, 2500), (500, 5000)] {
        let data = Dataset::synthetic(n_symbols, n_bars, 1).expect("a market");
        let orders = weights(n_bars - 1, n_symbols);
        group.throughput(Throughput::Elements((n_bars - 1) as u64));
        group.sample_size(if n_symbols > 100 { 20 } else { 100 });
        for (name, costs) in cost_models() {
            let backtest = Backtest::new(&data, Window { start: 0, end: n_bars }, 0, costs).expect("a window");
            let id = BenchmarkId::new(name, format!("{n_symbols}x{n_bars}"));
            group.bench_function(id, |bencher| {
                let run = |orders| backtest.run_orders(orders).expect("a run");
                bencher.iter_batched(|| orders.clone(), run, BatchSize::LargeInput);
            });
        }
    }
    group.finish();
}

fn env(n_symbols: usize, costs: CostModel) -> TradingEnv {
    let data = Arc::new(Dataset::synthetic(n_symbols, 2500, 1).expect("a market"));
    TradingEnv::new(data, Window { start: 19, end: 2500 }, costs, 0).expect("a window")
}

fn step_json(criterion: &mut Criterion) {
    let order = |i: usize| format!(r#"{{"symbol":"S{i:03}","action":"buy","target_weight":0.2{i}}}"#);
    let decision = format!(r#"{{"orders":[{}]}}"#, (0..4).map(order).collect::<Vec<_>>().join(","));
    let mut group = criterion.benchmark_group("step_json");
    group.throughput(Throughput::Elements(1));
    for (name, costs) in cost_models() {
        let mut env = env(4, costs);
        let (mut observation, mut info) = (String::new(), String::new());
        group.bench_function(BenchmarkId::new(name, "4 orders"), |bencher| {
            bencher.iter(|| {
                if env.done() {
                    env.restart();
                }
                observation.clear();
                info.clear();
                env.step_json(black_box(&decision), &mut observation, &mut info).expect("a step")
            });
        });
    }
    group.finish();
}

fn step_weights(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("step_weights");
    group.throughput(Throughput::Elements(1));
    for n_symbols in [4, 100] {
        let rows = weights(64, n_symbols);
        for (name, costs) in cost_models() {
            let mut env = env(n_symbols, costs);
            let mut row = rows.chunks_exact(n_symbols).cycle();
            group.bench_function(BenchmarkId::new(name, n_symbols), |bencher| {
                bencher.iter(|| {
                    if env.done() {
                        env.restart();
                    }
                    env.step_weights(black_box(row.next().unwrap_or_default())).expect("a step")
                });
            });
        }
    }
    group.finish();
}

criterion_group!(benches, run_orders, step_json, step_weights);
criterion_main!(benches);
