//! The share of one thread in a step of a batch.

use std::sync::Arc;

use openoutcry_engine::lane_sums::LANES;
use openoutcry_engine::{
    AccountBlock, AccountStoreMut, AccountView, BlockOrders, BlockOutcome, DayOrder, Rules, StepError, Workspace,
    prefetch, step_block, step_day_orders, step_store,
};

use crate::batch::brackets::Brackets;
use crate::batch::lane_accounts::LaneAccountsMut;
use crate::batch::lane_episodes::{LaneEpisode, LaneGroup, LaneOutcome};
use crate::batch::stepped_lane::SteppedLane;
use crate::batch::streaming_observations::{StreamingObservations, observed, wait};
use crate::batch::thread_workspace::ThreadWorkspace;
use crate::batch::{Autoreset, BatchError, Market, ObservationArrays, Outcome, Settings};
use crate::episode::reward_state::StepFigures;
use crate::episode::single_episode::hold_within;
use crate::episode::step_record::StepRecord;

/// A range of lanes with their part of every array.
pub(super) struct ThreadShare<'a> {
    pub(super) markets: &'a [Arc<Market>],
    pub(super) rules: &'a [Rules],
    pub(super) settings: &'a Settings,
    pub(super) groups: &'a mut [LaneGroup],
    pub(super) episodes: &'a mut [LaneEpisode],
    pub(super) accounts: LaneAccountsMut<'a>,
    pub(super) orders: &'a mut [f64],
    pub(super) brackets: Brackets<'a>,
    pub(super) seen: ObservationArrays<'a>,
    /// Whether flat observations use streaming stores.
    pub(super) uses_streaming: bool,
    /// The streaming writer, while it is in use; `seen` is then empty.
    pub(super) streaming: Option<StreamingObservations<'a>>,
    pub(super) last: Option<ObservationArrays<'a>>,
    pub(super) outcome: Outcome<'a>,
    /// The figures of the steps, for a reward of the caller; else empty.
    pub(super) figures: &'a mut [StepFigures],
    /// The records of the steps, if they are kept; else empty.
    ///
    /// With records, no lane takes the fast path.
    pub(super) records: &'a mut [StepRecord],
    pub(super) first_lane: usize,
}

impl<'a> ThreadShare<'a> {
    /// Splits off the first `n` lanes, in whole blocks.
    pub(super) fn split(mut self, n: usize) -> (ThreadShare<'a>, ThreadShare<'a>) {
        let (n_lanes, n_orders) = (self.episodes.len(), n.next_multiple_of(LANES) * self.stride());
        let (groups, rest_groups) = self.groups.split_at_mut(n.div_ceil(LANES));
        let (episodes, rest_episodes) = self.episodes.split_at_mut(n);
        let (accounts, rest_accounts) = self.accounts.split(n);
        let (orders, rest_orders) = self.orders.split_at_mut(n_orders);
        let (figures, rest_figures) = self.figures.split_at_mut(n.min(self.figures.len()));
        let (records, rest_records) = self.records.split_at_mut(n.min(self.records.len()));
        let first = ThreadShare {
            groups,
            episodes,
            accounts,
            orders,
            seen: self.seen.take(n, n_lanes),
            streaming: None,
            last: self.last.as_mut().map(|last| last.take(n, n_lanes)),
            outcome: self.outcome.take(n),
            figures,
            records,
            ..self
        };
        let rest = ThreadShare {
            groups: rest_groups,
            episodes: rest_episodes,
            accounts: rest_accounts,
            orders: rest_orders,
            figures: rest_figures,
            records: rest_records,
            first_lane: self.first_lane + n,
            ..self
        };
        (first, rest)
    }

    fn stride(&self) -> usize {
        BlockOrders::stride(self.n_symbols())
    }

    pub(super) fn n_lanes(&self) -> usize {
        self.episodes.len()
    }

    fn n_symbols(&self) -> usize {
        self.markets[0].data().n_symbols()
    }

    /// Steps the lanes; call it once.
    pub(super) fn advance(&mut self, thread: &mut ThreadWorkspace) -> Result<(), BatchError> {
        if self.uses_streaming {
            self.streaming = match std::mem::replace(&mut self.seen, ObservationArrays::Flat(&mut [])) {
                ObservationArrays::Flat(flat) => Some(StreamingObservations::new(flat, None)),
                ObservationArrays::Sliding(sliding) => {
                    let (rows, positions) = sliding.into_parts();
                    Some(StreamingObservations::new(rows, Some(positions)))
                }
                _ => unreachable!("only flat observations go past the caches"),
            };
        }
        let advanced = self.advance_all(thread);
        self.streaming = None;
        advanced
    }

