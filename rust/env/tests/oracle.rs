//! Value paths of other engines (`tests/oracle/README.md`).
//!
//! They are reproduced to 1e-12 by backtest and environment.

use openoutcry::{Backtest, Columns, CostModel, Dataset, Limits, TradingEnv, Window};
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;

const START_CASH: f64 = 1e6;
const TOLERANCE: f64 = 1e-12;

/// The draws of `market.py`: `SplitMix64`, 53 bits each.
fn uniforms(seed: u64, n: usize) -> Vec<f64> {
    let mut state = seed;
    let draw = |_| {
        state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) >> 11) as f64 / 9_007_199_254_740_992.0
    };
    (0..n).map(draw).collect()
}

fn closes(n_symbols: usize, n_bars: usize) -> Vec<f64> {
    let draws = uniforms(1, n_symbols * n_bars);
    let mut prices = Vec::with_capacity(draws.len());
    for (cell, u) in draws.iter().enumerate() {
        prices.push(match cell.checked_sub(n_symbols) {
            None => 20.0 + 180.0 * u,
            Some(before) => prices[before] * (1.0 + 0.0004 + 0.04 * (u - 0.5)),
        });
    }
    prices
}

/// The close before each bar, moved by up to half a percent.
///
/// Before the first bar it is the close of that bar.
fn opens(closes: &[f64], n_symbols: usize) -> Vec<f64> {
    let before = |cell: usize| closes[cell.checked_sub(n_symbols).unwrap_or(cell)];
    let moved = |(cell, u): (usize, &f64)| before(cell) * (1.0 + 0.01 * (u - 0.5));
    uniforms(5, closes.len()).iter().enumerate().map(moved).collect()
}

fn weights(n_symbols: usize, n_bars: usize, gross: f64) -> Vec<f64> {
    let draws = uniforms(2, n_symbols * n_bars);
    let rows = draws.chunks_exact(n_symbols);
    rows.flat_map(|row| row.iter().map(|r| gross * r / row.iter().sum::<f64>())).collect()
}

/// One path: its market, its decisions, and the values at some bars.
struct Path {
    data: Arc<Dataset>,
    weights: Vec<f64>,
    costs: CostModel,
    /// Whether the value of a bar is taken after the trade at its close, not before.
    trades_first: bool,
    expected: Expected,
}

#[derive(serde::Deserialize)]
struct Expected {
    n: usize,
    #[serde(rename = "final")]
    last: String,
    at: BTreeMap<String, String>,
    sum: String,
}

impl Path {
    /// Reads a name such as `nextopen_N4_T2500_g0.9|fee=0.001|slip=0.0005`.
    fn new(name: &str, expected: Expected) -> Self {
        let field = |key: &str| name.split(['_', '|']).find_map(|part| part.strip_prefix(key)).expect(key);
        let number = |key: &str| -> f64 { field(key).parse().expect(key) };
        let n_symbols: usize = field("N").parse().expect("a count");
        let trades_first = name.starts_with("synth_");
        assert!(trades_first || name.starts_with("nextopen_"), "a known convention; received {name}");
        let mut close = closes(n_symbols, expected.n);
        let open = (!trades_first).then(|| opens(&close, n_symbols));
        if trades_first {
            close.extend_from_within(close.len() - n_symbols..);
        }
        let n_bars = close.len() / n_symbols;
        let columns = Columns {
            dates: (0..n_bars).map(|bar| format!("{:04}-01-01", 1000 + bar)).collect(),
            symbols: (0..n_symbols).map(|i| format!("S{i:03}")).collect(),
            close,
            open,
            periods_per_year: 252.0,
            ..Columns::default()
        };
        Self {
            data: Arc::new(Dataset::new(columns).expect("a valid market")),
            weights: weights(n_symbols, n_bars - 1, number("g")),
            costs: CostModel {
                fee_bps: number("fee=") * 1e4,
                slippage_bps: number("slip=") * 1e4,
                ..CostModel::zero()
            },
            trades_first,
            expected,
        }
    }

