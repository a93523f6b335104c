use openoutcry_engine::lane_sums::LANES;
use openoutcry_engine::{BlockTerms, LaneTerms, Rules, Window};

use crate::batch::batch_settings::Settings;
use crate::episode::episode_windows::{Stream, Windows};
use crate::episode::reward::Memory;

/// What every step looks at of at most eight lanes; of a mask, bit k is lane k's.
#[derive(Clone, Debug)]
pub(crate) struct Crew {
    /// The bar at which each episode is cut off.
    lasts: [usize; LANES],
    markets: [usize; LANES],
    rules: [usize; LANES],
    terminated: u8,
    truncated: u8,
    /// The lanes that there are.
    pub(crate) all: u8,
    /// The lanes of the first one's market.
    pub(crate) kin: u8,
    /// The rules of all, where they differ.
    tariff: Option<Box<LaneTerms>>,
}

/// What is looked at only when an episode begins or ends.
#[derive(Clone, Debug)]
pub(crate) struct Story {
    stream: Stream,
    pub(crate) memory: Memory,
    /// NAV and bar at which the episode before this one ended.
    pub(crate) ended: Option<(f64, usize)>,
}

/// What a lane's step told.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Told {
    pub(crate) reward: f64,
    pub(crate) terminated: bool,
    pub(crate) truncated: bool,
    /// Whether the step began an episode instead of trading.
    pub(crate) reset: bool,
}

impl Told {
    /// Returns what is told of a step that ended nothing but by cutting off.
    #[inline]
    pub(crate) fn plain(reward: f64, truncated: bool) -> Self {
        Self { reward, truncated, ..Self::default() }
    }
}

impl Crew {
    /// Returns lanes of these markets and rules, by their index.
    ///
    /// Their first episodes are still to begin.
    pub(crate) fn new(members: &[(usize, usize)], rules: &[Rules]) -> Self {
        let (first, mut kin) = (members[0], 0);
        for (place, (market, _)) in members.iter().enumerate() {
            kin |= u8::from(*market == first.0) << place;
        }
        let of = |place: usize| members.get(place).copied().unwrap_or(first);
        Self {
            lasts: [0; LANES],
            markets: std::array::from_fn(|place| of(place).0),
            rules: std::array::from_fn(|place| of(place).1),
            terminated: 0,
            truncated: 0,
            all: u8::MAX >> (LANES - members.len()),
            kin,
            tariff: (!members.iter().all(|member| member.1 == first.1))
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
    pub(crate) fn whose<'a>(&'a self, rules: &'a [Rules]) -> BlockTerms<'a> {
        self.tariff.as_ref().map_or_else(|| BlockTerms::all(&rules[self.rules[0]]), |tariff| BlockTerms::each(tariff))
    }

    /// Returns the lanes whose episode is over.
    #[inline]
    pub(crate) fn done(&self) -> u8 {
        self.terminated | self.truncated
    }

    /// Returns whether the episode of a lane is over.
    #[inline]
    pub(crate) fn is_done(&self, place: usize) -> bool {
        self.done() >> place & 1 == 1
    }

    /// Begins the next episode of a lane, which was at `now`: its NAV and bar.
    ///
    /// Returns the window of the episode.
    pub(crate) fn begin(&mut self, place: usize, story: &mut Story, now: (f64, usize), settings: &Settings) -> Window {
        let ended = self.is_done(place).then_some(now);
        let window = story.next(&settings.windows[self.markets[place]], ended);
        self.lasts[place] = window.start.saturating_add(settings.max_episode_steps).min(window.end - 1);
        self.terminated &= !(1 << place);
        self.truncated &= !(1 << place);
        window
    }

    /// Takes over that lanes were carried to their bars.
    ///
    /// Returns which of them are cut off there.
    #[inline]
    pub(crate) fn close_all(&mut self, stepped: u8, bars: &[usize; LANES]) -> u8 {
        let mut at_last = 0;
        for (place, (bar, last)) in bars.iter().zip(&self.lasts).enumerate() {
            at_last |= u8::from(bar == last) << place;
        }
        self.truncated |= at_last & stepped;
        at_last & stepped
    }

    /// Takes over that a lane was carried to `bar`, which was worth `reward`.
    #[inline]
    pub(crate) fn close(&mut self, place: usize, bar: usize, reward: f64, terminated: bool) -> Told {
        let truncated = bar == self.lasts[place];
        self.terminated |= u8::from(terminated) << place;
        self.truncated |= u8::from(truncated) << place;
        Told { reward, terminated, truncated, reset: false }
    }
}

impl Story {
    pub(crate) fn new(seed: u64) -> Self {
        Self { stream: Stream::new(seed), memory: Memory::default(), ended: None }
    }

    /// Begins the stream of another seed; its first episode is still to come.
    pub(crate) fn seed(&mut self, seed: u64) {
        self.stream = Stream::new(seed);
    }

    fn next(&mut self, windows: &Windows, ended: Option<(f64, usize)>) -> Window {
        (self.ended, self.memory) = (ended, Memory::default());
        self.stream.next(windows)
    }
}
