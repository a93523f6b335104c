use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use openoutcry_engine::lane_sums::LANES;
use openoutcry_engine::{BlockOrders, Book, Detail, FillKey, Rules, StepError, StoreWorkspace, Workspace, widen_rows};

use crate::batch::batch_market::Market;
use crate::batch::batch_settings::{Autoreset, BatchError, Settings, Terms};
use crate::batch::brackets::Brackets;
use crate::batch::buffers::{ObservationArrays, Outcome};
use crate::batch::lane_accounts::LaneAccounts;
use crate::batch::lane_checks::{check, length};
use crate::batch::lane_episodes::{LaneEpisode, LaneGroup};
use crate::batch::sliding_windows::SlidingArray;
use crate::batch::step_parts::share_out;
use crate::batch::streaming_observations::StreamingObservations;
use crate::batch::thread_pool::ThreadPool;
use crate::batch::thread_share::ThreadShare;
use crate::batch::thread_workspace::ThreadWorkspace;
use crate::episode::episode_windows::EpisodeMarkets;
use crate::episode::reward::Reward;
use crate::episode::reward_state::StepFigures;
use crate::episode::step_record::StepRecord;

/// The most sets of rules with precomputed cost tables.
///
/// With more, each account computes its own costs.
const MAX_TABLES: usize = 8;

/// Number of batches created by this process.
static N_MADE: AtomicU64 = AtomicU64::new(0);

/// A batch of lanes: accounts that are stepped together.
#[derive(Debug)]
pub struct Batch {
    /// Unique in the process.
    id: u64,
    pub(super) markets: Vec<Arc<Market>>,
    pub(super) rules: Vec<Rules>,
    settings: Settings,
    pub(super) groups: Vec<LaneGroup>,
    pub(super) episodes: Vec<LaneEpisode>,
    pub(super) accounts: LaneAccounts,
    /// Weights ordered, lane after lane, in f64; NaN is a hold.
    ///
    /// The length is a multiple of eight lanes.
    orders: Vec<f64>,
    /// Distances of the exits of the next step, two per lane and symbol.
    ///
    /// Empty without exits.
    pub(super) brackets: Vec<f64>,
    /// Figures of the last step of each lane, for [`Reward::Return`]; else empty.
    figures: Vec<StepFigures>,
    /// Records of the last step of each lane, if they are kept; else empty.
    pub(super) records: Vec<StepRecord>,
    /// One per thread.
    pub(super) threads: Vec<ThreadWorkspace>,
    pool: ThreadPool,
}

impl Batch {
    /// Returns a batch of one lane per entry of `lanes`.
    ///
    /// An entry is the index of a market, and the terms of the lane.
    ///
    /// Lane i has the episodes of the stream of `seed + i`, and starts in the first.
    ///
    /// # Errors
    ///
    /// Returns an error if a window leaves its data, a cost, a limit or a setting is out of range, or the markets have
    /// different numbers of symbols.
    pub fn new(
        markets: Vec<Arc<Market>>,
        lanes: &[(usize, Terms)],
        settings: Settings,
        seed: u64,
    ) -> Result<Self, BatchError> {
        check(&markets, lanes, &settings)?;
        // Created now: a step takes no memory.
        let _ = markets.iter().map(|market| market.bars().len()).max();
        let mut kinds: Vec<(usize, Terms)> = Vec::new();
        let mut kind_of = Vec::with_capacity(lanes.len());
        let changes = settings.episode_markets != EpisodeMarkets::Fixed;
        for (market, terms) in lanes {
            // A lane that may change its market has a kind for each, in their order.
            let first = if changes { 0 } else { *market };
            let found = kinds.iter().position(|kind| *kind == (first, *terms)).unwrap_or(kinds.len());
            if found == kinds.len() {
                kinds.extend((first..if changes { markets.len() } else { first + 1 }).map(|market| (market, *terms)));
            }
            kind_of.push(if changes { found + market } else { found });
        }
        let key = FillKey::from_seed(settings.seed);
        let shares_tables = kinds.len() <= MAX_TABLES;
        let rules = kinds.iter().map(|(market, terms)| {
            let rules = Rules::new(terms.costs, terms.limits, key)?;
            rules.check_market(markets[*market].data())?;
            Ok(if shares_tables { rules.with_tables(markets[*market].data()) } else { rules })
        });
        let rules: Vec<Rules> = rules.collect::<Result<_, BatchError>>()?;
        let n_symbols = markets[0].data().n_symbols();
        let mut episodes: Vec<_> = (0..lanes.len()).map(|i| LaneEpisode::new(seed.wrapping_add(i as u64))).collect();
        let members: Vec<_> = lanes.iter().zip(kind_of).map(|((market, _), kind)| (*market, kind)).collect();
        let mut groups: Vec<_> =
            members.chunks(LANES).map(|members| LaneGroup::new(members, &rules, changes)).collect();
        let mut books = Vec::with_capacity(lanes.len());
        for (i, episode) in episodes.iter_mut().enumerate() {
            episode.next_market = members[i].0;
            let window = groups[i / LANES].begin(i % LANES, episode, (1.0, 0), (&settings, &rules));
            books.push(Book::new(markets[groups[i / LANES].market(i % LANES)].data(), window.start));
        }
        let n_figures = if settings.reward == Reward::Return { lanes.len() } else { 0 };
        let scratch = StoreWorkspace::new(n_symbols);
        let rows = vec![0.0; StreamingObservations::scratch_len(&markets[0], settings.lookback)];
        let thread = ThreadWorkspace {
            workspace: Workspace::new(n_symbols, Detail::RewardInputs),
            book: books[0].clone(),
            scratch,
            conditions: Vec::with_capacity(n_symbols),
            rows,
        };
        let accounts = LaneAccounts::new(&books);
        Ok(Self {
            id: N_MADE.fetch_add(1, Ordering::Relaxed),
            orders: vec![0.0; lanes.len().next_multiple_of(LANES) * BlockOrders::stride(n_symbols)],
            brackets: Vec::new(),
            figures: vec![StepFigures::default(); n_figures],
            records: Vec::new(),
            groups,
            episodes,
            accounts,
            threads: vec![thread; settings.n_threads],
            pool: ThreadPool::new(settings.n_threads).map_err(|error| BatchError::Setting {
                name: "threads",
                range: "a number of threads that the system can start",
                value: error.to_string(),
            })?,
            markets,
            rules,
            settings,
        })
    }

