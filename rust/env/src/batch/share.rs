//! One thread's part of a batch step.

use std::sync::Arc;

use openoutcry_engine::lanes::LANES;
use openoutcry_engine::{Account, Desk, Growth, Rules, step_group};

use crate::batch::lane::Lane;
use crate::batch::{Autoreset, BatchError, Market, Outcome, Seen, Settings};
use crate::reward::{self, Reward};

/// Some lanes with their part of every array: what one thread works on.
pub(super) struct Share<'a> {
    pub(super) markets: &'a [Arc<Market>],
    pub(super) rules: &'a [Rules],
    pub(super) settings: &'a Settings,
    pub(super) lanes: &'a mut [Lane],
    pub(super) orders: &'a mut [f64],
    pub(super) seen: Seen<'a>,
    pub(super) last: Option<Seen<'a>>,
    pub(super) outcome: Outcome<'a>,
    pub(super) first_lane: usize,
}

impl<'a> Share<'a> {
    /// Splits the lanes among as many threads as there are desks.
    pub(super) fn run(self, desks: &mut [Desk]) -> Result<(), BatchError> {
        if desks.len() == 1 {
            return self.advance(&mut desks[0]);
        }
        let (left, right) = desks.split_at_mut(desks.len() / 2);
        let n = self.lanes.len() * left.len() / (left.len() + right.len());
        let (first, rest) = self.split(n);
        let (first, rest) = rayon::join(|| first.run(left), || rest.run(right));
        first.and(rest)
    }

    fn split(mut self, n: usize) -> (Share<'a>, Share<'a>) {
        let (n_lanes, n_symbols) = (self.lanes.len(), self.markets[0].data().n_symbols());
        let (lanes, rest) = self.lanes.split_at_mut(n);
        let (orders, rest_orders) = self.orders.split_at_mut(n * n_symbols);
        let first = Share {
            lanes,
            orders,
            seen: self.seen.take(n, n_lanes),
            last: self.last.as_mut().map(|last| last.take(n, n_lanes)),
            outcome: self.outcome.take(n),
            ..self
        };
        (first, Share { lanes: rest, orders: rest_orders, first_lane: self.first_lane + n, ..self })
    }

    pub(super) fn advance(mut self, desk: &mut Desk) -> Result<(), BatchError> {
        let n_symbols = self.markets[0].data().n_symbols();
        let (lanes, orders) = (std::mem::take(&mut self.lanes), std::mem::take(&mut self.orders));
        let chunks = lanes.chunks_mut(LANES).zip(orders.chunks_mut(LANES * n_symbols));
        for (chunk, (lanes, orders)) in chunks.enumerate() {
            let mut grown = [None; LANES];
            self.step_together(lanes, orders, &mut grown, desk);
            let rewards = self.reward_together(lanes, &grown);
            for (k, (lane, orders)) in lanes.iter_mut().zip(orders.chunks_exact_mut(n_symbols)).enumerate() {
                self.step_lane((chunk * LANES + k, lane, orders), rewards[k], desk)?;
            }
        }
        Ok(())
    }

    /// Makes the plain steps of lanes side by side.
    ///
    /// It does where the lanes are alike and of few symbols.
    fn step_together(&self, lanes: &mut [Lane], orders: &[f64], grown: &mut [Option<Growth>; LANES], desk: &Desk) {
        let Ok(lanes) = <&mut [Lane; LANES]>::try_from(lanes) else { return };
        let (n_symbols, market, rules) = (orders.len() / LANES, lanes[0].market, lanes[0].rules);
        let alike = lanes.iter().all(|lane| lane.market == market && lane.rules == rules && !lane.is_done());
        if n_symbols > LANES || !alike || self.settings.no_trade_band > 0.0 {
            return;
        }
        let mut rows = orders.chunks_exact(n_symbols);
        let mut accounts =
            lanes.each_mut().map(|lane| Account { book: &mut lane.book, orders: rows.next().unwrap_or_default() });
        step_group(self.markets[market].data(), &self.rules[rules], &mut accounts, grown, desk);
    }

    /// Returns what the steps made side by side are worth.
    #[inline]
    fn reward_together(&self, lanes: &mut [Lane], grown: &[Option<Growth>; LANES]) -> [Option<f64>; LANES] {
        let scheme = self.settings.reward;
        if scheme == Reward::Log && grown.iter().any(Option::is_some) {
            let logs = reward::logs(grown.map(|growth| growth.map_or(0.0, |growth| growth.reward)));
            return std::array::from_fn(|k| grown[k].map(|_| logs[k]));
        }
        let mut rewards = [None; LANES];
        for ((reward, growth), lane) in rewards.iter_mut().zip(grown).zip(lanes) {
            *reward = growth.map(|growth| scheme.of_growth(growth, &mut lane.memory));
        }
        rewards
    }

    /// Steps a lane, unless its account has been stepped, and writes what came of it.
    #[inline]
    fn step_lane(
        &mut self,
        (i, lane, orders): (usize, &mut Lane, &mut [f64]),
        reward: Option<f64>,
        desk: &mut Desk,
    ) -> Result<(), BatchError> {
        let Settings { lookback, autoreset, .. } = *self.settings;
        let (market, rules) = (&self.markets[lane.market], &self.rules[lane.rules]);
        let told = match reward {
            Some(reward) => lane.close(reward, false, self.settings),
            None => lane
                .advance(market, rules, self.settings, orders, desk)
                .map_err(|source| BatchError::Lane { lane: self.first_lane + i, source })?,
        };
        if lane.is_done() && autoreset == Autoreset::SameStep {
            if let Some(last) = &mut self.last {
                last.write(i, lane, market, lookback);
            }
            lane.begin(market, &self.settings.windows[lane.market]);
        }
        self.seen.write(i, lane, market, lookback);
        self.outcome.write(i, told);
        Ok(())
    }
}