    fn advance_all(&mut self, thread: &mut ThreadWorkspace) -> Result<(), BatchError> {
        let stride = self.stride();
        let (groups, episodes) = (std::mem::take(&mut self.groups), std::mem::take(&mut self.episodes));
        let orders = std::mem::take(&mut self.orders);
        let members = groups.iter_mut().zip(episodes.chunks_mut(LANES)).enumerate();
        match std::mem::replace(&mut self.accounts, LaneAccountsMut::Packs(&mut [])) {
            LaneAccountsMut::Packs(blocks) => {
                let orders = orders.chunks_mut(LANES * stride);
                for (((c, members), block), orders) in members.zip(blocks).zip(orders) {
                    let n = members.1.len();
                    self.step_together(c * LANES, block, members, orders, thread)?;
                    if let Some(streaming) = &mut self.streaming {
                        streaming.write_block(n, &self.markets[0], self.settings.lookback, &thread.rows);
                    }
                }
            }
            LaneAccountsMut::AccountStore(mut rest) => {
                for ((c, members), orders) in members.zip(orders.chunks_mut(LANES * stride)) {
                    let (mut store, others) = rest.split_at(members.1.len());
                    // For the market of this block, usually also that of the next block.
                    others.fetch(0, self.markets[members.0.market(0)].data());
                    self.step_in_turn(c * LANES, &mut store, members, orders, thread)?;
                    rest = others;
                }
            }
        }
        Ok(())
    }

    /// Steps the lanes of a block: on the fast path if supported, else one by one.
    #[inline]
    fn step_together(
        &mut self,
        first: usize,
        block: &mut AccountBlock,
        (group, episodes): (&mut LaneGroup, &mut [LaneEpisode]),
        orders: &mut [f64],
        thread: &mut ThreadWorkspace,
    ) -> Result<(), BatchError> {
        if let ObservationArrays::Sliding(sliding) = &self.seen {
            // For the next block, while this one is stepped.
            sliding.prefetch(first + LANES, LANES, &self.markets[0], self.settings.lookback);
        }
        let mut block_outcome = self.block_outcome();
        let stepped = self.step_fast(first, block, group, orders, &mut block_outcome, thread);
        let nav = |place: usize| block.nav(place);
        let rewards = self.rewards((first, stepped), &block_outcome, nav, (group, episodes), &thread.workspace);
        let over = group.close_all(stepped, block.bars());
        let restarts = if self.settings.autoreset == Autoreset::SameStep { over } else { 0 };
        let written = if self.seen.write_bars(first, block.bars()) { stepped & !restarts } else { 0 };
        self.outcome.write_all(first, episodes.len(), &rewards, over);
        if written == group.all {
            return Ok(());
        }
        let (stride, vacant) = (self.stride(), !group.all);
        for (place, episode) in episodes.iter_mut().enumerate().filter(|(place, _)| written >> place & 1 == 0) {
            block.take(place, self.markets[group.market(place)].data(), &mut thread.book);
            let fast = (stepped >> place & 1 == 1).then(|| LaneOutcome::fast(rewards[place], over >> place & 1 == 1));
            self.finish_lane((first + place, place), (group, episode), fast, &mut orders[place * stride..], thread)?;
            block.put(place, &thread.book);
        }
        block.vacate(vacant);
        Ok(())
    }

