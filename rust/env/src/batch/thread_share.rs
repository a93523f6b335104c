//! One thread's part of a batch step.

use std::sync::Arc;

use openoutcry_engine::lane_sums::LANES;
use openoutcry_engine::{
    AccountBlock, AccountStoreMut, AccountView, BlockOrders, BlockOutcome, Book, RewardInputs, Rules, StepError,
    StoreWorkspace, Workspace, prefetch, step_block, step_once, step_store,
};

use crate::batch::lane_accounts::AccountsMut;
use crate::batch::lane_episodes::{Crew, Story, Told};
use crate::batch::streaming_observations::{Bypassed, observed, wait};
use crate::batch::{Autoreset, BatchError, Market, Outcome, Seen, Settings};
use crate::episode::reward::{self, Reward};
use crate::episode::single_episode::hold_within;

/// Some lanes with their part of every array: what one thread works on.
pub(super) struct Share<'a> {
    pub(super) markets: &'a [Arc<Market>],
    pub(super) rules: &'a [Rules],
    pub(super) settings: &'a Settings,
    pub(super) crews: &'a mut [Crew],
    pub(super) stories: &'a mut [Story],
    pub(super) accounts: AccountsMut<'a>,
    pub(super) orders: &'a mut [f64],
    pub(super) seen: Seen<'a>,
    /// Whether flat observations go past the caches.
    pub(super) bypasses: bool,
    /// The way there, while they are written; `seen` is empty then.
    pub(super) bypassed: Option<Bypassed<'a>>,
    pub(super) last: Option<Seen<'a>>,
    pub(super) outcome: Outcome<'a>,
    pub(super) first_lane: usize,
}

/// What a thread works with.
///
/// A workspace, and a book for an account that is stepped alone.
#[derive(Clone, Debug)]
pub(super) struct Seat {
    pub(super) workspace: Workspace,
    pub(super) book: Book,
    /// Where accounts of many symbols are carried to.
    pub(super) spare: StoreWorkspace,
    /// What waits to be bypassed.
    pub(super) rows: Vec<f32>,
}

/// A lane and its account.
struct Player<'p> {
    /// Its index, and its place in the crew.
    i: usize,
    place: usize,
    crew: &'p mut Crew,
    story: &'p mut Story,
    book: &'p mut Book,
}

impl<'a> Share<'a> {
    /// Splits off the first `n` lanes, whole packs of them.
    pub(super) fn split(mut self, n: usize) -> (Share<'a>, Share<'a>) {
        let (n_lanes, n_orders) = (self.stories.len(), n.next_multiple_of(LANES) * self.stride());
        let (crews, rest_crews) = self.crews.split_at_mut(n.div_ceil(LANES));
        let (stories, rest_stories) = self.stories.split_at_mut(n);
        let (accounts, rest_accounts) = self.accounts.split(n);
        let (orders, rest_orders) = self.orders.split_at_mut(n_orders);
        let first = Share {
            crews,
            stories,
            accounts,
            orders,
            seen: self.seen.take(n, n_lanes),
            bypassed: None,
            last: self.last.as_mut().map(|last| last.take(n, n_lanes)),
            outcome: self.outcome.take(n),
            ..self
        };
        let rest = Share {
            crews: rest_crews,
            stories: rest_stories,
            accounts: rest_accounts,
            orders: rest_orders,
            first_lane: self.first_lane + n,
            ..self
        };
        (first, rest)
    }

    fn stride(&self) -> usize {
        BlockOrders::stride(self.n_symbols())
    }

    pub(super) fn n_lanes(&self) -> usize {
        self.stories.len()
    }

    fn n_symbols(&self) -> usize {
        self.markets[0].data().n_symbols()
    }

    /// Carries out what the lanes are asked for; to be called once.
    pub(super) fn advance(&mut self, seat: &mut Seat) -> Result<(), BatchError> {
        if self.bypasses {
            self.bypassed = match std::mem::replace(&mut self.seen, Seen::Flat(&mut [])) {
                Seen::Flat(flat) => Some(Bypassed::new(flat, None)),
                Seen::Sliding(sliding) => {
                    let (rows, places) = sliding.apart();
                    Some(Bypassed::new(rows, Some(places)))
                }
                _ => unreachable!("only flat observations go past the caches"),
            };
        }
        let advanced = self.advance_all(seat);
        self.bypassed = None;
        advanced
    }

