use std::ops::Range;

use openoutcry_engine::Window;

use crate::backtest::order_table::OrderTable;
use crate::backtest::strategy_weights::momentum::{self, Returns};
use crate::backtest::strategy_weights::shown_closes::{ShownCloses, ShownSymbol};
use crate::backtest::strategy_weights::strategy_rule::StrategyRule;
use crate::backtest::strategy_weights::window_sums::{WindowMeans, means_to_distances, write_means};
use crate::backtest::strategy_weights::{mean_reversion, trend_sides};

/// Bars that are computed at once for all rules.
///
/// The first sums of a window are of earlier bars, so a tile is longer than most windows.
const TILE: usize = 4096;

impl ShownCloses {
    /// Returns the weights of strategies over the decisions of a window.
    ///
    /// A row is a hold until a symbol has the closes of a decision. Tables take memory of `memory` while there is some.
    #[must_use]
    pub fn tables(&self, rules: &[StrategyRule], window: Window, memory: &mut Vec<Vec<f64>>) -> Vec<OrderTable> {
        let (n_symbols, n_rows) = (self.symbols().len(), window.n_decisions());
        let blank = |_| {
            let mut rows = memory.pop().unwrap_or_default();
            rows.resize(n_rows * n_symbols, f64::NAN);
            rows
        };
        let mut tables: Vec<Vec<f64>> = rules.iter().map(blank).collect();
        let mut tile = Tile::new(rules, n_symbols);
        for start in (window.start..window.start + n_rows).step_by(TILE) {
            let bars = start..(start + TILE).min(window.start + n_rows);
            let rows = (bars.start - window.start) * n_symbols..(bars.end - window.start) * n_symbols;
            let mut parts: Vec<&mut [f64]> = tables.iter_mut().map(|table| &mut table[rows.clone()]).collect();
            tile.write(self, &bars, rules, &mut parts);
        }
        tables.into_iter().map(|rows| OrderTable::finite(rows, n_symbols)).collect()
    }
}

/// Numbers of the bars of a tile that several rules read.
struct Tile {
    lookback: usize,
    /// Symbols that are shown, by the lookback of the rules.
    counts: Vec<(usize, Vec<f64>)>,
    means: Vec<WindowMeans>,
    distances: Vec<WindowMeans>,
    /// Returns by window and skipped bars.
    returns: Vec<((usize, usize), Returns)>,
    weights: Vec<f64>,
}

/// Returns distinct values in ascending order.
fn distinct<T: Ord>(values: impl Iterator<Item = T>) -> Vec<T> {
    let mut values: Vec<T> = values.collect();
    values.sort_unstable();
    values.dedup();
    values
}

impl Tile {
    fn new(rules: &[StrategyRule], n_symbols: usize) -> Self {
        let numbers = || vec![0.0; TILE];
        let of_length = |length| WindowMeans { length, values: numbers() };
        let lookbacks = distinct(rules.iter().map(StrategyRule::lookback));
        let reversions = rules.iter().filter(|rule| matches!(rule, StrategyRule::MeanReversion { .. }));
        let returns = distinct(rules.iter().filter_map(|rule| match rule {
            StrategyRule::Momentum { window, skip, .. } => Some((*window, *skip)),
            _ => None,
        }));
        let columns = || Returns { n_bars: 0, negative: (0..n_symbols).map(|_| numbers()).collect() };
        Self {
            lookback: lookbacks.last().copied().unwrap_or(1),
            means: distinct(rules.iter().flat_map(StrategyRule::averages)).into_iter().map(of_length).collect(),
            distances: distinct(reversions.map(StrategyRule::lookback)).into_iter().map(of_length).collect(),
            returns: returns.into_iter().map(|key| (key, columns())).collect(),
            counts: lookbacks.into_iter().map(|lookback| (lookback, numbers())).collect(),
            weights: numbers(),
        }
    }

