//! Statistical power of a comparison of agents over a number of bars.
//!
//! It assumes normal returns without autocorrelation. Real returns need more bars.

use crate::error::{Statistic, Undefined, probability};
use crate::metrics::moments::Moments;
use crate::metrics::sharpe_error::standard_error;
use crate::normal_distribution;
use crate::skill::expected_max;

/// The design of a comparison.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Board {
    /// Returns of each agent.
    pub n_returns: usize,
    /// Number of agents.
    pub n_agents: u64,
    /// Bars per year.
    pub periods_per_year: f64,
    /// True annual Sharpe ratio to detect.
    pub sharpe: f64,
    /// Size of the test, in (0, 1): probability of a false claim of skill.
    pub size: f64,
    /// Power of the test, in (0, 1): probability of detecting the skill.
    pub power: f64,
}

/// The power of a comparison; ratios are annual.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Power {
    /// The design.
    pub board: Board,
    /// Standard error of the ratio of an agent without skill.
    pub standard_error: f64,
    /// Expected maximum ratio of agents without skill.
    pub best_expected: f64,
    /// Quantile of the maximum ratio of agents without skill, exceeded with `size`.
    pub best_quantile: f64,
    /// Smallest true ratio that is detected, with a test of every agent.
    pub min_sharpe: Statistic,
    /// Smallest true difference that is detected between two uncorrelated agents.
    ///
    /// With a test of that pair only.
    pub min_gap: f64,
    /// Returns required to detect the ratio of the design.
    pub n_needed: f64,
    /// Years required.
    pub years_needed: f64,
    /// Tracks of the length of the design required, rounded up.
    pub tracks_needed: f64,
}

/// Returns the power of a comparison.
///
/// An agent is tested at the size that gives `size` for the whole field, `1 - (1 - size)^(1 / k)`.
///
/// # Errors
///
/// Undefined for fewer than two returns, no agent, a size or power outside (0, 1), or a ratio or number of bars per
/// year not above 0.
///
/// Source: the variance of Lo (2002); Sidak (1967); the expected maximum as in [`expected_max`].
pub fn power(board: &Board) -> Result<Power, Undefined> {
    let Board { n_returns, n_agents, periods_per_year, sharpe, size, power } = *board;
    probability(size)?;
    probability(power)?;
    let positive = |value: f64| value > 0.0 && value.is_finite();
    if !(positive(sharpe) && positive(periods_per_year)) {
        return Err(Undefined::NotAbove);
    }
    if n_agents == 0 {
        return Err(Undefined::TooShort { required: 1, received: 0 });
    }
    let standard_error = standard_error(&Moments::normal(n_returns, 0.0), periods_per_year)?;
    let best = -normal_distribution::quantile(size_of_one(size, n_agents));
    let (errors, year) = (best - normal_distribution::quantile(1.0 - power), periods_per_year.sqrt());
    let pair = -normal_distribution::quantile(size / 2.0) - normal_distribution::quantile(1.0 - power);
    let seen = Moments::normal(n_returns, sharpe / year);
    let n_needed = needed(&seen, errors)?;
    Ok(Power {
        board: *board,
        standard_error,
        best_expected: standard_error * expected_max(n_agents),
        best_quantile: standard_error * best,
        min_sharpe: least(n_returns, errors).map(|per_bar| per_bar * year),
        min_gap: standard_error * pair * std::f64::consts::SQRT_2,
        n_needed: n_needed.ceil(),
        years_needed: n_needed.ceil() / periods_per_year,
        tracks_needed: ((n_needed - 1.0) / (n_returns as f64 - 1.0)).ceil(),
    })
}

/// Returns the number of returns required to separate two agents.
///
/// After `n_returns` their ratios are `distance` standard errors apart; the distance grows with the square root. The
/// test is two-sided with size `size`, and detects the difference with probability `power`.
///
/// # Errors
///
/// Undefined for a distance of 0, or for a size or power outside (0, 1).
pub fn days_to_separate(n_returns: usize, distance: f64, size: f64, power: f64) -> Statistic {
    probability(size)?;
    probability(power)?;
    if !(distance > 0.0 && distance.is_finite()) {
        return Err(Undefined::NotAbove);
    }
    let each =
        (-normal_distribution::quantile(size / 2.0) - normal_distribution::quantile(1.0 - power)).max(0.0) / distance;
    Ok((n_returns as f64 * each * each).ceil())
}

/// Returns the size of each of `n` independent tests with joint size `size`.
fn size_of_one(size: f64, n: u64) -> f64 {
    -libm::expm1(libm::log1p(-size) / n as f64)
}

/// Returns the number of returns for a ratio `errors` standard errors above 0.
fn needed(seen: &Moments, errors: f64) -> Statistic {
    let each = errors.max(0.0) / seen.sharpe;
    Ok((1.0 + seen.variance()? * each * each).max(2.0))
}

/// Returns the ratio per bar that is `errors` of its own standard errors above 0.
fn least(n_returns: usize, errors: f64) -> Statistic {
    // s^2 (T - 1) = e^2 (1 + s^2 / 2): the error grows with the ratio, so few returns detect no ratio at all.
    let rest = n_returns as f64 - 1.0 - errors * errors / 2.0;
    if rest <= 0.0 {
        return Err(Undefined::NoPrecision);
    }
    Ok(errors.max(0.0) / rest.sqrt())
}

impl Power {
    /// Returns the sentence for a board that cannot separate its agents.
    #[must_use]
    pub fn sentence(&self) -> String {
        let Board { n_returns, n_agents, sharpe, size, power, .. } = self.board;
        let (field, of) = match n_agents {
            1 => ("an agent without skill".to_owned(), "its ratio"),
            _ => (format!("the best of {n_agents} agents without skill"), "one ratio"),
        };
        let least = match self.min_sharpe {
            Ok(ratio) => {
                format!("Only a true ratio of at least {ratio:.1} is detected with a power of {:.0} %", 100.0 * power)
            }
            Err(_) => "No true ratio can be detected with so few returns".to_owned(),
        };
        format!(
            "Over {} returns, {field} has an expected annual Sharpe ratio of {:.1}, and exceeds {:.1} in {:.0} \
             % of samples. The standard error of {of} is {:.1}. {least}. To detect a ratio of {sharpe:.1}, {} returns \
             ({:.1} years) are required.",
            grouped(n_returns as f64),
            self.best_expected,
            self.best_quantile,
            100.0 * size,
            self.standard_error,
            grouped(self.n_needed),
            self.years_needed,
        )
    }
}

/// Returns a rounded count with a comma before every three digits.
fn grouped(count: f64) -> String {
    let digits = format!("{count:.0}");
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
