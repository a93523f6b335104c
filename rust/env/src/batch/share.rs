//! One thread's part of a batch step.

use std::sync::Arc;

use openoutcry_engine::lanes::LANES;
use openoutcry_engine::{Book, Desk, Growth, Growths, Orders, Pack, Rules, StepError, step_once, step_pack};

use crate::batch::accounts::AccountsMut;
use crate::batch::lane::{Lane, Story, Told, next_window};
use crate::batch::{Autoreset, BatchError, Market, Outcome, Seen, Settings};
use crate::episode::hold_within;
use crate::reward::{self, Reward};

/// Some lanes with their part of every array: what one thread works on.
pub(super) struct Share<'a> {
    pub(super) markets: &'a [Arc<Market>],
    pub(super) rules: &'a [Rules],
    pub(super) settings: &'a Settings,
    pub(super) lanes: &'a mut [Lane],
    pub(super) stories: &'a mut [Story],
    pub(super) accounts: AccountsMut<'a>,
    pub(super) orders: &'a mut [f64],
    pub(super) seen: Seen<'a>,
    pub(super) last: Option<Seen<'a>>,
    pub(super) outcome: Outcome<'a>,
    pub(super) first_lane: usize,
}

/// What a thread works with: a desk, and a book for an account that is stepped alone.
#[derive(Clone, Debug)]
pub(super) struct Seat {
    pub(super) desk: Desk,
    pub(super) book: Book,
}

/// A lane and its account.
struct Player<'p> {
    i: usize,
    lane: &'p mut Lane,
    story: &'p mut Story,
    book: &'p mut Book,
}

impl<'a> Share<'a> {
    /// Splits off the first `n` lanes, whole packs of them.
    pub(super) fn split(mut self, n: usize) -> (Share<'a>, Share<'a>) {
        let (n_lanes, stride) = (self.lanes.len(), self.stride());
        let (lanes, rest) = self.lanes.split_at_mut(n);
        let (stories, rest_stories) = self.stories.split_at_mut(n);
        let (accounts, rest_accounts) = self.accounts.split(n);
        let (orders, rest_orders) = self.orders.split_at_mut(n * stride);
        let first = Share {
            lanes,
            stories,
            accounts,
            orders,
            seen: self.seen.take(n, n_lanes),
            last: self.last.as_mut().map(|last| last.take(n, n_lanes)),
            outcome: self.outcome.take(n),
            ..self
        };
        let rest = Share {
            lanes: rest,
            stories: rest_stories,
            accounts: rest_accounts,
            orders: rest_orders,
            first_lane: self.first_lane + n,
            ..self
        };
        (first, rest)
    }

    fn stride(&self) -> usize {
        self.orders.len() / self.lanes.len().max(1)
    }

    fn n_symbols(&self) -> usize {
        self.markets[0].data().n_symbols()
    }