    /// Returns the number of lanes.
    #[must_use]
    pub fn n_lanes(&self) -> usize {
        self.episodes.len()
    }

    /// Returns the number of symbols of every market.
    #[must_use]
    pub fn n_symbols(&self) -> usize {
        self.markets[0].data().n_symbols()
    }

    /// Returns the settings.
    #[must_use]
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Returns the index of the market of a lane.
    #[must_use]
    pub fn market_index(&self, lane: usize) -> usize {
        self.groups[lane / LANES].market(lane % LANES)
    }

    /// Returns the market of a lane.
    #[must_use]
    pub fn market(&self, lane: usize) -> &Arc<Market> {
        &self.markets[self.groups[lane / LANES].market(lane % LANES)]
    }

    /// Returns the bar of the valuation of a lane.
    #[must_use]
    pub fn bar(&self, lane: usize) -> usize {
        self.accounts.bar(lane)
    }

    /// Returns the NAV of a lane.
    #[must_use]
    pub fn nav(&self, lane: usize) -> f64 {
        self.accounts.nav(lane)
    }

    /// Returns the cash of a lane.
    #[must_use]
    pub fn cash(&self, lane: usize) -> f64 {
        self.accounts.cash(lane)
    }

    /// Returns the shares that a lane holds of a symbol.
    #[must_use]
    pub fn shares(&self, lane: usize, symbol: usize) -> f64 {
        self.accounts.shares(lane, symbol)
    }

    /// Returns whether the episode of a lane has ended.
    #[must_use]
    pub fn is_done(&self, lane: usize) -> bool {
        self.groups[lane / LANES].is_done(lane % LANES)
    }

    /// Returns the NAV and the bar at the end of the previous episode of a lane.
    ///
    /// `None` if it did not end.
    #[must_use]
    pub fn ended(&self, lane: usize) -> Option<(f64, usize)> {
        self.episodes[lane].ended
    }

    /// Returns the figures of the last step of each lane, or none.
    ///
    /// Only a batch with [`Reward::Return`] has them.
    #[must_use]
    pub fn figures(&self) -> &[StepFigures] {
        &self.figures
    }

    /// Resets each lane of `mask`, or all lanes.
    ///
    /// With a seed, lane i starts the stream of `seed + i`.
    ///
    /// # Errors
    ///
    /// Returns an error, and resets nothing, if `mask` does not have one element per lane.
    pub fn reset(&mut self, seed: Option<u64>, mask: Option<&[bool]>) -> Result<(), BatchError> {
        if let Some(mask) = mask
            && mask.len() != self.episodes.len()
        {
            return Err(length("reset_mask", self.episodes.len(), mask.len()));
        }
        let memory = &mut self.threads[0].book;
        let episodes = self.episodes.iter_mut().enumerate();
        for (i, episode) in episodes.filter(|(i, _)| mask.is_none_or(|mask| mask[*i])) {
            if let Some(seed) = seed {
                episode.seed(seed.wrapping_add(i as u64));
            }
            let (group, place) = (&mut self.groups[i / LANES], i % LANES);
            let now = (self.accounts.nav(i), self.accounts.bar(i));
            let window = group.begin(place, episode, now, (&self.settings, &self.rules));
            self.accounts.restart(i, self.markets[group.market(place)].data(), window.start, memory);
        }
        Ok(())
    }

    /// Writes the observation of every lane.
    ///
    /// # Errors
    ///
    /// Returns an error, and writes nothing, if an array has the wrong length.
    pub fn observe(&self, mut seen: ObservationArrays<'_>) -> Result<(), BatchError> {
        self.check_seen(&seen)?;
        let mut memory = self.threads[0].book.clone();
        for i in 0..self.n_lanes() {
            let market = self.market(i);
            let held = self.accounts.held(i, market.data(), &mut memory);
            seen.write(i, held, market, self.settings.lookback);
        }
        Ok(())
    }

