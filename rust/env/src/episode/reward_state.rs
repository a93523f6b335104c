//! The state of a reward within an episode, and the figures of a step.

use openoutcry_engine::RewardInputs;

/// The state of a reward within an episode.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RewardState {
    /// The sum of the rewards, without log returns.
    pub(crate) paid: f64,
    /// The sum of the log returns.
    pub(crate) log_paid: f64,
    /// Exponential average of squared returns, and the sum of its weights.
    pub(crate) square: f64,
    pub(crate) weight: f64,
    pub(crate) peak: f64,
    pub(crate) drawdown: f64,
    /// The last step, for a reward of the caller.
    pub(crate) figures: StepFigures,
}

impl Default for RewardState {
    fn default() -> Self {
        Self {
            paid: 0.0,
            log_paid: 0.0,
            square: 0.0,
            weight: 0.0,
            peak: 1.0,
            drawdown: 0.0,
            figures: StepFigures::default(),
        }
    }
}

/// A step, for a reward that the caller computes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StepFigures {
    /// Simple return of NAV from close to close.
    pub return_: f64,
    /// NAV before the step.
    pub previous_nav: f64,
    /// NAV after the step; the NAV of a new episode is 1.
    pub nav: f64,
    /// Notional traded and closed by force, over the NAV of the decision.
    pub turnover: f64,
    /// Share of the highest NAV of the episode that is lost after the step.
    pub drawdown: f64,
    /// Number of steps of the episode, this one included; 0 after a reset.
    pub n_steps: u32,
}

impl Default for StepFigures {
    fn default() -> Self {
        Self { return_: 0.0, previous_nav: 1.0, nav: 1.0, turnover: 0.0, drawdown: 0.0, n_steps: 0 }
    }
}

impl RewardState {
    /// Records a step, and returns its figures.
    pub(crate) fn record(&mut self, inputs: RewardInputs) -> StepFigures {
        self.peak = self.peak.max(inputs.nav);
        self.figures = StepFigures {
            return_: inputs.reward,
            previous_nav: self.figures.nav,
            nav: inputs.nav,
            turnover: inputs.turnover,
            drawdown: 1.0 - inputs.nav / self.peak,
            n_steps: self.figures.n_steps + 1,
        };
        self.figures
    }
}