    fn window(&self) -> Window {
        Window { start: 0, end: self.data.n_bars() }
    }

    /// Returns the value of the account at each bar.
    ///
    /// It follows from its NAV and the costs of each decision.
    fn values(&self, nav: &[f64], costs: &[f64]) -> Vec<f64> {
        assert_eq!(nav.len(), costs.len() + 1);
        let value = |bar: usize| {
            let paid = if self.trades_first { costs[bar] } else { 0.0 };
            START_CASH * (nav[bar] - paid)
        };
        (0..self.expected.n).map(value).collect()
    }

    fn backtest(&self) -> Vec<f64> {
        let backtest = Backtest::new(&self.data, self.window(), 0, self.costs).unwrap();
        let run = backtest.with_limits(Limits::off()).unwrap().run_orders(self.weights.clone()).unwrap();
        let flows = run.flows(&self.data).unwrap();
        let costs: Vec<f64> = (0..self.window().n_decisions()).map(|decision| flows.cost_of(decision)).collect();
        self.values(&run.nav, &costs)
    }

    fn environment(&self) -> Vec<f64> {
        let env = TradingEnv::new(Arc::clone(&self.data), self.window(), self.costs, 0).unwrap();
        let mut env = env.with_limits(Limits::off()).unwrap();
        let (mut nav, mut costs) = (vec![1.0], Vec::new());
        for row in self.weights.chunks_exact(self.data.n_symbols()) {
            let stepped = env.step_weights(row).unwrap();
            nav.push(stepped.nav);
            costs.push(stepped.costs.total());
        }
        assert!(env.truncated());
        self.values(&nav, &costs)
    }

    /// Returns the largest relative deviation from the values listed.
    fn deviation(&self, values: &[f64]) -> f64 {
        let number = |text: &str| -> f64 { text.parse().expect("a number") };
        let deviation = |value: f64, text: &str| (value / number(text) - 1.0).abs();
        let at = self.expected.at.iter().map(|(bar, text)| deviation(values[bar.parse::<usize>().unwrap()], text));
        let last = deviation(values[values.len() - 1], &self.expected.last);
        let sum = deviation(values.iter().sum(), &self.expected.sum);
        at.fold(last.max(sum), f64::max)
    }
}

fn paths() -> Vec<(String, Path)> {
    let text = include_str!("../../../tests/oracle/value_paths.json");
    let engines: BTreeMap<String, BTreeMap<String, Value>> = serde_json::from_str(text).unwrap();
    let named = engines.into_iter().flat_map(|(engine, paths)| {
        paths.into_iter().map(move |(name, expected)| {
            (format!("{engine} {name}"), Path::new(&name, serde_json::from_value(expected).unwrap()))
        })
    });
    named.collect()
}

#[test]
fn the_draws_are_those_of_splitmix64() {
    // Vigna's reference program: the first outputs of seed 1234567.
    let expected = [6_457_827_717_110_365_317_u64, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423];
    let expected = expected.map(|word| ((word >> 11) as f64 / 9_007_199_254_740_992.0).to_bits());
    assert_eq!(uniforms(1_234_567, 3).into_iter().map(f64::to_bits).collect::<Vec<_>>(), expected);
}

#[test]
fn every_value_path_of_vectorbt_and_bt_is_reproduced_by_backtest_and_environment() {
    let paths = paths();
    assert_eq!(paths.len(), 10);
    for (name, path) in paths {
        let values = path.backtest();
        let deviation = path.deviation(&values);
        println!("{name}: {} bars, largest deviation {deviation:.1e}", values.len());
        assert!(deviation <= TOLERANCE, "{name}: {deviation}");
        let stepped = path.environment();
        assert!(values.iter().zip(&stepped).all(|(a, b)| a.to_bits() == b.to_bits()), "{name}: the interfaces differ");
    }
}
