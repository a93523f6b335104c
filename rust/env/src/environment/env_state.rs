use std::sync::Arc;

use openoutcry_engine::{Book, Dataset, Rules, Window};

use crate::episode::reward_state::RewardState;

/// A checkpoint. An environment resumed from it gives the same bits.
#[derive(Clone, Debug)]
pub struct State {
    pub(super) data: Arc<Dataset>,
    pub(super) book: Book,
    pub(super) terminated: bool,
    pub(super) memory: RewardState,
    pub(super) window: Window,
    pub(super) rules: Rules,
}

impl PartialEq for State {
    fn eq(&self, other: &Self) -> bool {
        self.book == other.book
            && self.terminated == other.terminated
            && self.memory == other.memory
            && self.window == other.window
            && self.rules == other.rules
            && is_same(&self.data, &other.data)
    }
}

/// Returns whether two datasets are the same or equal.
///
/// Only datasets loaded twice need their fingerprints.
pub(super) fn is_same(a: &Arc<Dataset>, b: &Arc<Dataset>) -> bool {
    Arc::ptr_eq(a, b) || a.fingerprint() == b.fingerprint()
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
}
