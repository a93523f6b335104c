//! Saved lanes, records of their steps, and seeds of single lanes.

use openoutcry_engine::lane_sums::LANES;
use openoutcry_engine::{Detail, Workspace};

use crate::batch::lane_batch::Batch;
use crate::batch::lane_episodes::{LaneEpisode, LanePlace};
use crate::episode::episode_windows::EpisodeStream;
use crate::episode::saved_words::{SavedWords, WordReader};
use crate::episode::step_record::StepRecord;

/// The layout of the bytes of saved lanes.
const FORMAT: [u8; 8] = *b"oolanes1";

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

    /// Starts the stream of each seed, one per lane; the next reset begins its first episode.
    ///
    /// # Panics
    ///
    /// Panics if there are more seeds than lanes.
    pub fn seed_lanes(&mut self, seeds: &[Option<u64>]) {
        for (lane, seed) in seeds.iter().enumerate() {
            if let Some(seed) = seed {
                self.episodes[lane].seed(*seed);
            }
        }
    }

    /// Returns the accounts and episodes of all lanes as bytes, without markets, rules and settings.
    pub fn save(&mut self) -> Vec<u8> {
        let mut words = SavedWords::new(FORMAT);
        words.size(self.n_lanes());
        let mut book = self.threads[0].book.clone();
        for i in 0..self.n_lanes() {
            let (group, place) = (&self.groups[i / LANES], i % LANES);
            let LanePlace { last, paid, terminated, truncated } = group.lane(place);
            let LaneEpisode { stream, memory, ended } = &self.episodes[i];
            let (seed, next) = stream.place();
            self.accounts.take(i, self.markets[group.market(place)].data(), &mut book);
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
        for (i, (place, episode, book)) in lanes.into_iter().enumerate() {
            self.groups[i / LANES].set_lane(i % LANES, place);
            self.accounts.put(i, &book);
            self.episodes[i] = episode;
        }
        true
    }

    fn read(&self, bytes: &[u8]) -> Option<Vec<(LanePlace, LaneEpisode, openoutcry_engine::Book)>> {
        let mut words = WordReader::new(FORMAT, bytes)?;
        if words.size()? != self.n_lanes() {
            return None;
        }
        let mut lanes = Vec::with_capacity(self.n_lanes());
        for i in 0..self.n_lanes() {
            let n_bars = self.market(i).data().n_bars();
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
            let is_within = book.bar() <= place.last && place.last < n_bars && ended.1 < n_bars;
            if !is_within || book.n_symbols() != self.n_symbols() {
                return None;
            }
            lanes.push((place, LaneEpisode { stream, memory, ended: has_ended.then_some(ended) }, book));
        }
        words.is_at_end().then_some(lanes)
    }
}
