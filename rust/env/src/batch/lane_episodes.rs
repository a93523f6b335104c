use openoutcry_engine::lane_sums::LANES;
use openoutcry_engine::{BlockTerms, LaneTerms, Rules, Window};

use crate::batch::batch_settings::Settings;
use crate::episode::episode_windows::{EpisodeMarkets, EpisodeStream, EpisodeWindows};
use crate::episode::reward::PaidBlock;
use crate::episode::reward_state::RewardState;

/// Episode state of at most eight lanes; bit k of a mask is lane k.
#[derive(Clone, Debug)]
pub(crate) struct LaneGroup {
    /// The bar of truncation of each episode.
    lasts: [usize; LANES],
    markets: [usize; LANES],
    rules: [usize; LANES],
    /// Sums of the rewards of the episodes, for schemes without another state.
    pub(crate) paid: PaidBlock,
    terminated: u8,
    truncated: u8,
    /// The lanes that exist.
    pub(crate) all: u8,
    /// The lanes with the market of the first lane.
    pub(crate) same_market: u8,
    /// The terms of the lanes, if they differ.
    lane_terms: Option<Box<LaneTerms>>,
}

/// The state of a lane that is used only when an episode begins or ends.
#[derive(Clone, Debug)]
pub(crate) struct LaneEpisode {
    pub(super) stream: EpisodeStream,
    pub(crate) memory: RewardState,
    /// Market of the previous episode.
    pub(super) last_market: usize,
    /// Market of the next episode, if the caller sets it.
    pub(super) next_market: usize,
    /// NAV and bar at the end of the previous episode.
    pub(crate) ended: Option<(f64, usize)>,
}

/// The numbers of a lane in its group, for saved states.
#[derive(Clone, Copy, Debug)]
pub(super) struct LanePlace {
    /// The bar of truncation.
    pub(super) last: usize,
    pub(super) paid: f64,
    pub(super) terminated: bool,
    pub(super) truncated: bool,
}

/// The outcome of a step of a lane.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LaneOutcome {
    pub(crate) reward: f64,
    pub(crate) terminated: bool,
    pub(crate) truncated: bool,
    /// Whether the step was a reset without a trade.
    pub(crate) reset: bool,
}

impl LaneOutcome {
    /// Returns the outcome of a step with no termination and no reset.
    #[inline]
    pub(crate) fn fast(reward: f64, truncated: bool) -> Self {
        Self { reward, truncated, ..Self::default() }
    }
}

impl LaneGroup {
    /// Returns lanes with these markets and rules, by index.
    ///
    /// Their first episodes have not begun. `changes` is whether episodes may have other markets.
    pub(crate) fn new(members: &[(usize, usize)], rules: &[Rules], changes: bool) -> Self {
        let (first, mut same_market) = (members[0], 0);
        for (place, (market, _)) in members.iter().enumerate() {
            same_market |= u8::from(*market == first.0) << place;
        }
        let of = |place: usize| members.get(place).copied().unwrap_or(first);
        Self {
            lasts: [0; LANES],
            markets: std::array::from_fn(|place| of(place).0),
            rules: std::array::from_fn(|place| of(place).1),
            paid: [0.0; LANES],
            terminated: 0,
            truncated: 0,
            all: u8::MAX >> (LANES - members.len()),
            same_market,
            lane_terms: (changes || !members.iter().all(|member| member.1 == first.1))
                .then(|| Box::new(LaneTerms::new(&std::array::from_fn(|place| &rules[of(place).1])))),
        }
    }

    /// Returns the index of a lane's market.
    #[inline]
    pub(crate) fn market(&self, place: usize) -> usize {
        self.markets[place]
    }

    /// Returns the index of a lane's rules.
    #[inline]
    pub(crate) fn rules(&self, place: usize) -> usize {
        self.rules[place]
    }

    /// Returns the rules of all lanes.
    #[inline]
    pub(crate) fn terms<'a>(&'a self, rules: &'a [Rules]) -> BlockTerms<'a> {
        self.lane_terms
            .as_ref()
            .map_or_else(|| BlockTerms::all(&rules[self.rules[0]]), |lane_terms| BlockTerms::each(lane_terms))
    }

    /// Returns the lanes with an ended episode.
    #[inline]
    pub(crate) fn done(&self) -> u8 {
        self.terminated | self.truncated
    }