    /// Reads the actions of the next step: one weight per lane and symbol.
    ///
    /// An action with `hold` set is ignored.
    ///
    /// # Errors
    ///
    /// Returns an error, and blocks the next step, if an array has the wrong length, a weight is not finite, or the
    /// episode of a lane has ended and autoreset is disabled.
    pub fn accept<T: Copy + Into<f64>>(&mut self, actions: &[T], hold: Option<&[bool]>) -> Result<(), BatchError> {
        let (n_lanes, n_symbols) = (self.episodes.len(), self.n_symbols());
        if actions.len() != n_lanes * n_symbols {
            return Err(length("actions", n_lanes * n_symbols, actions.len()));
        }
        if let Some(hold) = hold
            && hold.len() != actions.len()
        {
            return Err(length("hold", actions.len(), hold.len()));
        }
        let stride = BlockOrders::stride(n_symbols);
        let orders = &mut self.orders[..n_lanes * stride];
        if !widen_rows(actions, n_symbols, orders, stride, &self.threads[0].workspace) {
            let index = actions.iter().position(|weight| !(*weight).into().is_finite()).unwrap_or(0);
            let (lane, symbol) = (index / n_symbols, index % n_symbols);
            return Err(BatchError::Weight { lane, symbol, weight: actions[index].into() });
        }
        for (index, _) in hold.unwrap_or(&[]).iter().enumerate().filter(|(_, hold)| **hold) {
            self.orders[index / n_symbols * stride + index % n_symbols] = f64::NAN;
        }
        if self.settings.autoreset == Autoreset::Disabled
            && let Some(lane) = (0..n_lanes).find(|lane| self.is_done(*lane))
        {
            return Err(BatchError::Lane { lane, source: StepError::EpisodeOver });
        }
        // A lane with an ended episode takes no decision.
        if self.accounts.overflow() {
            for lane in (0..n_lanes).filter(|lane| !self.is_done(*lane)) {
                self.accounts.check_nav(lane).map_err(|source| BatchError::Lane { lane, source })?;
            }
        }
        Ok(())
    }

    /// Steps all lanes with the actions read before, and writes the results.
    ///
    /// `last` receives the final observation of each lane that this step resets, and nothing else.
    ///
    /// # Errors
    ///
    /// Returns an error, and has moved no lane, if an array has the wrong length.
    pub fn step(
        &mut self,
        seen: ObservationArrays<'_>,
        last: Option<ObservationArrays<'_>>,
        outcome: Outcome<'_>,
    ) -> Result<(), BatchError> {
        self.check_seen(&seen)?;
        if let Some(last) = &last {
            self.check_seen(last)?;
        }
        if let Some((name, received, expected)) = outcome.wrong_length(self.episodes.len()) {
            return Err(length(name, expected, received));
        }
        let (n_lanes, first_lane) = (self.n_lanes(), 0);
        let uses_streaming = match &seen {
            ObservationArrays::Flat(flat) => flat.len() >= self.settings.streaming_len,
            // With few symbols the new numbers are shorter than a cache line.
            ObservationArrays::Sliding(sliding) => {
                self.n_symbols() > LANES && sliding.len() >= self.settings.streaming_len
            }
            _ => false,
        };
        let n_worth = (n_lanes * self.n_symbols() / self.settings.cells_a_thread.max(1)).clamp(1, self.threads.len());
        let mut rest = ThreadShare {
            markets: &self.markets,
            rules: &self.rules,
            settings: &self.settings,
            groups: &mut self.groups,
            episodes: &mut self.episodes,
            accounts: self.accounts.as_mut(),
            orders: &mut self.orders,
            brackets: Brackets { distances: &self.brackets, n_symbols: self.markets[0].data().n_symbols() },
            seen,
            uses_streaming,
            streaming: None,
            last,
            outcome,
            figures: &mut self.figures,
            records: &mut self.records,
            first_lane,
        };
        if n_worth == 1 {
            return rest.advance(&mut self.threads[0]);
        }
        share_out(rest, n_worth, &mut self.threads, &mut self.pool)
    }

    fn check_seen(&self, seen: &ObservationArrays<'_>) -> Result<(), BatchError> {
        // A lane that changed its market would keep bars of the market before.
        if let ObservationArrays::Sliding(sliding) = seen
            && !(sliding.is_of(self.id) && self.settings.episode_markets == EpisodeMarkets::Fixed)
        {
            return Err(BatchError::Setting {
                name: "observations",
                range: "sliding observations of this batch, with one market per lane",
                value: "others".to_owned(),
            });
        }
        match seen.wrong_length(self.episodes.len(), &self.markets[0], self.settings.lookback) {
            Some((name, received, expected)) => Err(length(name, expected, received)),
            None => Ok(()),
        }
    }
}

impl SlidingArray {
    /// Returns the state of an array that was never written.
    #[must_use]
    pub fn new(batch: &Batch) -> Self {
        Self::unwritten(batch.id, batch.settings.lookback, &batch.markets[0], batch.n_lanes())
    }
}
