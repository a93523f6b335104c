//! Saved lanes, records of their steps, and seeds of single lanes.

use openoutcry_engine::lane_sums::LANES;
use openoutcry_engine::{Detail, Workspace};

use crate::batch::batch_settings::BatchError;
use crate::batch::lane_batch::Batch;
use crate::batch::lane_episodes::{LaneEpisode, LanePlace};
use crate::episode::episode_windows::{EpisodeMarkets, EpisodeStream};
use crate::episode::saved_words::{SavedWords, WordReader};
use crate::episode::step_record::StepRecord;

/// Market, place in the group, episode and account of a lane.
type SavedLane = (usize, LanePlace, LaneEpisode, openoutcry_engine::Book);

/// The layout of the bytes of saved lanes.
const FORMAT: [u8; 8] = *b"oolanes2";

impl Batch {
    /// Returns this batch with [`StepRecord`]s of its steps.
    ///
    /// The lanes are then stepped one by one, with the same numbers.
    #[must_use]
    pub fn with_records(mut self) -> Self {
        self.records = vec![StepRecord::default(); self.n_lanes()];
        for thread in &mut self.threads {
            thread.workspace = Workspace::new(self.markets[0].data().n_symbols(), Detail::Full);
        }
        self
    }

    /// Returns the records of the last step of each lane; none unless they are kept.
    #[must_use]
    pub fn records(&self) -> &[StepRecord] {
        &self.records
    }

    /// Sets the seed of each lane, and the index of its next episode.
    ///
    /// # Panics
    ///
    /// Panics if there are more streams than lanes.
    pub fn set_streams(&mut self, streams: &[(u64, u64)]) {
        for (episode, (seed, next)) in self.episodes[..streams.len()].iter_mut().zip(streams) {
            episode.stream = EpisodeStream::at(*seed, *next);
        }
    }

    /// Returns the market of the previous episode of a lane.
    #[must_use]
    pub fn last_market(&self, lane: usize) -> usize {
        self.episodes[lane].last_market
    }

    /// Returns the seed of a lane, and the index of its next episode.
    #[must_use]
    pub fn stream(&self, lane: usize) -> (u64, u64) {
        self.episodes[lane].stream.place()
    }

    /// Sets the markets of the next episodes of lanes, for [`EpisodeMarkets::Given`].
    ///
    /// # Errors
    ///
    /// Returns an error, and sets none, if a lane or a market does not exist.
    pub fn set_next_markets(&mut self, lanes: &[(usize, usize)]) -> Result<(), BatchError> {
        let is_wrong = |(lane, market): &&(usize, usize)| *lane >= self.n_lanes() || *market >= self.markets.len();
        if let Some((_, market)) = lanes.iter().find(is_wrong) {
            let (name, range) = ("datasets", "the index of a dataset");
            return Err(BatchError::Setting { name, range, value: market.to_string() });
        }
        for (lane, market) in lanes {
            self.episodes[*lane].next_market = *market;
        }
        Ok(())
    }

    /// Returns the accounts and episodes of all lanes as bytes.
    ///
    /// They have no markets, rules and settings.
    pub fn save(&mut self) -> Vec<u8> {
        let mut words = SavedWords::new(FORMAT);
        words.size(self.n_lanes());
        let mut book = self.threads[0].book.clone();
        for i in 0..self.n_lanes() {
            let (group, place) = (&self.groups[i / LANES], i % LANES);
            let LanePlace { last, paid, terminated, truncated } = group.lane(place);
            let LaneEpisode { stream, memory, last_market, next_market, ended } = &self.episodes[i];
            let (seed, next) = stream.place();
            self.accounts.take(i, self.markets[group.market(place)].data(), &mut book);
            words.size(group.market(place));
            words.size(*last_market);
            words.size(*next_market);
            words.size(last);
            words.number(paid);
            words.integer(terminated.into());
            words.integer(truncated.into());
            words.integer(seed);
            words.integer(next);
            words.integer(ended.is_some().into());
            let (nav, bar) = ended.unwrap_or_default();
            words.number(nav);
            words.size(bar);
            words.reward_state(memory);
            words.book(&book);
        }
        words.into_bytes()
    }

    /// Restores the lanes of [`Batch::save`] of a batch with the same markets.
    ///
    /// Returns whether the bytes are those of such lanes; otherwise nothing changes.
    #[must_use]
    pub fn restore(&mut self, bytes: &[u8]) -> bool {
        let Some(lanes) = self.read(bytes) else { return false };
        for (i, (market, place, episode, book)) in lanes.into_iter().enumerate() {
            let group = &mut self.groups[i / LANES];
            group.set_lane(i % LANES, place);
            if group.market(i % LANES) != market {
                group.move_to(i % LANES, market, self.markets.len(), &self.rules);
            }
            self.accounts.put(i, &book);
            self.episodes[i] = episode;
        }
        true
    }

    fn read(&self, bytes: &[u8]) -> Option<Vec<SavedLane>> {
        let mut words = WordReader::new(FORMAT, bytes)?;
        if words.size()? != self.n_lanes() {
            return None;
        }
        let mut lanes = Vec::with_capacity(self.n_lanes());
        for i in 0..self.n_lanes() {
            let [market, last_market, next_market] = [words.size()?, words.size()?, words.size()?];
            let is_fixed = self.settings().episode_markets == EpisodeMarkets::Fixed;
            if is_fixed && market != self.market_index(i)
                || [market, last_market, next_market].iter().max()? >= &self.markets.len()
            {
                return None;
            }
            let n_bars = self.markets[market].data().n_bars();
            let last_bars = self.markets[last_market].data().n_bars();
            let place = LanePlace {
                last: words.size()?,
                paid: words.number()?,
                terminated: words.flag()?,
                truncated: words.flag()?,
            };
            let stream = EpisodeStream::at(words.integer()?, words.integer()?);
            let has_ended = words.flag()?;
            let ended = (words.number()?, words.size()?);
            let memory = words.reward_state()?;
            let book = words.book()?;
            let is_within = book.bar() <= place.last && place.last < n_bars && ended.1 < last_bars;
            if !is_within || book.n_symbols() != self.n_symbols() {
                return None;
            }
            let ended = has_ended.then_some(ended);
            lanes.push((market, place, LaneEpisode { stream, memory, last_market, next_market, ended }, book));
        }
        words.is_at_end().then_some(lanes)
    }
}
