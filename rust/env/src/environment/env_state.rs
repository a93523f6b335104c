use std::sync::Arc;

use openoutcry_engine::{Book, CostModel, Dataset, Limits, Rules, Window};
use sha2::{Digest, Sha256};

use crate::episode::reward::Shaping;
use crate::episode::reward_state::RewardState;
use crate::episode::saved_words::{SavedWords, WordReader};

/// The layout of the bytes of a checkpoint.
const FORMAT: [u8; 8] = *b"oostate1";

/// A checkpoint. An environment resumed from it gives the same bits.
#[derive(Clone, Debug)]
pub struct State {
    pub(super) owner: StateOwner,
    pub(super) book: Book,
    pub(super) terminated: bool,
    pub(super) memory: RewardState,
    pub(super) window: Window,
}

/// Market and rules of a checkpoint, or their digests if it was read from bytes.
#[derive(Clone, Debug)]
pub(super) enum StateOwner {
    Held(Arc<Dataset>, Box<Rules>, Shaping),
    Digests { market: [u8; 32], rules: [u8; 32] },
}

impl StateOwner {
    /// Returns whether two checkpoints have equal markets, rules and rewards.
    ///
    /// Only datasets loaded twice need their fingerprints.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Held(a, rules, shaping), Self::Held(b, others, other_shaping)) => {
                (rules, shaping) == (others, other_shaping) && (Arc::ptr_eq(a, b) || a.fingerprint() == b.fingerprint())
            }
            _ => self.digests() == other.digests(),
        }
    }

    fn digests(&self) -> [[u8; 32]; 2] {
        match self {
            Self::Held(market, rules, shaping) => [market.fingerprint(), digest_of(rules, shaping)],
            Self::Digests { market, rules } => [*market, *rules],
        }
    }
}

/// Returns the SHA-256 of rules, reward and no-trade band.
///
/// It has the commitment to the fill key instead of the key.
fn digest_of(rules: &Rules, shaping: &Shaping) -> [u8; 32] {
    let CostModel {
        fee_bps,
        slippage_bps,
        slippage_jitter,
        impact_bps,
        stop_gap,
        financing_bps,
        cash_bps,
        borrow_bps,
        capital,
    } = *rules.costs();
    let Limits { max_weight, max_gross, allow_short, max_participation, maintenance_margin, cash_account } =
        *rules.limits();
    let costs = [fee_bps, slippage_bps, slippage_jitter, impact_bps, financing_bps, cash_bps, borrow_bps, capital];
    let limits = [max_weight, max_gross, maintenance_margin, max_participation.unwrap_or(f64::NAN)];
    let mut hash = Sha256::new();
    hash.update(b"openoutcry/state-rules/v2\0");
    hash.update(rules.fill_key().commitment());
    hash.update([u8::from(allow_short), u8::from(max_participation.is_some())]);
    for number in costs.into_iter().chain(limits) {
        // Equal zeros have one digest.
        hash.update((number + 0.0).to_le_bytes());
    }
    // Absent without effect, so that the checkpoints of other rules keep their digests.
    if stop_gap != 0.0 || cash_account {
        hash.update(b"stop-gap");
        hash.update(stop_gap.to_le_bytes());
        hash.update([u8::from(cash_account)]);
    }
    // The memory of a reward is that of its scheme. Numbers are in their shortest form.
    hash.update(format!("{shaping:?}"));
    hash.finalize().into()
}

impl PartialEq for State {
    fn eq(&self, other: &Self) -> bool {
        self.book == other.book
            && self.terminated == other.terminated
            && self.memory == other.memory
            && self.window == other.window
            && self.owner.is_same(&other.owner)
    }
}

impl State {
    /// Returns the bar of the checkpoint.
    #[must_use]
    pub fn bar(&self) -> usize {
        self.book.bar()
    }

    /// Returns the NAV of the checkpoint.
    #[must_use]
    pub fn nav(&self) -> f64 {
        self.book.nav()
    }

    /// Returns the window of the episode.
    #[must_use]
    pub fn window(&self) -> Window {
        self.window
    }

    /// Returns the checkpoint as bytes, with digests of the market and the rules.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut words = SavedWords::new(FORMAT);
        for digest in self.owner.digests() {
            words.digest(&digest);
        }
        words.size(self.window.start);
        words.size(self.window.end);
        words.integer(self.terminated.into());
        words.book(&self.book);
        words.reward_state(&self.memory);
        words.into_bytes()
    }

    /// Returns the checkpoint of [`State::to_bytes`], or `None` for other bytes.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let mut words = WordReader::new(FORMAT, bytes)?;
        let owner = StateOwner::Digests { market: words.digest()?, rules: words.digest()? };
        let window = Window { start: words.size()?, end: words.size()? };
        let (terminated, book, memory) = (words.flag()?, words.book()?, words.reward_state()?);
        let is_whole = words.is_at_end() && (window.start..window.end).contains(&book.bar());
        is_whole.then_some(Self { owner, book, terminated, memory, window })
    }
}
