//! A lane of a batch is a book that is stepped alone, in full detail.
//!
//! Wider than the backtests of `lanes`: each autoreset with its last observation, two markets in a batch, orders beyond
//! the range, slippage at its bound, and a cursor.

use std::sync::Arc;

use openoutcry::batch::{Autoreset, Batch, BatchError, Market, Outcome, Seen, Settings, Terms};
use openoutcry::{CostModel, FillKey, Limits, Reward, Window, Windows};
use openoutcry_engine::{Book, Desk, Detail, Rules, StepError, step_once};
use proptest::prelude::*;

use crate::dice::Dice;
use crate::market::{Case, Features, cases, config};
use crate::strips::Strips;

const SEED: u64 = 7;
const N_STEPS: usize = 30;

#[derive(Clone, Copy, Debug, PartialEq)]
enum View {
    Flat,
    Sliding,
    Cursor,
}

/// How large orders are.
#[derive(Clone, Copy, Debug)]
enum Size {
    Usual,
    /// At the ends of the range and beyond it.
    Extreme,
    /// In half of the steps usual, in the others some extreme.
    Mixed,
    /// One in fifty is beyond the range by a rounding.
    Brink,
    /// Sums of five or six are at the end of the range.
    Third,
}

#[derive(Debug)]
struct Draw {
    cases: [Case; 2],
    terms: [Terms; 2],
    /// Whether each third lane has the other market, and each third other terms.
    mixes: [bool; 2],
    n_lanes: usize,
    lookback: usize,
    autoreset: Autoreset,
    max_episode_steps: usize,
    threads: (usize, bool),
    view: View,
    size: Size,
    seed: u64,
}

fn draws() -> impl Strategy<Value = Draw> {
    // As many as a part of a vector or a whole one has, fewer and more.
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
            // Long enough for some of what is seen to begin after the first bar.
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

/// Returns costs at the bound of slippage, none, or now and then the case's.
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
        },
    )
}

impl Draw {
    /// Returns a lane's market and terms.
    fn lane(&self, lane: usize) -> (usize, Terms) {
        (usize::from(self.mixes[0] && lane % 3 == 1), self.terms[usize::from(self.mixes[1] && lane % 3 == 2)])
    }

    fn batch(&self, markets: &[Arc<Market>]) -> Batch {
        let windows = self.cases.iter().map(|case| Windows::Fixed(Window { start: case.start, end: case.n_bars }));
        let settings = Settings {
            windows: windows.collect(),
            autoreset: self.autoreset,
            reward: Reward::Simple,
            lookback: self.lookback,
            no_trade_band: 0.0,
            max_episode_steps: self.max_episode_steps,
            n_threads: self.threads.0,
            cells_a_thread: 1,
            bypass_len: if self.threads.1 { 0 } else { usize::MAX },
            seed: SEED,
        };
        let lanes: Vec<_> = (0..self.n_lanes).map(|lane| self.lane(lane)).collect();
        Batch::new(markets.to_vec(), &lanes, settings, 0).expect("a valid batch")
    }

    fn twin<'a>(&self, lane: usize, markets: &'a [Arc<Market>]) -> Twin<'a> {
        let (market, terms) = self.lane(lane);
        let Case { start, n_bars, n_symbols, .. } = self.cases[market];
        Twin {
            market: &markets[market],
            rules: Rules::new(terms.costs, terms.limits, FillKey::from_seed(SEED)).expect("valid rules"),
            start,
            last: start.saturating_add(self.max_episode_steps).min(n_bars - 1),
            book: Book::new(markets[market].data(), start),
            desk: Desk::new(n_symbols, Detail::Full),
            is_done: false,
        }
    }

    /// Returns what all lanes order at a step, NaN a hold.
    fn orders(&self, step: usize) -> Vec<f64> {
        let dice = Dice::new(self.seed, "twins");
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

/// What a step of one lane says.
#[derive(Debug, Default, PartialEq)]
struct Told {
    reward: u64,
    terminated: bool,
    truncated: bool,
    reset: bool,
    /// What an episode that ended saw last, where the next has begun.
    last: Option<Vec<u32>>,
}

/// A lane's book, stepped alone.
struct Twin<'a> {
    market: &'a Market,
    rules: Rules,
    start: usize,
    last: usize,
    book: Book,
    desk: Desk,
    is_done: bool,
}

impl Twin<'_> {
    fn restart(&mut self) {
        self.book.restart(self.market.data(), self.start);
        self.is_done = false;
    }

    fn step(&mut self, orders: &[f64], autoreset: Autoreset, lookback: usize) -> Told {
        if self.is_done {
            self.restart();
            return Told { reset: true, ..Told::default() };
        }
        let stepped = step_once(self.market.data(), &self.rules, &mut self.book, orders, &mut self.desk);
        let stepped = stepped.expect("a step");
        let truncated = self.book.bar() == self.last;
        self.is_done = stepped.terminated || truncated;
        let begins = self.is_done && autoreset == Autoreset::SameStep;
        let last = begins.then(|| bits(&self.shown(lookback)));
        if begins {
            self.restart();
        }
        Told { reward: stepped.reward.to_bits(), terminated: stepped.terminated, truncated, reset: false, last }
    }

    fn shown(&self, lookback: usize) -> Vec<f32> {
        let mut row = vec![0.0; self.market.flat_len(lookback)];
        self.market.observe_flat(self.book.held(), lookback, &mut row);
        row
    }
}

/// What a batch writes its observations to.
struct Screen {
    view: View,
    flat: Vec<f32>,
    strips: Strips,
    cursor: Vec<i64>,
    account: Vec<f32>,
    /// What was last seen of episodes that ended.
    last: Vec<f32>,
}

