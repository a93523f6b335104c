//! Rewards of the lanes of a batch.

use openoutcry_engine::lane_sums::LANES;
use openoutcry_engine::{BlockOutcome, RewardInputs, Stepped, Workspace};

use crate::batch::lane_episodes::{LaneEpisode, LaneGroup};
use crate::batch::stepped_lane::SteppedLane;
use crate::batch::thread_share::ThreadShare;
use crate::episode::reward::{self, Reward};
use crate::episode::reward_state::StepFigures;
use crate::episode::reward_terms::{log_reward, take_back};

impl ThreadShare<'_> {
    /// Returns the rewards of fast-path steps, from lane `first` on.
    #[inline]
    pub(super) fn rewards(
        &mut self,
        (first, stepped): (usize, u8),
        block_outcome: &BlockOutcome,
        nav: impl Fn(usize) -> f64,
        (group, episodes): (&mut LaneGroup, &mut [LaneEpisode]),
        workspace: &Workspace,
    ) -> [f64; LANES] {
        let settings = self.settings;
        // All eight together, also in a block with fewer.
        let together = stepped | !group.all;
        match &settings.reward {
            Reward::Simple => {
                reward::add_simple(&block_outcome.rewards, together, &mut group.paid);
                block_outcome.rewards
            }
            Reward::Log => reward::logs(&block_outcome.rewards, (stepped, together), nav, &mut group.paid, workspace),
            _ => {
                let mut rewards = [0.0; LANES];
                for (k, episode) in episodes.iter_mut().enumerate().filter(|(k, _)| stepped >> k & 1 == 1) {
                    let turnover = block_outcome.turnovers.map_or(0.0, |turnovers| turnovers[k]);
                    let inputs = RewardInputs { nav: nav(k), reward: block_outcome.rewards[k], turnover };
                    rewards[k] = self.reward_of(first + k, inputs, episode);
                }
                rewards
            }
        }
    }

    /// Returns the reward of a step of a lane that was stepped alone.
    #[inline]
    pub(super) fn reward_alone(&mut self, stepped: &Stepped, lane: &mut SteppedLane<'_>) -> f64 {
        let (inputs, paid) = (stepped.reward_inputs(), &mut lane.group.paid[lane.place]);
        let settings = self.settings;
        match &settings.reward {
            Reward::Simple => take_back(inputs.reward, inputs.nav, paid),
            Reward::Log => log_reward(inputs, paid),
            _ => self.reward_of(lane.i, inputs, lane.episode),
        }
    }

    /// Records the figures of a step of lane `i`, for a reward of the caller.
    #[inline]
    pub(super) fn record(&mut self, i: usize, figures: StepFigures) {
        if let Some(recorded) = self.figures.get_mut(i) {
            *recorded = figures;
        }
    }

    fn reward_of(&mut self, i: usize, inputs: RewardInputs, episode: &mut LaneEpisode) -> f64 {
        let settings = self.settings;
        let scheme = &settings.reward;
        if matches!(scheme, Reward::Return) {
            let figures = episode.memory.record(inputs);
            self.record(i, figures);
            return figures.return_;
        }
        scheme.of_inputs(inputs, &mut episode.memory)
    }
}