    fn advance_all(&mut self, seat: &mut Seat) -> Result<(), BatchError> {
        let stride = self.stride();
        let (crews, stories) = (std::mem::take(&mut self.crews), std::mem::take(&mut self.stories));
        let orders = std::mem::take(&mut self.orders);
        let members = crews.iter_mut().zip(stories.chunks_mut(LANES)).enumerate();
        match std::mem::replace(&mut self.accounts, AccountsMut::Packs(&mut [])) {
            AccountsMut::Packs(packs) => {
                let orders = orders.chunks_mut(LANES * stride);
                for (((c, members), pack), orders) in members.zip(packs).zip(orders) {
                    let n = members.1.len();
                    self.step_together(c * LANES, pack, members, orders, seat)?;
                    if let Some(bypassed) = &mut self.bypassed {
                        bypassed.write_pack(n, &self.markets[0], self.settings.lookback, &seat.rows);
                    }
                }
            }
            AccountsMut::AccountStore(mut rest) => {
                for ((c, members), orders) in members.zip(orders.chunks_mut(LANES * stride)) {
                    let (mut shelf, others) = rest.split_at(members.1.len());
                    // Of this pack's market, which is mostly that of the next one, too.
                    others.fetch(0, self.markets[members.0.market(0)].data());
                    self.step_in_turn(c * LANES, &mut shelf, members, orders, seat)?;
                    rest = others;
                }
            }
        }
        Ok(())
    }

    /// Steps the lanes of a pack: side by side what is plain, the others alone.
    #[inline]
    fn step_together(
        &mut self,
        first: usize,
        pack: &mut AccountBlock,
        (crew, stories): (&mut Crew, &mut [Story]),
        orders: &mut [f64],
        seat: &mut Seat,
    ) -> Result<(), BatchError> {
        if let Seen::Sliding(sliding) = &self.seen {
            // The next pack's, while this one is stepped.
            sliding.prefetch(first + LANES, LANES, &self.markets[0], self.settings.lookback);
        }
        let mut growths = self.growths();
        let stepped = self.step_plain(first, pack, crew, orders, &mut growths, seat);
        let rewards = self.rewards(stepped, &growths, |place| pack.nav(place), stories, &seat.workspace);
        let over = crew.close_all(stepped, pack.bars());
        let restarts = if self.settings.autoreset == Autoreset::SameStep { over } else { 0 };
        let told = if self.seen.write_bars(first, pack.bars()) { stepped & !restarts } else { 0 };
        self.outcome.write_all(first, stories.len(), &rewards, over);
        if told == crew.all {
            return Ok(());
        }
        let (stride, vacant) = (self.stride(), !crew.all);
        for (place, story) in stories.iter_mut().enumerate().filter(|(place, _)| told >> place & 1 == 0) {
            pack.take(place, self.markets[crew.market(place)].data(), &mut seat.book);
            let plain = (stepped >> place & 1 == 1).then(|| Told::plain(rewards[place], over >> place & 1 == 1));
            self.attend((first + place, place), (crew, story), plain, &mut orders[place * stride..], seat)?;
            pack.put(place, &seat.book);
        }
        pack.vacate(vacant);
        Ok(())
    }

