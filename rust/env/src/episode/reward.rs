//! Reward schemes: pure functions of a step.
//!
//! They shape training only. Scores do not use them.

use openoutcry_engine::lane_sums::LANES;
use openoutcry_engine::{RewardInputs, Stepped, Workspace, log_returns};

/// A reward scheme.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Reward {
    /// Simple return of NAV from close to close.
    #[default]
    Simple,
    /// Log return of NAV.
    ///
    /// The reward of a ruin is `ln(1e-8)`, because minus infinity is useless to a learner.
    Log,
    /// Change of an exponentially weighted Sharpe ratio.
    ///
    /// Source: Moody and Saffell (2001), eq. 12.
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
}

/// Differences of the steps of a learner from those of an agent.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Shaping {
    /// Reward scheme.
    pub reward: Reward,
    /// Smallest change of a weight that is traded; 0 for all.
    pub no_trade_band: f64,
}

/// The smallest growth factor of NAV that a log reward distinguishes from ruin.
const RUIN: f64 = 1e-8;

/// The state of a reward scheme within an episode.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RewardState {
    mean: f64,
    square: f64,
    peak: f64,
    drawdown: f64,
}

impl Default for RewardState {
    fn default() -> Self {
        Self { mean: 0.0, square: 0.0, peak: 1.0, drawdown: 0.0 }
    }
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

    /// Returns the reward of a step, given the state of the episode.
    #[must_use]
    pub fn of(&self, stepped: &Stepped, memory: &mut RewardState) -> f64 {
        self.of_inputs(stepped.reward_inputs(), memory)
    }

    /// Returns the reward of the inputs of a step, given the state of the episode.
    #[must_use]
    #[inline]
    pub fn of_inputs(&self, reward_inputs: RewardInputs, memory: &mut RewardState) -> f64 {
        match *self {
            Self::Simple => reward_inputs.reward,
            Self::Log => libm::log((1.0 + reward_inputs.reward).max(RUIN)),
            Self::DifferentialSharpe { rate } => differential_sharpe(reward_inputs.reward, rate, memory),
            Self::Drawdown { penalty } => {
                memory.peak = memory.peak.max(reward_inputs.nav);
                let drawdown = 1.0 - reward_inputs.nav / memory.peak;
                let deepening = (drawdown - memory.drawdown).max(0.0);
                memory.drawdown = drawdown;
                reward_inputs.reward - penalty * deepening
            }
            Self::Turnover { penalty } => reward_inputs.reward - penalty * reward_inputs.turnover,
        }
    }
}

/// Returns eight rewards of [`Reward::Log`], to the bit.
#[inline]
pub(crate) fn logs(returns: &[f64; LANES], workspace: &Workspace) -> [f64; LANES] {
    log_returns(returns, RUIN, workspace)
}

/// Returns the derivative of the Sharpe ratio with respect to the rate.
///
/// It is 0 while the variance is 0.
fn differential_sharpe(return_: f64, rate: f64, memory: &mut RewardState) -> f64 {
    let (mean, square) = (memory.mean, memory.square);
    let (mean_change, square_change) = (return_ - mean, return_ * return_ - square);
    memory.mean = mean + rate * mean_change;
    memory.square = square + rate * square_change;
    let variance = square - mean * mean;
    if variance <= 0.0 {
        return 0.0;
    }
    (square * mean_change - 0.5 * mean * square_change) / (variance * variance.sqrt())
}

#[cfg(test)]
mod tests {
    use openoutcry_engine::Detail;
    use proptest::prelude::*;

    use super::*;

    fn check(returns: [f64; LANES]) {
        let alone =
            returns.map(|reward| Reward::Log.of_inputs(reward_inputs(reward), &mut RewardState::default()).to_bits());
        assert_eq!(logs(&returns, &Workspace::new(1, Detail::Money)).map(f64::to_bits), alone, "{returns:?}");
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