    pub(super) fn advance(mut self, seat: &mut Seat) -> Result<(), BatchError> {
        let (stride, n_symbols) = (self.stride(), self.n_symbols());
        let (lanes, stories) = (std::mem::take(&mut self.lanes), std::mem::take(&mut self.stories));
        let orders = std::mem::take(&mut self.orders);
        match std::mem::replace(&mut self.accounts, AccountsMut::Packs(&mut [])) {
            AccountsMut::Packs(packs) => {
                let members = lanes.chunks_mut(LANES).zip(stories.chunks_mut(LANES));
                let chunks = packs.iter_mut().zip(members).zip(orders.chunks_mut(LANES * LANES));
                for (chunk, ((pack, members), orders)) in chunks.enumerate() {
                    self.step_together(chunk * LANES, pack, members, orders, seat)?;
                }
            }
            AccountsMut::Books(books) => {
                let players = books.iter_mut().zip(lanes).zip(stories).zip(orders.chunks_exact_mut(stride));
                for (i, (((book, lane), story), orders)) in players.enumerate() {
                    let mut player = Player { i, lane, story, book };
                    let told = self.step_alone(&mut player, &mut orders[..n_symbols], &mut seat.desk)?;
                    self.tell(player, told);
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
        pack: &mut Pack,
        (lanes, stories): (&mut [Lane], &mut [Story]),
        orders: &mut [f64],
        seat: &mut Seat,
    ) -> Result<(), BatchError> {
        let mut growths = Growths::default();
        let stepped = self.step_plain(first, pack, lanes, orders, &mut growths, seat);
        let rewards = self.rewards(stepped, &growths, pack, stories);
        let n_symbols = self.n_symbols();
        for (place, (lane, story)) in lanes.iter_mut().zip(stories).enumerate() {
            let (i, market) = (first + place, &self.markets[lane.market]);
            let is_stepped = stepped >> place & 1 == 1;
            if is_stepped {
                let told = lane.close(pack.bar(place), rewards[place], false);
                let is_over = told.truncated && self.settings.autoreset == Autoreset::SameStep;
                if !is_over && self.seen.write_around(i, pack.bar(place), market, self.settings.lookback) {
                    self.outcome.write(i, told);
                    continue;
                }
            }
            pack.take(place, market.data(), &mut seat.book);
            let mut player = Player { i, lane, story, book: &mut seat.book };
            let told = if is_stepped {
                Told { reward: rewards[place], truncated: player.lane.truncated, ..Told::default() }
            } else {
                let row = &mut orders[place * LANES..][..n_symbols];
                self.step_alone(&mut player, row, &mut seat.desk)?
            };
            self.tell(player, told);
            pack.put(place, &seat.book);
        }
        Ok(())
    }

    /// Makes the plain steps of a pack, and returns of whom.
    ///
    /// Writes what is seen of their accounts, if that is weights and cash.
    #[inline]
    fn step_plain(
        &mut self,
        first: usize,
        pack: &mut Pack,
        lanes: &[Lane],
        orders: &mut [f64],
        growths: &mut Growths,
        seat: &Seat,
    ) -> u8 {
        let market = &self.markets[lanes[0].market];
        let mut which = 0;
        for (place, lane) in lanes.iter().enumerate() {
            which |= u8::from(!lane.is_done() && lane.market == lanes[0].market) << place;
        }
        let (rows, _) = orders.as_chunks_mut::<LANES>();
        if self.settings.no_trade_band > 0.0 {
            for (place, row) in rows.iter_mut().enumerate() {
                hold_within(self.settings.no_trade_band, |symbol| pack.weight(place, symbol), row);
            }
        }
        let nothing = [[0.0; LANES]; LANES];
        // The last pack may have room left.
        let mut padded = nothing;
        let weights = if let Ok(rows) = <&[_; LANES]>::try_from(&*rows) {
            rows
        } else {
            padded[..rows.len()].copy_from_slice(rows);
            &padded
        };
        let rules = std::array::from_fn(|place| &self.rules[lanes[place.min(lanes.len() - 1)].rules]);
        let observed = self.seen.observed(first, lanes.len(), market.data().n_symbols(), self.settings.lookback);
        step_pack(market.data(), &rules, pack, Orders { weights, which }, (growths, observed), &seat.desk)
    }

    /// Returns what the steps made side by side are worth.
    #[inline]
    fn rewards(&self, stepped: u8, growths: &Growths, pack: &Pack, stories: &mut [Story]) -> [f64; LANES] {
        let scheme = self.settings.reward;
        match scheme {
            Reward::Simple => growths.rewards,
            Reward::Log => {
                let is_stepped = |k: usize| stepped >> k & 1 == 1;
                reward::logs(std::array::from_fn(|k| if is_stepped(k) { growths.rewards[k] } else { 0.0 }))
            }
            _ => {
                let mut rewards = [0.0; LANES];
                for (k, story) in stories.iter_mut().enumerate().filter(|(k, _)| stepped >> k & 1 == 1) {
                    let (reward, turnover) = (growths.rewards[k], growths.turnovers[k]);
                    let growth = Growth { nav: pack.nav(k), reward, turnover };
                    rewards[k] = scheme.of_growth(growth, &mut story.memory);
                }
                rewards
            }
        }
    }

    /// Trades a lane to `orders`, or begins an episode where the last one is over and a step does that.
    #[inline]
    fn step_alone(&self, player: &mut Player<'_>, orders: &mut [f64], desk: &mut Desk) -> Result<Told, BatchError> {
        let refuse = |source| BatchError::Lane { lane: self.first_lane + player.i, source };
        let market = &self.markets[player.lane.market];
        if player.lane.is_done() {
            if self.settings.autoreset != Autoreset::NextStep {
                return Err(refuse(StepError::EpisodeOver));
            }
            self.begin(player);
            return Ok(Told { reset: true, ..Told::default() });
        }
        hold_within(self.settings.no_trade_band, |symbol| player.book.weight(symbol), orders);
        let rules = &self.rules[player.lane.rules];
        let stepped = step_once(market.data(), rules, player.book, orders, desk).map_err(refuse)?;
        let reward = self.settings.reward.of(&stepped, &mut player.story.memory);
        Ok(player.lane.close(player.book.bar(), reward, stepped.terminated))
    }

    /// Writes what came of a lane's step, and begins its next episode if a step is to do that at once.
    #[inline]
    fn tell(&mut self, mut player: Player<'_>, told: Told) {
        let (market, lookback) = (&self.markets[player.lane.market], self.settings.lookback);
        if player.lane.is_done() && self.settings.autoreset == Autoreset::SameStep {
            if let Some(last) = &mut self.last {
                last.write(player.i, player.book, market, lookback);
            }
            self.begin(&mut player);
        }
        self.seen.write(player.i, player.book, market, lookback);
        self.outcome.write(player.i, told);
    }

    fn begin(&self, player: &mut Player<'_>) {
        let now = (player.book.nav(), player.book.bar());
        let window = next_window(player.lane, player.story, now, self.settings);
        player.book.restart(self.markets[player.lane.market].data(), window.start);
    }
}
