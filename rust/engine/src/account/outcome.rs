use crate::account::costs::StepCosts;

/// The outcome of one step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stepped {
    /// NAV at the close of the fill bar.
    pub nav: f64,
    /// Simple return of NAV from close to close.
    pub reward: f64,
    /// What the decision cost, by kind, in units of NAV 1.
    pub costs: StepCosts,
    /// Interest on idle cash; negative where the rate is.
    pub interest: f64,
    /// Dividends received less dividends paid on shorts.
    pub dividends: f64,
    /// Gain of settled positions over their marks.
    pub settlement: f64,
    /// Loss beyond the account, written off.
    pub shortfall: f64,
    /// Notional traded at fill prices, over the NAV it was decided on.
    pub turnover: f64,
    /// Whether the account was liquidated or ruined.
    pub terminated: bool,
}

/// The part of a step's outcome that a reward is made of.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Growth {
    /// See [`Stepped::nav`].
    pub nav: f64,
    /// See [`Stepped::reward`].
    pub reward: f64,
    /// See [`Stepped::turnover`].
    pub turnover: f64,
}

impl Stepped {
    /// Returns what a reward is made of.
    #[must_use]
    pub fn growth(&self) -> Growth {
        Growth { nav: self.nav, reward: self.reward, turnover: self.turnover }
    }
}
