//! Terms of a reward, and their sums with weights.
//!
//! Each is a pure function of a step and of the state of its episode. They shape training only: scores do not use them.

use openoutcry_engine::RewardInputs;

use crate::episode::reward_state::RewardState;

/// The smallest NAV that a log reward distinguishes from ruin; NAV starts at 1.
pub(crate) const RUIN: f64 = 1e-8;

/// A log wealth just above that of [`RUIN`]: below it, wealth is read from the NAV.
pub(crate) const NEAR_RUIN: f64 = -18.0;

/// The smallest volatility of a bar that a return is divided by.
///
/// Far below that of a market, and above the rounding of NAV.
const LEAST_VOLATILITY: f64 = 1e-8;

/// The largest square of a return: sums of squares remain finite.
const MOST_SQUARE: f64 = 1e300;

/// A weighted sum of terms.
///
/// The weight of a gain is a factor, that of a penalty is subtracted; 0 leaves a term out.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RewardTerms {
    /// Weight of the simple return.
    pub simple: f64,
    /// Weight of the log return.
    pub log: f64,
    /// Weight of the differential Sharpe ratio.
    pub differential_sharpe: f64,
    /// Rate of the differential Sharpe ratio, in (0, 1).
    pub rate: f64,
    /// Weight of the increase of the drawdown from the highest NAV of the episode.
    pub drawdown_penalty: f64,
    /// Weight of the turnover.
    pub turnover_penalty: f64,
    /// Weight of the squared return.
    pub variance_penalty: f64,
    /// Weight of the squared return of a bar with a loss.
    pub downside_penalty: f64,
}

impl RewardTerms {
    /// The names of the terms: gains, then penalties.
    pub const NAMES: [&'static str; 7] = [
        "simple",
        "log",
        "differential-sharpe",
        "drawdown-penalty",
        "turnover-penalty",
        "variance-penalty",
        "downside-penalty",
    ];

    /// Returns a sum by the names and weights of its terms.
    ///
    /// `rate` is that of its differential Sharpe ratio.
    ///
    /// `None` if a name is unknown or named twice, a weight is negative or not finite, or no gain has a weight above 0.
    #[must_use]
    pub fn by_names<'a>(weights: impl IntoIterator<Item = (&'a str, f64)>, rate: f64) -> Option<Self> {
        let (mut terms, mut seen) = (Self { rate, ..Self::default() }, [false; Self::NAMES.len()]);
        for (name, weight) in weights {
            let index = Self::NAMES.iter().position(|known| *known == name)?;
            if seen[index] || !(weight >= 0.0 && weight.is_finite()) {
                return None;
            }
            seen[index] = true;
            *terms.weight_mut(index) = weight;
        }
        let gains = terms.simple + terms.log + terms.differential_sharpe;
        let has_rate = terms.differential_sharpe == 0.0 || (rate > 0.0 && rate < 1.0);
        (gains > 0.0 && has_rate).then_some(terms)
    }

    fn weight_mut(&mut self, index: usize) -> &mut f64 {
        match index {
            0 => &mut self.simple,
            1 => &mut self.log,
            2 => &mut self.differential_sharpe,
            3 => &mut self.drawdown_penalty,
            4 => &mut self.turnover_penalty,
            5 => &mut self.variance_penalty,
            _ => &mut self.downside_penalty,
        }
    }

    /// Returns the reward of a step.
    ///
    /// The sum of an episode that ends in ruin is below 0, see [`take_back`] and [`log_reward`].
    #[must_use]
    pub(crate) fn of(&self, inputs: RewardInputs, state: &mut RewardState) -> f64 {
        let return_ = inputs.reward;
        let mut sum = if self.simple > 0.0 { self.simple * return_ } else { 0.0 };
        if self.differential_sharpe > 0.0 {
            sum += self.differential_sharpe * differential_sharpe(return_, self.rate, state);
        }
        if self.drawdown_penalty > 0.0 {
            sum -= self.drawdown_penalty * deepening(inputs.nav, state);
        }
        if self.turnover_penalty > 0.0 {
            sum -= self.turnover_penalty * inputs.turnover;
        }
        if self.variance_penalty > 0.0 {
            sum -= self.variance_penalty * square(return_);
        }
        if self.downside_penalty > 0.0 {
            sum -= self.downside_penalty * square(return_.min(0.0));
        }
        let rest = take_back(sum, inputs.nav, &mut state.paid);
        if self.log > 0.0 { self.log * log_reward(inputs, &mut state.log_paid) + rest } else { rest }
    }
}

/// Returns the reward of a step; at ruin, less what the episode has gained so far.
///
/// Without it, returns of 60 %, 60 % and -100 % would sum to more than cash. `paid` is the sum of the rewards so far.
#[inline]
pub(crate) fn take_back(reward: f64, nav: f64, paid: &mut f64) -> f64 {
    let reward = if nav <= 0.0 { reward - paid.max(0.0) } else { reward };
    *paid += reward;
    reward
}

/// Returns the log return of NAV.
///
/// The sum of an episode is the logarithm of the final NAV, or of [`RUIN`] if that is larger. `paid` is the sum so far.
#[inline]
pub(crate) fn log_reward(inputs: RewardInputs, paid: &mut f64) -> f64 {
    let reward = libm::log((1.0 + inputs.reward).max(RUIN));
    let reward = if is_near_ruin(reward, *paid) { log_of_nav(inputs.nav) - *paid } else { reward };
    *paid += reward;
    reward
}

/// Returns whether a log reward must be computed from the NAV.
///
/// `paid` is the sum before.
#[inline]
pub(crate) fn is_near_ruin(reward: f64, paid: f64) -> bool {
    reward.min(paid).min(paid + reward) < NEAR_RUIN
}

/// Returns the logarithm of a NAV, or of [`RUIN`] if that is larger.
pub(crate) fn log_of_nav(nav: f64) -> f64 {
    libm::log(nav.max(RUIN))
}

/// Returns a return over the exponentially weighted volatility.
///
/// That of the episode, this bar included.
///
/// It is the derivative of the exponentially weighted Sharpe ratio to its rate, for a mean of 0. The mean is left out,
/// because its terms pay for a large loss after small ones, and for time in cash after a loss. The volatility is the
/// root mean square of returns, with weights that sum to 1 from the first bar on.
///
/// Source: Moody and Saffell (2001), eq. 12 to 14.
pub(crate) fn differential_sharpe(return_: f64, rate: f64, state: &mut RewardState) -> f64 {
    state.weight += rate * (1.0 - state.weight);
    state.square += rate * (square(return_) - state.square);
    return_ / (state.square / state.weight + square(LEAST_VOLATILITY)).sqrt()
}

/// Returns the increase of the drawdown from the highest NAV of the episode.
pub(crate) fn deepening(nav: f64, state: &mut RewardState) -> f64 {
    state.peak = state.peak.max(nav);
    let drawdown = 1.0 - nav / state.peak;
    let deepening = (drawdown - state.drawdown).max(0.0);
    state.drawdown = drawdown;
    deepening
}

fn square(return_: f64) -> f64 {
    (return_ * return_).min(MOST_SQUARE)
}