impl Screen {
    fn new(view: View, batch: &Batch, flat_len: usize) -> Self {
        let flat = vec![f32::NAN; batch.n_lanes() * flat_len];
        let account = vec![f32::NAN; batch.n_lanes() * (batch.n_symbols() + 1)];
        let cursor = vec![-1; batch.n_lanes()];
        Self { view, strips: Strips::new(batch), last: flat.clone(), flat, cursor, account }
    }

    fn step(&mut self, batch: &mut Batch, jump: usize) -> Vec<Told> {
        let n_lanes = batch.n_lanes();
        let len = self.flat.len() / n_lanes;
        let ends_seen = batch.settings().autoreset == Autoreset::SameStep;
        // What is not written now is not what was written before.
        self.flat.fill(f32::NAN);
        self.last.fill(f32::NAN);
        let mut rewards = vec![0.0; n_lanes];
        let mut flags = [(); 3].map(|()| vec![false; n_lanes]);
        let [terminated, truncated, reset] = &mut flags;
        let outcome = Outcome { rewards: &mut rewards, terminated, truncated, reset };
        let seen = match self.view {
            View::Flat => Seen::Flat(&mut self.flat),
            View::Sliding => self.strips.next(jump),
            View::Cursor => Seen::Cursor { bars: &mut self.cursor, account: &mut self.account },
        };
        let last = ends_seen.then(|| Seen::Flat(&mut self.last));
        batch.step(seen, last, outcome).expect("a step");
        if self.view == View::Sliding {
            self.flat = self.strips.shown(len);
        }
        let told = |lane: usize| {
            let [terminated, truncated, reset] = [flags[0][lane], flags[1][lane], flags[2][lane]];
            let last = &self.last[lane * len..][..len];
            let is_written = last.iter().any(|number| !number.is_nan());
            let last = is_written.then(|| bits(last));
            Told { reward: rewards[lane].to_bits(), terminated, truncated, reset, last }
        };
        (0..n_lanes).map(told).collect()
    }

    /// Returns what a lane was shown.
    ///
    /// Its whole row, or of a cursor the account that ends it.
    fn shown(&self, lane: usize, n_lanes: usize) -> &[f32] {
        let rows = if self.view == View::Cursor { &self.account } else { &self.flat };
        let len = rows.len() / n_lanes;
        &rows[lane * len..][..len]
    }
}

fn bits(row: &[f32]) -> Vec<u32> {
    row.iter().map(|number| number.to_bits()).collect()
}

proptest! {
    #![proptest_config(config(400))]

    #[test]
    fn every_lane_has_the_bits_of_its_twin(draw in draws()) {
        let markets: Vec<_> = draw.cases.iter().map(|case| Arc::new(Market::new(Arc::new(case.dataset())))).collect();
        let mut batch = draw.batch(&markets);
        let mut twins: Vec<_> = (0..draw.n_lanes).map(|lane| draw.twin(lane, &markets)).collect();
        let mut screen = Screen::new(draw.view, &batch, markets[0].flat_len(draw.lookback));
        let (dice, jumps) = (Dice::new(draw.seed, "reset"), Dice::new(draw.seed, "jump"));
        for step in 0..N_STEPS {
            let orders = draw.orders(step);
            let hold: Vec<bool> = orders.iter().map(|weight| weight.is_nan()).collect();
            let actions: Vec<f64> = orders.iter().map(|weight| if weight.is_nan() { 0.0 } else { *weight }).collect();
            let finished = draw.autoreset == Autoreset::Disabled && twins.iter().any(|twin| twin.is_done);
            if finished {
                let refused = batch.accept(&actions, Some(&hold));
                let is_over = matches!(refused, Err(BatchError::Lane { source: StepError::EpisodeOver, .. }));
                prop_assert!(is_over, "{:?}", refused);
            }
            // Those that have to begin anew, and now and then some others.
            if finished || dice.chance(0.1, step, 0) {
                let begins = |(lane, twin): (usize, &Twin)| (finished && twin.is_done) || dice.chance(0.2, step, 1 + lane);
                let mask: Vec<bool> = twins.iter().enumerate().map(begins).collect();
                batch.reset(None, Some(&mask)).unwrap();
                twins.iter_mut().zip(mask).filter(|(_, begins)| *begins).for_each(|(twin, _)| twin.restart());
            }
            batch.accept(&actions, Some(&hold)).unwrap();
            let jump = if jumps.chance(0.2, step, 0) { 1 + jumps.below(40, step, 1) } else { 0 };
            let told = screen.step(&mut batch, jump);
            for (lane, (twin, orders)) in twins.iter_mut().zip(orders.chunks(batch.n_symbols())).enumerate() {
                let expected = twin.step(orders, draw.autoreset, draw.lookback);
                prop_assert_eq!(&told[lane], &expected, "lane {} step {} orders {:?}", lane, step, orders);
                let book = &twin.book;
                prop_assert_eq!(batch.bar(lane), book.bar());
                prop_assert_eq!(batch.nav(lane).to_bits(), book.nav().to_bits(), "lane {} step {}", lane, step);
                prop_assert_eq!(batch.cash(lane).to_bits(), book.cash().to_bits());
                for symbol in 0..batch.n_symbols() {
                    prop_assert_eq!(batch.shares(lane, symbol).to_bits(), book.shares(symbol).to_bits());
                }
                let (shown, row) = (screen.shown(lane, draw.n_lanes), twin.shown(draw.lookback));
                prop_assert_eq!(bits(shown), bits(&row[row.len() - shown.len()..]), "lane {} step {}", lane, step);
                if draw.view == View::Cursor {
                    prop_assert_eq!(usize::try_from(screen.cursor[lane]), Ok(book.bar()));
                }
            }
        }
    }
}