    /// Steps up to eight lanes of many symbols.
    ///
    /// What is plain in one go, the others alone.
    #[inline]
    fn step_in_turn(
        &mut self,
        first: usize,
        shelf: &mut AccountStoreMut<'_>,
        (crew, stories): (&mut Crew, &mut [Story]),
        orders: &mut [f64],
        seat: &mut Seat,
    ) -> Result<(), BatchError> {
        let (n_symbols, stride) = (self.n_symbols(), self.stride());
        let market = &self.markets[crew.market(0)];
        let which = crew.kin & !crew.done();
        if let Seen::Sliding(sliding) = &self.seen {
            // This pack's: what is seen of it is written once all of it is stepped.
            sliding.prefetch(first, LANES, market, self.settings.lookback);
        }
        // Where windows are written whole, only their last bar is not what the step before has read.
        if self.bypasses || matches!(self.seen, Seen::Sliding(_)) {
            for place in (0..shelf.n_accounts()).filter(|place| which >> place & 1 == 1) {
                prefetch(market.last(shelf.bar(place) + 1, n_symbols).1);
            }
        }
        let orders = &mut orders[..stories.len() * stride];
        let mut growths = self.growths();
        self.hold(orders, stride, |place, symbol| shelf.weight(place, symbol));
        let asked = BlockOrders { weights: orders, which, vacant: 0 };
        let lookback = self.settings.lookback;
        let mut observed =
            if self.bypasses { None } else { self.seen.observed(first, stories.len(), market, lookback) };
        let is_seen = observed.is_some();
        let (told, tools) = ((&mut growths, observed.as_mut()), (&mut seat.spare, &seat.workspace));
        let stepped = step_store(market.data(), crew.whose(self.rules), shelf, asked, told, tools);
        let rewards = self.rewards(stepped, &growths, |place| shelf.nav(place), stories, &seat.workspace);
        let bars = std::array::from_fn(|place| if place < shelf.n_accounts() { shelf.bar(place) } else { 0 });
        let over = crew.close_all(stepped, &bars);
        let restarts = if self.settings.autoreset == Autoreset::SameStep { over } else { 0 };
        self.seen.write_bars(first, &bars);
        self.outcome.write_all(first, stories.len(), &rewards, over);
        let told = stepped & !restarts;
        if is_seen && told == crew.all {
            return Ok(());
        }
        for (place, story) in stories.iter_mut().enumerate() {
            let market = &self.markets[crew.market(place)];
            if told >> place & 1 == 0 {
                shelf.take(place, market.data(), &mut seat.book);
                // A plain one is only left where its episode was cut off.
                let plain = (stepped >> place & 1 == 1).then(|| Told::plain(rewards[place], true));
                self.attend((first + place, place), (crew, story), plain, &mut orders[place * stride..], seat)?;
                shelf.put(place, &seat.book);
            } else if !is_seen {
                self.show(first + place, shelf.held(place, market.data()), market, &mut seat.rows);
            }
        }
        Ok(())
    }

    /// Tells what came of a lane whose account is the book of the seat.
    ///
    /// Steps it alone, if it is not told what came of it already.
    fn attend(
        &mut self,
        (i, place): (usize, usize),
        (crew, story): (&mut Crew, &mut Story),
        plain: Option<Told>,
        orders: &mut [f64],
        seat: &mut Seat,
    ) -> Result<(), BatchError> {
        let mut player = Player { i, place, crew, story, book: &mut seat.book };
        let told = match plain {
            Some(told) => told,
            None => {
                self.step_alone(&mut player, &mut orders[..self.markets[0].data().n_symbols()], &mut seat.workspace)?
            }
        };
        self.tell(player, told, &mut seat.rows);
        Ok(())
    }

    /// Returns where it goes what steps made side by side came to.
    fn growths(&self) -> BlockOutcome {
        let asks = matches!(self.settings.reward, Reward::Turnover { .. });
        BlockOutcome { rewards: [0.0; LANES], turnovers: asks.then_some([0.0; LANES]) }
    }

    /// Lets orders within the no-trade band of what is held be holds.
    fn hold(&self, orders: &mut [f64], stride: usize, weight: impl Fn(usize, usize) -> f64) {
        if self.settings.no_trade_band > 0.0 {
            for (place, row) in orders.chunks_exact_mut(stride).enumerate() {
                hold_within(self.settings.no_trade_band, |symbol| weight(place, symbol), row);
            }
        }
    }

