//! Reward schemes: functions of a step and of the state of its episode.
//!
//! They shape training only. Scores do not use them.

use openoutcry_engine::lane_sums::LANES;
use openoutcry_engine::{RewardInputs, Stepped, Workspace, log_returns};

use crate::episode::reward_state::RewardState;
use crate::episode::reward_terms::{
    NEAR_RUIN, RUIN, RewardTerms, deepening, differential_sharpe, is_near_ruin, log_of_nav, log_reward, take_back,
};

/// A reward scheme.
///
/// Except for [`Reward::Return`], the sum of an episode that ends in ruin is below that of cash, which is 0. An episode
/// that ends otherwise is rewarded as if it went on.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Reward {
    /// Simple return of NAV from close to close, the reward of the contract.
    ///
    /// The batch keeps the [`crate::StepFigures`] of its steps, for a reward that the caller computes.
    #[default]
    Return,
    /// Simple return of NAV; at ruin, -1 less what the episode has gained.
    Simple,
    /// Log return of NAV.
    ///
    /// Its sum is the logarithm of the final NAV, or of 1e-8 if that is larger: minus infinity is useless to a learner.
    Log,
    /// Return over its exponentially weighted volatility.
    ///
    /// At ruin, less what the episode has gained.
    ///
    /// Source: Moody and Saffell (2001), eq. 12, at a mean of 0.
    DifferentialSharpe {
        /// Weight of the newest return, in (0, 1).
        rate: f64,
    },
    /// Simple return less `penalty` times the increase of the drawdown.
    ///
    /// The drawdown is from the highest NAV of the episode.
    Drawdown {
        /// Weight of the drawdown, at least 0.
        penalty: f64,
    },
    /// Simple return less `penalty` times turnover.
    Turnover {
        /// Weight of the turnover, at least 0.
        penalty: f64,
    },
    /// Weighted sum of terms.
    Sum(RewardTerms),
}

/// Differences of the steps of a learner from those of an agent.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Shaping {
    /// Reward scheme.
    pub reward: Reward,
    /// Smallest change of a weight that is traded; 0 for all.
    pub no_trade_band: f64,
}

