use openoutcry_engine::{Book, Desk, Rules, StepError, Window, step_once};

use crate::batch::market::Market;
use crate::batch::settings::{Autoreset, Settings};
use crate::episode::hold_within;
use crate::episodes::{Stream, Windows};
use crate::reward::Memory;

/// One account of a batch and the episode it is in.
#[derive(Clone, Debug)]
pub(crate) struct Lane {
    pub(crate) book: Book,
    pub(crate) window: Window,
    /// Index of its market, and of its rules.
    pub(crate) market: usize,
    pub(crate) rules: usize,
    pub(crate) terminated: bool,
    pub(crate) truncated: bool,
    /// Decisions taken in the episode.
    n_steps: usize,
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
    pub(crate) fn new(market: &Market, windows: &Windows, place: (usize, usize), seed: u64) -> Self {
        let mut stream = Stream::new(seed);
        let window = stream.next(windows);
        Self {
            book: Book::new(market.data(), window.start),
            window,
            market: place.0,
            rules: place.1,
            terminated: false,
            truncated: false,
            n_steps: 0,
            stream,
            memory: Memory::default(),
            ended: None,
        }
    }

    pub(crate) fn is_done(&self) -> bool {
        self.terminated || self.truncated
    }

    /// Begins the stream of another seed; its first episode is still to come.
    pub(crate) fn seed(&mut self, seed: u64) {
        self.stream = Stream::new(seed);
    }

    /// Begins the next episode of the stream.
    pub(crate) fn begin(&mut self, market: &Market, windows: &Windows) {
        self.ended = self.is_done().then(|| (self.book.nav(), self.book.bar()));
        self.window = self.stream.next(windows);
        self.book.restart(market.data(), self.window.start);
        (self.terminated, self.truncated) = (false, false);
        (self.n_steps, self.memory) = (0, Memory::default());
    }

    /// Trades to `orders`, or begins an episode.
    ///
    /// The latter where the last one is over and a step does that.
    #[inline]
    pub(crate) fn advance(
        &mut self,
        market: &Market,
        rules: &Rules,
        settings: &Settings,
        orders: &mut [f64],
        desk: &mut Desk,
    ) -> Result<Told, StepError> {
        if self.is_done() {
            if settings.autoreset != Autoreset::NextStep {
                return Err(StepError::EpisodeOver);
            }
            self.begin(market, &settings.windows[self.market]);
            return Ok(Told { reset: true, ..Told::default() });
        }
        hold_within(settings.no_trade_band, &self.book, orders);
        let stepped = step_once(market.data(), rules, &mut self.book, orders, desk)?;
        let reward = settings.reward.of(&stepped, &mut self.memory);
        Ok(self.close(reward, stepped.terminated, settings))
    }

    /// Takes over that the account was stepped, which was worth `reward`.
    #[inline]
    pub(crate) fn close(&mut self, reward: f64, terminated: bool, settings: &Settings) -> Told {
        self.n_steps += 1;
        self.terminated = terminated;
        self.truncated = self.book.bar() + 1 == self.window.end || self.n_steps == settings.max_episode_steps;
        Told { reward, terminated: self.terminated, truncated: self.truncated, reset: false }
    }
}
