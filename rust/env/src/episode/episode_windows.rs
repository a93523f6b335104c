//! The window of each episode.
//!
//! It is a function of the seed of the stream and the index of the episode.

use openoutcry_engine::{ConfigError, Window};
use sha2::{Digest, Sha256};

/// The distribution of episode windows.
#[derive(Clone, Debug, PartialEq)]
pub enum EpisodeWindows {
    /// The same window for every episode.
    Fixed(Window),
    /// A random window within a range for every episode.
    Random {
        /// The bars that episodes may use.
        range: Window,
        /// Bars per episode.
        n_bars: usize,
        /// Key domain: streams of different splits share no draw at any seed.
        split: String,
    },
}

impl EpisodeWindows {
    /// Checks that the windows lie in the data and each holds a decision.
    ///
    /// # Errors
    ///
    /// Returns an error if they do not.
    pub fn validate(&self, data_bars: usize) -> Result<(), ConfigError> {
        match self {
            Self::Fixed(window) => window.validate(data_bars),
            Self::Random { range, n_bars, .. } => {
                range.validate(data_bars)?;
                let first = Window { start: range.start, end: range.start.saturating_add(*n_bars) };
                first.validate(range.end)
            }
        }
    }

    /// Returns the window of episode `k` of the stream of `seed`.
    ///
    /// # Panics
    ///
    /// Panics if the windows were not validated.
    #[must_use]
    #[expect(clippy::cast_possible_truncation, reason = "below the number of starts")]
    pub fn draw(&self, seed: u64, k: u64) -> Window {
        match self {
            Self::Fixed(window) => *window,
            Self::Random { range, n_bars, split } => {
                let starts = (range.n_bars() - n_bars + 1) as u128;
                // The high word of the product maps the draw to the starts with a bias below 2^-40.
                let place = ((u128::from(draw(b"openoutcry/episode/v1\0", split, seed, k)) * starts) >> 64) as usize;
                let start = range.start + place;
                Window { start, end: start + n_bars }
            }
        }
    }
}

/// The market of each episode, among several.
///
/// It is a function of the seed of the stream and the index of the episode, unless the caller sets it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum EpisodeMarkets {
    /// Every lane keeps its market.
    #[default]
    Fixed,
    /// One after the other, from the seed on.
    Cycle,
    /// A random market for every episode.
    Random {
        /// Key domain, as that of random windows.
        split: String,
    },
    /// The caller sets the market of the next episode.
    Given,
}

impl EpisodeMarkets {
    /// Returns the market of episode `k` of the stream of `seed`, among `n`.
    ///
    /// `None` if it does not follow from them.
    #[must_use]
    #[expect(clippy::cast_possible_truncation, reason = "below the number of markets")]
    pub fn draw(&self, seed: u64, k: u64, n: usize) -> Option<usize> {
        match self {
            Self::Fixed | Self::Given => None,
            Self::Cycle => Some((seed.wrapping_add(k) % n as u64) as usize),
            Self::Random { split } => {
                let place = u128::from(draw(b"openoutcry/market/v1\0", split, seed, k)) * n as u128;
                Some((place >> 64) as usize)
            }
        }
    }
}

/// Returns 64 bits of the SHA-256 of domain, split, seed and episode.
fn draw(domain: &[u8], split: &str, seed: u64, k: u64) -> u64 {
    let mut hash = Sha256::new();
    hash.update(domain);
    hash.update(split.as_bytes());
    hash.update(b"\0");
    hash.update(seed.to_le_bytes());
    hash.update(k.to_le_bytes());
    let digest: [u8; 32] = hash.finalize().into();
    let mut word = [0; 8];
    word.copy_from_slice(&digest[..8]);
    u64::from_le_bytes(word)
}

/// A stream of episode windows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EpisodeStream {
    seed: u64,
    next: u64,
}

impl EpisodeStream {
    /// Returns the stream of a seed at its first episode.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self { seed, next: 0 }
    }

    /// Returns the stream of a seed at episode `next`.
    #[must_use]
    pub fn at(seed: u64, next: u64) -> Self {
        Self { seed, next }
    }

    /// Returns the seed, and the index of the next episode.
    #[must_use]
    pub fn place(self) -> (u64, u64) {
        (self.seed, self.next)
    }

    /// Returns the window of the next episode and advances.
    pub fn next(&mut self, windows: &EpisodeWindows) -> Window {
        let window = windows.draw(self.seed, self.next);
        self.next += 1;
        window
    }
}
