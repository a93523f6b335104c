//! Random batches, and the orders of their lanes.
//!
//! Wider than the cases they consist of: two markets per batch, orders beyond the range, slippage at its bound.

use std::sync::Arc;

use openoutcry::batch::{Autoreset, Batch, Market, Settings, Terms};
use openoutcry::{CostModel, EpisodeMarkets, EpisodeWindows, Limits, Reward, Window};
use proptest::prelude::*;

use crate::place_hash::CellDraws;
use crate::random_market::{Case, Features, cases};

/// The seed of the slippage noise.
pub const SEED: u64 = 7;

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum View {
    Flat,
    Sliding,
    Cursor,
}

/// The size of orders.
#[derive(Clone, Copy, Debug)]
enum Size {
    Usual,
    /// At the limits of the range and beyond.
    Extreme,
    /// Usual in half of the steps, with some extreme orders in the others.
    Mixed,
    /// One in fifty is beyond the range by a rounding.
    Brink,
    /// Sums of five or six are at the end of the range.
    Third,
}

#[derive(Debug)]
pub struct Draw {
    pub cases: [Case; 2],
    terms: [Terms; 2],
    /// Whether every third lane has the other market, and every third lane other terms.
    mixes: [bool; 2],
    pub n_lanes: usize,
    pub lookback: usize,
    pub autoreset: Autoreset,
    pub max_episode_steps: usize,
    threads: (usize, bool),
    pub view: View,
    size: Size,
    pub seed: u64,
}

pub fn draws() -> impl Strategy<Value = Draw> {
    // Equal to a vector, a part of one, and numbers in between.
    let n_symbols = prop::sample::select(vec![1, 2, 3, 4, 4, 4, 5, 7, 8, 8, 9, 17]);
    let markets = (cases(), cases(), n_symbols, any::<bool>());
    let terms = (costs(), limits(), limits(), any::<[bool; 2]>());
    let shape = (
        prop::sample::select(vec![1_usize, 3, 7, 8, 8, 9, 16, 17]),
        prop::sample::select(vec![1_usize, 2, 3, 4, 5, 20]),
        prop::sample::select(vec![Autoreset::NextStep, Autoreset::SameStep, Autoreset::Disabled]),
        prop::sample::select(vec![1_usize, 2, 3, usize::MAX]),
    );
    let way = (
        (1_usize..=2, any::<bool>()),
        prop::sample::select(vec![View::Flat, View::Sliding, View::Cursor]),
        prop::sample::select(vec![Size::Usual, Size::Extreme, Size::Mixed, Size::Brink, Size::Third]),
        any::<u64>(),
    );
    (markets, terms, shape, way).prop_map(
        |((case, other, n_symbols, plain), (costs, first, second, mixes), shape, way)| {
            let has = if plain { Features { opens: case.has.opens, ..Features::default() } } else { case.has };
            let costs = costs.map_or([case.costs, other.costs], |costs| [costs; 2]);
            // Long enough for some histories to begin after the first bar.
            let n_bars = 8 + case.n_bars.max(other.n_bars);
            let case = Case { n_bars, n_symbols, has, costs: costs[0], ..case };
            let other = Case { n_bars, n_symbols, ..other };
            Draw {
                terms: [Terms { costs: costs[0], limits: first }, Terms { costs: costs[1], limits: second }],
                cases: [case, other],
                mixes,
                n_lanes: shape.0,
                lookback: shape.1,
                autoreset: shape.2,
                max_episode_steps: shape.3,
                threads: way.0,
                view: way.1,
                size: way.2,
                seed: way.3,
            }
        },
    )
}

/// Returns costs at the bound of slippage, none, or occasionally the case's.
fn costs() -> impl Strategy<Value = Option<CostModel>> {
    let zero = CostModel::zero();
    let bound = |slippage_bps, slippage_jitter| CostModel { slippage_bps, slippage_jitter, ..zero };
    let usual = CostModel { slippage_bps: 2.0, fee_bps: 1.0, cash_bps: 100.0, financing_bps: 300.0, ..zero };
    prop_oneof![
        4 => Just(None),
        3 => Just(Some(zero)),
        1 => Just(Some(usual)),
        1 => Just(Some(bound(4990.0, 1.0))),
        1 => Just(Some(CostModel { impact_bps: 1.0, ..bound(4999.0, 0.01) })),
        1 => Just(Some(CostModel { fee_bps: 1.0, ..bound(4999.0, 0.0) })),
        1 => Just(Some(bound(9999.0, 1.0))),
    ]
}