    /// Returns whether the episode of a lane has ended.
    #[inline]
    pub(crate) fn is_done(&self, place: usize) -> bool {
        self.done() >> place & 1 == 1
    }

    /// Returns the numbers of a lane.
    pub(super) fn lane(&self, place: usize) -> LanePlace {
        LanePlace {
            last: self.lasts[place],
            paid: self.paid[place],
            terminated: self.terminated >> place & 1 == 1,
            truncated: self.truncated >> place & 1 == 1,
        }
    }

    /// Restores the numbers of a lane.
    pub(super) fn set_lane(&mut self, place: usize, lane: LanePlace) {
        (self.lasts[place], self.paid[place]) = (lane.last, lane.paid);
        for (flags, is_set) in [(&mut self.terminated, lane.terminated), (&mut self.truncated, lane.truncated)] {
            *flags = *flags & !(1 << place) | u8::from(is_set) << place;
        }
    }

    /// Begins the next episode of a lane, terms NAV and bar are `now`.
    ///
    /// Returns the window of the episode.
    pub(crate) fn begin(
        &mut self,
        place: usize,
        episode: &mut LaneEpisode,
        now: (f64, usize),
        (settings, rules): (&Settings, &[Rules]),
    ) -> Window {
        let ended = self.is_done(place).then_some(now);
        let n_markets = settings.windows.len();
        episode.last_market = self.markets[place];
        if let Some(market) = episode.market(settings) {
            self.move_to(place, market, n_markets, rules);
        }
        let window = episode.next(&settings.windows[self.markets[place]], ended);
        self.lasts[place] = window.start.saturating_add(settings.max_episode_steps).min(window.end - 1);
        self.paid[place] = 0.0;
        self.terminated &= !(1 << place);
        self.truncated &= !(1 << place);
        window
    }

    /// Moves a lane to another market; its rules are those of its terms there.
    pub(super) fn move_to(&mut self, place: usize, market: usize, n_markets: usize, rules: &[Rules]) {
        self.markets[place] = market;
        self.rules[place] = self.rules[place] / n_markets * n_markets + market;
        self.same_market = 0;
        for other in (0..LANES).filter(|other| self.all >> other & 1 == 1) {
            self.same_market |= u8::from(self.markets[other] == self.markets[0]) << other;
        }
        if let Some(lane_terms) = &mut self.lane_terms {
            **lane_terms = LaneTerms::new(&std::array::from_fn(|place| &rules[self.rules[place]]));
        }
    }

    /// Updates lanes that moved to their bars.
    ///
    /// Returns the lanes that are truncated there.
    #[inline]
    pub(crate) fn close_all(&mut self, stepped: u8, bars: &[usize; LANES]) -> u8 {
        let mut at_last = 0;
        for (place, (bar, last)) in bars.iter().zip(&self.lasts).enumerate() {
            at_last |= u8::from(bar == last) << place;
        }
        self.truncated |= at_last & stepped;
        at_last & stepped
    }

    /// Updates a lane that moved to `bar` with `reward`.
    #[inline]
    pub(crate) fn close(&mut self, place: usize, bar: usize, reward: f64, terminated: bool) -> LaneOutcome {
        let truncated = bar == self.lasts[place];
        self.terminated |= u8::from(terminated) << place;
        self.truncated |= u8::from(truncated) << place;
        LaneOutcome { reward, terminated, truncated, reset: false }
    }
}

impl LaneEpisode {
    pub(crate) fn new(seed: u64) -> Self {
        Self {
            stream: EpisodeStream::new(seed),
            memory: RewardState::default(),
            last_market: 0,
            next_market: 0,
            ended: None,
        }
    }

    /// Starts the stream of another seed; its first episode has not begun.
    pub(crate) fn seed(&mut self, seed: u64) {
        self.stream = EpisodeStream::new(seed);
    }

    /// Returns the market of the next episode; `None` for that of the lane.
    fn market(&self, settings: &Settings) -> Option<usize> {
        if settings.episode_markets == EpisodeMarkets::Given {
            return Some(self.next_market);
        }
        let (seed, k) = self.stream.place();
        settings.episode_markets.draw(seed, k, settings.windows.len())
    }

    fn next(&mut self, windows: &EpisodeWindows, ended: Option<(f64, usize)>) -> Window {
        (self.ended, self.memory) = (ended, RewardState::default());
        self.stream.next(windows)
    }
}