    /// Steps up to eight lanes of many symbols.
    ///
    /// On the fast path if supported, else one by one.
    #[inline]
    fn step_in_turn(
        &mut self,
        first: usize,
        store: &mut AccountStoreMut<'_>,
        (group, episodes): (&mut LaneGroup, &mut [LaneEpisode]),
        orders: &mut [f64],
        thread: &mut ThreadWorkspace,
    ) -> Result<(), BatchError> {
        let stride = self.stride();
        let market = &self.markets[group.market(0)];
        let which = self.fast_lanes(first, group);
        if let ObservationArrays::Sliding(sliding) = &self.seen {
            // For this block: its observations are written after all of it is stepped.
            sliding.prefetch(first, LANES, market, self.settings.lookback);
        }
        // For windows that are written whole, only the last bar was not read by the previous step.
        if self.uses_streaming || matches!(self.seen, ObservationArrays::Sliding(_)) {
            for place in (0..store.n_accounts()).filter(|place| which >> place & 1 == 1) {
                prefetch(market.last(store.bar(place) + 1, market.bar_len()).1);
            }
        }
        let orders = &mut orders[..episodes.len() * stride];
        let mut block_outcome = self.block_outcome();
        self.hold(orders, stride, |place, symbol| store.weight(place, symbol));
        let block_orders = BlockOrders { weights: orders, which, vacant: 0 };
        let lookback = self.settings.lookback;
        let mut observed =
            if self.uses_streaming { None } else { self.seen.observed(first, episodes.len(), market, lookback) };
        let is_seen = observed.is_some();
        let (outcome, tools) = ((&mut block_outcome, observed.as_mut()), (&mut thread.scratch, &thread.workspace));
        let stepped = step_store(market.data(), group.terms(self.rules), store, block_orders, outcome, tools);
        let nav = |place: usize| store.nav(place);
        let rewards = self.rewards((first, stepped), &block_outcome, nav, (group, episodes), &thread.workspace);
        let bars = std::array::from_fn(|place| if place < store.n_accounts() { store.bar(place) } else { 0 });
        let over = group.close_all(stepped, &bars);
        let restarts = if self.settings.autoreset == Autoreset::SameStep { over } else { 0 };
        self.seen.write_bars(first, &bars);
        self.outcome.write_all(first, episodes.len(), &rewards, over);
        let written = stepped & !restarts;
        if is_seen && written == group.all {
            return Ok(());
        }
        for (place, episode) in episodes.iter_mut().enumerate() {
            let market = &self.markets[group.market(place)];
            if written >> place & 1 == 0 {
                store.take(place, market.data(), &mut thread.book);
                // A lane of the fast path is only left here if its episode was truncated.
                let fast = (stepped >> place & 1 == 1).then(|| LaneOutcome::fast(rewards[place], true));
                self.finish_lane(
                    (first + place, place),
                    (group, episode),
                    fast,
                    &mut orders[place * stride..],
                    thread,
                )?;
                store.put(place, &thread.book);
            } else if !is_seen {
                self.show(first + place, store.held(place, market.data()), market, &mut thread.rows);
            }
        }
        Ok(())
    }

    /// Finishes the step of a lane that was copied to the scratch book.
    ///
    /// Steps it with `step_day_orders`, unless its outcome is given.
    fn finish_lane(
        &mut self,
        (i, place): (usize, usize),
        (group, episode): (&mut LaneGroup, &mut LaneEpisode),
        fast: Option<LaneOutcome>,
        orders: &mut [f64],
        thread: &mut ThreadWorkspace,
    ) -> Result<(), BatchError> {
        let mut lane = SteppedLane { i, place, group, episode, book: &mut thread.book };
        let orders = &mut orders[..self.markets[0].data().n_symbols()];
        let tools = (&mut thread.workspace, &mut thread.conditions);
        let outcome = fast.map_or_else(|| self.step_one(&mut lane, orders, tools), Ok)?;
        self.write_outcome(lane, outcome, &mut thread.rows);
        Ok(())
    }

    /// Returns the arrays for the outcome of fast-path steps.
    fn block_outcome(&self) -> BlockOutcome {
        let asks = self.settings.reward.uses_turnover();
        BlockOutcome { rewards: [0.0; LANES], turnovers: asks.then_some([0.0; LANES]) }
    }

    /// Returns the lanes that may take the fast path.
    ///
    /// `first` is the first of the block.
    fn fast_lanes(&self, first: usize, group: &LaneGroup) -> u8 {
        let which = if self.records.is_empty() { group.same_market & !group.done() } else { 0 };
        which & !self.brackets.lanes(self.first_lane + first)
    }

    /// Turns orders within the no-trade band into holds.
    fn hold(&self, orders: &mut [f64], stride: usize, weight: impl Fn(usize, usize) -> f64) {
        if self.settings.no_trade_band > 0.0 {
            for (place, row) in orders.chunks_exact_mut(stride).enumerate() {
                hold_within(self.settings.no_trade_band, |symbol| weight(place, symbol), row);
            }
        }
    }