fn limits() -> impl Strategy<Value = Limits> {
    const NONE: f64 = f64::INFINITY;
    let weight = prop::sample::select(vec![NONE, NONE, NONE, 100.0, 150.0, 99.0, 50.0, 1.0, 0.0]);
    let gross = prop::sample::select(vec![NONE, NONE, NONE, 100.0, 200.0, 1.0, 0.0]);
    let participation = prop::sample::select(vec![None, None, None, Some(1e3), Some(0.5)]);
    let margin = prop::sample::select(vec![0.0, 0.0, 0.001]);
    (weight, gross, any::<bool>(), participation, margin).prop_map(
        |(max_weight, max_gross, allow_short, max_participation, maintenance_margin)| Limits {
            max_weight,
            max_gross,
            allow_short,
            max_participation,
            maintenance_margin,
            cash_account: false,
        },
    )
}

impl Draw {
    /// Returns the market and terms of a lane.
    pub fn lane(&self, lane: usize) -> (usize, Terms) {
        (usize::from(self.mixes[0] && lane % 3 == 1), self.terms[usize::from(self.mixes[1] && lane % 3 == 2)])
    }

    pub fn batch(&self, markets: &[Arc<Market>]) -> Batch {
        let windows =
            self.cases.iter().map(|case| EpisodeWindows::Fixed(Window { start: case.start, end: case.n_bars }));
        let settings = Settings {
            episode_markets: EpisodeMarkets::Fixed,
            windows: windows.collect(),
            autoreset: self.autoreset,
            reward: Reward::Return,
            lookback: self.lookback,
            no_trade_band: 0.0,
            max_episode_steps: self.max_episode_steps,
            n_threads: self.threads.0,
            cells_a_thread: 1,
            streaming_len: if self.threads.1 { 0 } else { usize::MAX },
            seed: SEED,
        };
        let lanes: Vec<_> = (0..self.n_lanes).map(|lane| self.lane(lane)).collect();
        Batch::new(markets.to_vec(), &lanes, settings, 0).expect("a valid batch")
    }

    /// Returns the orders of all lanes at a step; NaN is a hold.
    pub fn orders(&self, step: usize) -> Vec<f64> {
        let dice = CellDraws::new(self.seed, "twins");
        let usual_step = dice.chance(0.5, step + 9000, 0);
        let n_symbols = self.cases[0].n_symbols;
        let order = |cell: usize| {
            let (row, symbol) = (step * 100 + cell / n_symbols, cell % n_symbols);
            match self.size {
                Size::Extreme => dice.pick(&EXTREME, row, symbol),
                Size::Mixed if !usual_step && dice.chance(0.3, row + 5000, symbol) => dice.pick(&EXTREME, row, symbol),
                Size::Brink if dice.chance(0.02, row + 5000, symbol) => dice.pick(&[ABOVE, -ABOVE], row, symbol),
                Size::Third => 35.0 * dice.uniform(row, symbol),
                Size::Usual | Size::Mixed | Size::Brink => dice.pick(&USUAL, row, symbol),
            }
        };
        (0..self.n_lanes * n_symbols).map(order).collect()
    }
}

const USUAL: [f64; 10] = [0.3, 0.5, -0.0, 0.0, f64::NAN, f64::NAN, 1.0, -0.4, 5e-324, -5e-324];
const ABOVE: f64 = 100.0_f64.next_up();
const BELOW: f64 = 100.0_f64.next_down();
const EXTREME: [f64; 14] =
    [100.0, ABOVE, BELOW, 100.5, 150.0, 99.0, 50.0, 33.3, 60.0, 1e300, -100.0, -ABOVE, -150.0, 20.0];
