use openoutcry_engine::Window;

use crate::batch::settings::Settings;
use crate::episodes::{Stream, Windows};
use crate::reward::Memory;

/// What every step of a lane looks at.
#[derive(Clone, Debug)]
pub(crate) struct Lane {
    /// The bar at which the episode is cut off.
    last: usize,
    /// Index of its market, and of its rules.
    pub(crate) market: usize,
    pub(crate) rules: usize,
    pub(crate) terminated: bool,
    pub(crate) truncated: bool,
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

impl Lane {
    /// Returns a lane whose first episode is still to begin.
    pub(crate) fn new(market: usize, rules: usize) -> Self {
        Self { last: 0, market, rules, terminated: false, truncated: false }
    }

    #[inline]
    pub(crate) fn is_done(&self) -> bool {
        self.terminated || self.truncated
    }

    /// Begins an episode in a window.
    pub(crate) fn begin(&mut self, window: Window, settings: &Settings) {
        self.last = window.start.saturating_add(settings.max_episode_steps).min(window.end - 1);
        (self.terminated, self.truncated) = (false, false);
    }

    /// Takes over that the account was carried to `bar`, which was worth `reward`.
    #[inline]
    pub(crate) fn close(&mut self, bar: usize, reward: f64, terminated: bool) -> Told {
        self.terminated = terminated;
        self.truncated = bar == self.last;
        Told { reward, terminated, truncated: self.truncated, reset: false }
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

    /// Returns the window of the next episode.
    ///
    /// `ended` is where the last one did.
    pub(crate) fn next(&mut self, windows: &Windows, ended: Option<(f64, usize)>) -> Window {
        (self.ended, self.memory) = (ended, Memory::default());
        self.stream.next(windows)
    }
}

/// Returns the next window of a lane, and where its last episode ended, if it did.
pub(crate) fn next_window(
    lane: &mut Lane,
    story: &mut Story,
    (nav, bar): (f64, usize),
    settings: &Settings,
) -> Window {
    let ended = lane.is_done().then_some((nav, bar));
    let window = story.next(&settings.windows[lane.market], ended);
    lane.begin(window, settings);
    window
}