impl Reward {
    /// The names of the schemes.
    pub const NAMES: [&'static str; 5] = ["simple", "log", "differential-sharpe", "drawdown", "turnover"];

    /// Returns a scheme by its name in [`Reward::NAMES`].
    ///
    /// `parameter` is its rate or penalty.
    #[must_use]
    pub fn by_name(name: &str, parameter: f64) -> Option<Self> {
        Some(match name {
            "simple" => Self::Simple,
            "log" => Self::Log,
            "differential-sharpe" if parameter > 0.0 && parameter < 1.0 => Self::DifferentialSharpe { rate: parameter },
            "drawdown" if parameter >= 0.0 && parameter.is_finite() => Self::Drawdown { penalty: parameter },
            "turnover" if parameter >= 0.0 && parameter.is_finite() => Self::Turnover { penalty: parameter },
            _ => return None,
        })
    }

    /// Returns whether the reward depends on turnover.
    #[inline]
    pub(crate) fn uses_turnover(&self) -> bool {
        match self {
            Self::Turnover { .. } | Self::Return => true,
            Self::Sum(terms) => terms.turnover_penalty > 0.0,
            _ => false,
        }
    }

    /// Returns the reward of a step, given the state of the episode.
    #[must_use]
    pub fn of(&self, stepped: &Stepped, state: &mut RewardState) -> f64 {
        self.of_inputs(stepped.reward_inputs(), state)
    }

    /// Returns the reward of the inputs of a step, given the state of the episode.
    #[must_use]
    #[inline]
    pub fn of_inputs(&self, inputs: RewardInputs, state: &mut RewardState) -> f64 {
        let reward = match *self {
            Self::Simple => inputs.reward,
            Self::Log => return log_reward(inputs, &mut state.log_paid),
            Self::DifferentialSharpe { rate } => differential_sharpe(inputs.reward, rate, state),
            Self::Drawdown { penalty } => inputs.reward - penalty * deepening(inputs.nav, state),
            Self::Turnover { penalty } => inputs.reward - penalty * inputs.turnover,
            Self::Sum(terms) => return terms.of(inputs, state),
            Self::Return => return state.record(inputs).return_,
        };
        take_back(reward, inputs.nav, &mut state.paid)
    }
}

/// Sums of the rewards of eight lanes in their episodes.
///
/// Kept apart from the states of the lanes for the schemes that need no other state.
pub(crate) type PaidBlock = [f64; LANES];

/// Adds eight rewards of [`Reward::Simple`] to the sums of the lanes of `stepped`.
///
/// None of them is ruined. The sums of lanes that do not exist are never read.
#[inline]
pub(crate) fn add_simple(returns: &[f64; LANES], stepped: u8, paid: &mut PaidBlock) {
    if stepped == u8::MAX {
        for (paid, reward) in paid.iter_mut().zip(returns) {
            *paid += reward;
        }
        return;
    }
    for (k, (paid, reward)) in paid.iter_mut().zip(returns).enumerate() {
        *paid += if stepped >> k & 1 == 1 { *reward } else { 0.0 };
    }
}

/// Returns eight rewards of [`Reward::Log`], to the bit.
///
/// Adds those of the lanes of `added` to their sums. Values of lanes that are not in `stepped` are undefined. `nav`
/// returns the NAV of a lane.
#[inline]
pub(crate) fn logs(
    returns: &[f64; LANES],
    (stepped, added): (u8, u8),
    nav: impl Fn(usize) -> f64,
    paid: &mut PaidBlock,
    workspace: &Workspace,
) -> [f64; LANES] {
    let mut rewards = log_returns(returns, RUIN, workspace);
    // No lane is near ruin if none of both is below the half; fewer comparisons than those of each lane.
    let half = 0.5 * NEAR_RUIN;
    let is_low = |number: &f64| u8::from(*number < half);
    if rewards.iter().zip(&*paid).fold(0, |any, (reward, paid)| any | is_low(reward) | is_low(paid)) != 0 {
        for (k, reward) in rewards.iter_mut().enumerate().filter(|(k, _)| stepped >> k & 1 == 1) {
            if is_near_ruin(*reward, paid[k]) {
                *reward = log_of_nav(nav(k)) - paid[k];
            }
        }
    }
    add_simple(&rewards, added, paid);
    rewards
}

#[cfg(test)]
mod tests {
    use openoutcry_engine::Detail;
    use proptest::prelude::*;

    use super::*;

    fn check(returns: [f64; LANES]) {
        let alone =
            returns.map(|reward| Reward::Log.of_inputs(reward_inputs(reward), &mut RewardState::default()).to_bits());
        let (mut paid, workspace) = ([0.0; LANES], Workspace::new(1, Detail::Money));
        let together = logs(&returns, (u8::MAX, u8::MAX), |_| 1.0, &mut paid, &workspace);
        assert_eq!(together.map(f64::to_bits), alone, "{returns:?}");
    }

    fn reward_inputs(reward: f64) -> RewardInputs {
        RewardInputs { nav: 1.0, reward, turnover: 0.0 }
    }

    #[test]
    fn log_rewards_side_by_side_have_the_bits_of_one_at_a_time_at_the_edges() {
        let root = std::f64::consts::SQRT_2 - 1.0;
        check([0.0, -0.0, -1.0, RUIN - 1.0, 1.0, root, root - f64::EPSILON, f64::MAX]);
        check([-0.5, f64::EPSILON, -f64::EPSILON, 1e-300, 3.0, 1e15, root + f64::EPSILON, -0.292_893_218_813_452_4]);
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, cases: 2000, ..ProptestConfig::default() })]

        #[test]
        fn log_rewards_side_by_side_have_the_bits_of_one_at_a_time(
            near in prop::array::uniform4(-0.2..0.2),
            far in prop::array::uniform4(-1.0..1e6),
        ) {
            check(std::array::from_fn(|i| if i < 4 { near[i] } else { far[i - 4] }));
        }
    }
}
