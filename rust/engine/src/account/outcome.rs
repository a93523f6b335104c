use crate::account::costs::StepCosts;

/// The outcome of one step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stepped {
    /// NAV at the close of the fill bar.
    pub nav: f64,
    /// Simple return of NAV from close to close.
    pub reward: f64,
    /// Costs of the decision by kind, in units of NAV 1.
    pub costs: StepCosts,
    /// Interest on idle cash; negative at a negative rate.
    pub interest: f64,
    /// Funding received less funding paid; 0 in a market without the column.
    pub funding: f64,
    /// Dividends received less dividends paid on shorts.
    pub dividends: f64,
    /// Gain of settled positions over their marks.
    pub settlement: f64,
    /// Loss beyond the value of the account, written off.
    pub shortfall: f64,
    /// Notional traded at fill prices, over the NAV of the decision.
    pub turnover: f64,
    /// Notional closed by a liquidation or a ruin, over the NAV of the decision.
    ///
    /// It is no part of `turnover`.
    pub forced_turnover: f64,
    /// Whether the account was liquidated or ruined.
    pub terminated: bool,
}

/// The inputs of a reward: a part of the outcome of a step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RewardInputs {
    /// See [`Stepped::nav`].
    pub nav: f64,
    /// See [`Stepped::reward`].
    pub reward: f64,
    /// Notional traded and closed by force, over the NAV of the decision.
    pub turnover: f64,
}

impl Stepped {
    /// Returns the inputs of a reward.
    ///
    /// A forced sale costs the same as one that the decision asks for.
    #[must_use]
    pub fn reward_inputs(&self) -> RewardInputs {
        RewardInputs { nav: self.nav, reward: self.reward, turnover: self.turnover + self.forced_turnover }
    }
}