    /// Runs the fast path on a block, and returns the lanes it stepped.
    ///
    /// Writes their observations, if those are weights and cash.
    #[inline]
    fn step_fast(
        &mut self,
        first: usize,
        block: &mut AccountBlock,
        group: &LaneGroup,
        orders: &mut [f64],
        block_outcome: &mut BlockOutcome,
        thread: &mut ThreadWorkspace,
    ) -> u8 {
        let market = &self.markets[group.market(0)];
        let n_lanes = group.all.count_ones() as usize;
        self.hold(orders, self.stride(), |place, symbol| block.weight(place, symbol));
        let (lookback, which) = (self.settings.lookback, self.fast_lanes(first, group));
        let mut observed = if self.uses_streaming {
            Some(observed(&mut thread.rows, n_lanes, market, lookback))
        } else {
            self.seen.observed(first, n_lanes, market, lookback)
        };
        let orders = BlockOrders { weights: orders, which, vacant: !group.all };
        step_block(
            market.data(),
            group.terms(self.rules),
            block,
            orders,
            (block_outcome, observed.as_mut()),
            &thread.workspace,
        )
    }

    /// Trades a lane to `orders`, or resets it.
    ///
    /// It resets a lane with an ended episode in the mode with reset on the next step.
    #[inline]
    fn step_one(
        &mut self,
        lane: &mut SteppedLane<'_>,
        orders: &mut [f64],
        (workspace, conditions): (&mut Workspace, &mut Vec<DayOrder>),
    ) -> Result<LaneOutcome, BatchError> {
        let refuse = |source| BatchError::Lane { lane: self.first_lane + lane.i, source };
        let market = &self.markets[lane.group.market(lane.place)];
        if lane.group.is_done(lane.place) {
            if self.settings.autoreset != Autoreset::NextStep {
                return Err(refuse(StepError::EpisodeOver));
            }
            self.begin(lane);
            self.record(lane.i, StepFigures::default());
            self.keep(lane.i, StepRecord::default);
            return Ok(LaneOutcome { reset: true, ..LaneOutcome::default() });
        }
        hold_within(self.settings.no_trade_band, |symbol| lane.book.weight(symbol), orders);
        let rules = &self.rules[lane.group.rules(lane.place)];
        self.brackets.write(self.first_lane + lane.i, orders, lane.book, conditions);
        let decided = (&*orders, &**conditions);
        let stepped = step_day_orders(market.data(), rules, lane.book, decided, workspace).map_err(refuse)?;
        self.keep(lane.i, || StepRecord::new(&stepped, workspace.events()));
        let reward = self.reward_alone(&stepped, lane);
        Ok(lane.group.close(lane.place, lane.book.bar(), reward, stepped.terminated))
    }

    /// Keeps the record of a step of lane `i`, if records are kept.
    fn keep(&mut self, i: usize, record: impl FnOnce() -> StepRecord) {
        if let Some(kept) = self.records.get_mut(i) {
            *kept = record();
        }
    }

    /// Writes the outcome of a step of a lane.
    ///
    /// Resets the lane in the mode with reset on the same step.
    #[inline]
    fn write_outcome(&mut self, mut lane: SteppedLane<'_>, outcome: LaneOutcome, scratch: &mut [f32]) {
        let market = &self.markets[lane.group.market(lane.place)];
        if lane.group.is_done(lane.place) && self.settings.autoreset == Autoreset::SameStep {
            if let Some(last) = &mut self.last {
                last.write(lane.i, lane.book.held(), market, self.settings.lookback);
            }
            self.begin(&mut lane);
        }
        let market = &self.markets[lane.group.market(lane.place)];
        self.show(lane.i, lane.book.held(), market, scratch);
        self.outcome.write(lane.i, outcome);
    }

    /// Writes the observation of lane `i`.
    #[inline]
    fn show(&mut self, i: usize, held: AccountView<'_>, market: &Market, scratch: &mut [f32]) {
        let lookback = self.settings.lookback;
        match &mut self.streaming {
            Some(streaming) if market.data().n_symbols() > LANES => {
                streaming.write(i, held, (market, lookback), scratch);
            }
            Some(_) => wait(scratch, i % LANES, held, market, lookback),
            None => self.seen.write(i, held, market, lookback),
        }
    }

    fn begin(&self, lane: &mut SteppedLane<'_>) {
        let now = (lane.book.nav(), lane.book.bar());
        let window = lane.group.begin(lane.place, lane.episode, now, (self.settings, self.rules));
        lane.book.restart(self.markets[lane.group.market(lane.place)].data(), window.start);
    }
}
