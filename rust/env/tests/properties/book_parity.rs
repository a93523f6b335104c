//! A lane of a batch equals a book that is stepped alone, in full detail.
//!
//! Wider than `lane_parity`: each autoreset mode with its last observation, resets of some lanes, and a cursor.

use std::sync::Arc;

use openoutcry::FillKey;
use openoutcry::batch::{Autoreset, Batch, BatchError, Market, ObservationArrays, Outcome};
use openoutcry_engine::{Book, Detail, Rules, StepError, Workspace, step_once};
use proptest::prelude::*;

use crate::place_hash::CellDraws;
use crate::random_batches::{Draw, SEED, View, draws};
use crate::random_market::{Case, config};
use crate::sliding_windows::SlidingPair;

const N_STEPS: usize = 30;

/// The outcome of a step of one lane.
#[derive(Debug, Default, PartialEq)]
struct StepRecord {
    reward: u64,
    terminated: bool,
    truncated: bool,
    reset: bool,
    /// The final observation of an ended episode, after the next has begun.
    last: Option<Vec<u32>>,
}

/// A lane's book, stepped alone.
struct ScalarBook<'a> {
    market: &'a Market,
    rules: Rules,
    start: usize,
    last: usize,
    book: Book,
    workspace: Workspace,
    is_done: bool,
}

impl<'a> ScalarBook<'a> {
    fn new(draw: &Draw, lane: usize, markets: &'a [Arc<Market>]) -> Self {
        let (market, terms) = draw.lane(lane);
        let Case { start, n_bars, n_symbols, .. } = draw.cases[market];
        Self {
            market: &markets[market],
            rules: Rules::new(terms.costs, terms.limits, FillKey::from_seed(SEED)).expect("valid rules"),
            start,
            last: start.saturating_add(draw.max_episode_steps).min(n_bars - 1),
            book: Book::new(markets[market].data(), start),
            workspace: Workspace::new(n_symbols, Detail::Full),
            is_done: false,
        }
    }

    fn restart(&mut self) {
        self.book.restart(self.market.data(), self.start);
        self.is_done = false;
    }

    fn step(&mut self, orders: &[f64], autoreset: Autoreset, lookback: usize) -> StepRecord {
        if self.is_done {
            self.restart();
            return StepRecord { reset: true, ..StepRecord::default() };
        }
        let stepped = step_once(self.market.data(), &self.rules, &mut self.book, orders, &mut self.workspace);
        let stepped = stepped.expect("a step");
        let truncated = self.book.bar() == self.last;
        self.is_done = stepped.terminated || truncated;
        let begins = self.is_done && autoreset == Autoreset::SameStep;
        let last = begins.then(|| bits(&self.shown(lookback)));
        if begins {
            self.restart();
        }
        StepRecord { reward: stepped.reward.to_bits(), terminated: stepped.terminated, truncated, reset: false, last }
    }

    fn shown(&self, lookback: usize) -> Vec<f32> {
        let mut row = vec![0.0; self.market.flat_len(lookback)];
        self.market.observe_flat(self.book.held(), lookback, &mut row);
        row
    }
}

/// The output arrays of a batch.
struct OutputArrays {
    view: View,
    flat: Vec<f32>,
    sliding_arrays: SlidingPair,
    cursor: Vec<i64>,
    account: Vec<f32>,
    /// The final observations of ended episodes.
    last: Vec<f32>,
}

impl OutputArrays {
    fn new(view: View, batch: &Batch, flat_len: usize) -> Self {
        let flat = vec![f32::NAN; batch.n_lanes() * flat_len];
        let account = vec![f32::NAN; batch.n_lanes() * (batch.n_symbols() + 1)];
        let cursor = vec![-1; batch.n_lanes()];
        Self { view, sliding_arrays: SlidingPair::new(batch), last: flat.clone(), flat, cursor, account }
    }

    fn step(&mut self, batch: &mut Batch, jump: usize) -> Vec<StepRecord> {
        let n_lanes = batch.n_lanes();
        let len = self.flat.len() / n_lanes;
        let ends_seen = batch.settings().autoreset == Autoreset::SameStep;
        // Every number must be written in this step, not left from an earlier one.
        self.flat.fill(f32::NAN);
        self.last.fill(f32::NAN);
        let mut rewards = vec![0.0; n_lanes];
        let mut flags = [(); 3].map(|()| vec![false; n_lanes]);
        let [terminated, truncated, reset] = &mut flags;
        let outcome = Outcome { rewards: &mut rewards, terminated, truncated, reset };
        let seen = match self.view {
            View::Flat => ObservationArrays::Flat(&mut self.flat),
            View::Sliding => self.sliding_arrays.next(jump),
            View::Cursor => ObservationArrays::Cursor { bars: &mut self.cursor, account: &mut self.account },
        };
        let last = ends_seen.then(|| ObservationArrays::Flat(&mut self.last));
        batch.step(seen, last, outcome).expect("a step");
        if self.view == View::Sliding {
            self.flat = self.sliding_arrays.shown(len);
        }
        let told = |lane: usize| {
            let [terminated, truncated, reset] = [flags[0][lane], flags[1][lane], flags[2][lane]];
            let last = &self.last[lane * len..][..len];
            let is_written = last.iter().any(|number| !number.is_nan());
            let last = is_written.then(|| bits(last));
            StepRecord { reward: rewards[lane].to_bits(), terminated, truncated, reset, last }
        };
        (0..n_lanes).map(told).collect()
    }

    /// Returns the observation of a lane.
    ///
    /// Its whole row, or for a cursor its account.
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
        let mut twins: Vec<_> = (0..draw.n_lanes).map(|lane| ScalarBook::new(&draw, lane, &markets)).collect();
        let mut screen = OutputArrays::new(draw.view, &batch, markets[0].flat_len(draw.lookback));
        let (dice, jumps) = (CellDraws::new(draw.seed, "reset"), CellDraws::new(draw.seed, "jump"));
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
            // Lanes that must be reset, and occasionally others.
            if finished || dice.chance(0.1, step, 0) {
                let begins = |(lane, twin): (usize, &ScalarBook)| (finished && twin.is_done) || dice.chance(0.2, step, 1 + lane);
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