    /// Makes the plain steps of a pack, and returns of whom.
    ///
    /// Writes what is seen of their accounts, if that is weights and cash.
    #[inline]
    fn step_plain(
        &mut self,
        first: usize,
        pack: &mut AccountBlock,
        crew: &Crew,
        orders: &mut [f64],
        growths: &mut BlockOutcome,
        seat: &mut Seat,
    ) -> u8 {
        let market = &self.markets[crew.market(0)];
        let n_lanes = crew.all.count_ones() as usize;
        self.hold(orders, self.stride(), |place, symbol| pack.weight(place, symbol));
        let lookback = self.settings.lookback;
        let mut observed = if self.bypasses {
            Some(observed(&mut seat.rows, n_lanes, market, lookback))
        } else {
            self.seen.observed(first, n_lanes, market, lookback)
        };
        let orders = BlockOrders { weights: orders, which: crew.kin & !crew.done(), vacant: !crew.all };
        step_block(market.data(), crew.whose(self.rules), pack, orders, (growths, observed.as_mut()), &seat.workspace)
    }

    /// Returns what the steps made side by side are worth.
    #[inline]
    fn rewards(
        &self,
        stepped: u8,
        growths: &BlockOutcome,
        nav: impl Fn(usize) -> f64,
        stories: &mut [Story],
        workspace: &Workspace,
    ) -> [f64; LANES] {
        let scheme = self.settings.reward;
        match scheme {
            Reward::Simple => growths.rewards,
            // Of those that were not stepped it is nothing.
            Reward::Log => reward::logs(&growths.rewards, workspace),
            _ => {
                let mut rewards = [0.0; LANES];
                for (k, story) in stories.iter_mut().enumerate().filter(|(k, _)| stepped >> k & 1 == 1) {
                    let turnover = growths.turnovers.map_or(0.0, |turnovers| turnovers[k]);
                    let reward = growths.rewards[k];
                    let reward_inputs = RewardInputs { nav: nav(k), reward, turnover };
                    rewards[k] = scheme.of_inputs(reward_inputs, &mut story.memory);
                }
                rewards
            }
        }
    }

    /// Trades a lane to `orders`, or begins an episode.
    ///
    /// The latter where the last one is over and a step does that.
    #[inline]
    fn step_alone(
        &self,
        player: &mut Player<'_>,
        orders: &mut [f64],
        workspace: &mut Workspace,
    ) -> Result<Told, BatchError> {
        let refuse = |source| BatchError::Lane { lane: self.first_lane + player.i, source };
        let market = &self.markets[player.crew.market(player.place)];
        if player.crew.is_done(player.place) {
            if self.settings.autoreset != Autoreset::NextStep {
                return Err(refuse(StepError::EpisodeOver));
            }
            self.begin(player);
            return Ok(Told { reset: true, ..Told::default() });
        }
        hold_within(self.settings.no_trade_band, |symbol| player.book.weight(symbol), orders);
        let rules = &self.rules[player.crew.rules(player.place)];
        let stepped = step_once(market.data(), rules, player.book, orders, workspace).map_err(refuse)?;
        let reward = self.settings.reward.of(&stepped, &mut player.story.memory);
        Ok(player.crew.close(player.place, player.book.bar(), reward, stepped.terminated))
    }

    /// Writes what came of a lane's step.
    ///
    /// Begins its next episode if a step is to do that at once.
    #[inline]
    fn tell(&mut self, mut player: Player<'_>, told: Told, room: &mut [f32]) {
        let market = &self.markets[player.crew.market(player.place)];
        if player.crew.is_done(player.place) && self.settings.autoreset == Autoreset::SameStep {
            if let Some(last) = &mut self.last {
                last.write(player.i, player.book.held(), market, self.settings.lookback);
            }
            self.begin(&mut player);
        }
        self.show(player.i, player.book.held(), market, room);
        self.outcome.write(player.i, told);
    }

    /// Writes what is seen of the lane of index `i`.
    #[inline]
    fn show(&mut self, i: usize, held: AccountView<'_>, market: &Market, room: &mut [f32]) {
        let lookback = self.settings.lookback;
        match &mut self.bypassed {
            Some(bypassed) if market.data().n_symbols() > LANES => bypassed.write(i, held, (market, lookback), room),
            Some(_) => wait(room, i % LANES, held, market, lookback),
            None => self.seen.write(i, held, market, lookback),
        }
    }

    fn begin(&self, player: &mut Player<'_>) {
        let now = (player.book.nav(), player.book.bar());
        let window = player.crew.begin(player.place, player.story, now, self.settings);
        player.book.restart(self.markets[player.crew.market(player.place)].data(), window.start);
    }
}