    /// Writes the rows of all rules on the bars of the tile.
    fn write(&mut self, closes: &ShownCloses, bars: &Range<usize>, rules: &[StrategyRule], rows: &mut [&mut [f64]]) {
        self.count(closes, bars);
        let n_symbols = closes.symbols().len();
        for (rule, rows) in rules.iter().zip(&mut *rows) {
            for (row, count) in rows.chunks_exact_mut(n_symbols).zip(self.counts(rule)) {
                row.fill(if *count > 0.0 { 0.0 } else { f64::NAN });
            }
        }
        for (place, symbol) in closes.symbols().iter().enumerate() {
            self.read(place, symbol, bars);
            for (rule, rows) in rules.iter().zip(&mut *rows) {
                let shown = symbol.shown(rule.lookback(), bars);
                let part = shown.start - bars.start..shown.end - bars.start;
                let rows = &mut rows[part.start * n_symbols..part.end * n_symbols];
                self.weigh(rule, part, (place, n_symbols), rows);
            }
        }
        for (rule, rows) in rules.iter().zip(rows) {
            if let StrategyRule::Momentum { window, skip, share, is_short } = *rule {
                let (_, returns) = self.returns.iter().find(|(key, _)| *key == (window, skip)).expect("of each rule");
                momentum::weigh(returns, &self.counts(rule)[..bars.len()], share, is_short, rows);
            }
        }
    }

    /// Counts the symbols that are shown on each bar.
    fn count(&mut self, closes: &ShownCloses, bars: &Range<usize>) {
        for (lookback, counts) in &mut self.counts {
            counts.fill(0.0);
            for symbol in closes.symbols() {
                let shown = symbol.shown(*lookback, bars);
                counts[shown.start - bars.start..shown.end - bars.start].iter_mut().for_each(|count| *count += 1.0);
            }
        }
    }

    fn counts(&self, rule: &StrategyRule) -> &[f64] {
        let found = self.counts.iter().find(|(lookback, _)| *lookback == rule.lookback());
        &found.expect("the counts of each lookback").1
    }

    /// Computes means, distances and returns of a symbol.
    fn read(&mut self, place: usize, symbol: &ShownSymbol, bars: &Range<usize>) {
        let Self { lookback, means, distances, returns, .. } = self;
        symbol.stretches(bars.clone(), *lookback, |closes, stretch| {
            write_means(closes, &stretch, bars.start, means);
            // The closes from the window of the first bar that has one, and the place of that bar.
            let windows = |lookback: usize| {
                let origin = stretch.end - closes.len();
                let first = stretch.start.max(origin + lookback - 1);
                (first < stretch.end)
                    .then(|| (&closes[first + 1 - lookback - origin..], first - bars.start..stretch.end - bars.start))
            };
            for WindowMeans { length, values } in &mut *distances {
                let Some((closes, part)) = windows(*length) else { continue };
                let means = means.iter().find(|means| means.length == *length).expect("a mean of each distance");
                values[part.clone()].copy_from_slice(&means.values[part.clone()]);
                means_to_distances(closes, *length, &mut values[part]);
            }
            for ((window, skip), returns) in &mut *returns {
                let Some((closes, part)) = windows(*window + 1) else { continue };
                momentum::write_returns(closes, *window, *skip, &mut returns.negative[place][part]);
            }
        });
        for ((window, _), returns) in returns {
            returns.n_bars = bars.len();
            let (shown, negative) = (symbol.shown(*window + 1, bars), &mut returns.negative[place]);
            negative[..shown.start - bars.start].fill(f64::INFINITY);
            negative[shown.end - bars.start..].fill(f64::INFINITY);
        }
    }

    /// Writes the weights of a symbol on the bars where it is shown.
    ///
    /// It writes only rules with weights that do not depend on other symbols.
    fn weigh(&mut self, rule: &StrategyRule, part: Range<usize>, (place, n_symbols): (usize, usize), rows: &mut [f64]) {
        let mut weights = std::mem::take(&mut self.weights);
        let shown = &mut weights[part.clone()];
        match *rule {
            StrategyRule::Trend { fast, slow, is_short } => {
                let (fast, slow) = (of_length(&self.means, fast), of_length(&self.means, slow));
                trend_sides::weigh(&fast[part.clone()], &slow[part.clone()], &self.counts(rule)[part], is_short, shown);
            }
            StrategyRule::MeanReversion { window, width, is_short } => {
                let distances = of_length(&self.distances, window);
                mean_reversion::weigh(&distances[part.clone()], &self.counts(rule)[part], width, is_short, shown);
            }
            StrategyRule::Momentum { .. } => {
                self.weights = weights;
                return;
            }
        }
        for (row, weight) in rows.chunks_exact_mut(n_symbols).zip(shown) {
            row[place] = *weight;
        }
        self.weights = weights;
    }
}

fn of_length(numbers: &[WindowMeans], length: usize) -> &[f64] {
    &numbers.iter().find(|numbers| numbers.length == length).expect("the length of each rule").values
}
