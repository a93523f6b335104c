use openoutcry_engine::Book;

use crate::batch::lane_episodes::{LaneEpisode, LaneGroup};

/// A lane and its account.
pub(super) struct SteppedLane<'p> {
    /// Its index, and its place in the block.
    pub(super) i: usize,
    pub(super) place: usize,
    pub(super) group: &'p mut LaneGroup,
    pub(super) episode: &'p mut LaneEpisode,
    pub(super) book: &'p mut Book,
}
