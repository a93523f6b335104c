//! What a board of so many agents over so many bars can see at all.
//!
//! Of normal returns without autocorrelation: real ones need more bars, never fewer.

use crate::error::{Statistic, Undefined, probability};
use crate::metrics::moments::Moments;
use crate::metrics::sharpe_error::standard_error;
use crate::normal_distribution;
use crate::skill::expected_max;

/// A board, and the skill one hopes to see on it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Board {
    /// Returns of each agent.
    pub n_returns: usize,
    /// Agents that are compared.
    pub n_agents: u64,
    /// Bars a year.
    pub periods_per_year: f64,
    /// True Sharpe ratio a year that should be seen.
    pub sharpe: f64,
    /// How often a field without skill may be taken for one with it, inside (0, 1).
    pub size: f64,
    /// How often the skill must be seen, inside (0, 1).
    pub power: f64,
}

/// What a board can see; ratios are a year.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Power {
    /// What was asked.
    pub board: Board,
    /// Standard error of the ratio of an agent without skill.
    pub standard_error: f64,
    /// Ratio that the best agent shows, expected, where none has skill.
    pub best_expected: f64,
    /// Ratio that the best agent passes in a share `size` of fields without skill.
    pub best_quantile: f64,
    /// Least true ratio that is seen, by a test of every agent.
    pub min_sharpe: Statistic,
    /// Least true gap that is seen between two uncorrelated agents.
    ///
    /// By a test of that pair alone.
    pub min_gap: f64,
    /// Returns that it takes to see the ratio asked for.
    pub n_needed: f64,
    /// The same in years.
    pub years_needed: f64,
    /// The same in tracks as long as those of the board, by whole ones.
    pub tracks_needed: f64,
}

/// Returns what a board can see.
///
/// An agent is tested at the size that leaves `size` for the whole field, `1 - (1 - size)^(1 / k)`.
///
/// # Errors
///
/// Undefined for fewer than two returns, no agent, a size or power outside (0, 1), or a ratio or bars a year not
/// above 0.
///
/// Source: the variance of Lo (2002); Sidak (1967); the best of many as in [`expected_max`].
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

/// Returns how many returns it takes to tell two agents apart.
///
/// `n_returns` of them put their ratios `distance` standard errors apart, and more of them as far as their root says. By a
/// two-sided test of `size`, which sees the difference with a probability of `power`.
///
/// # Errors
///
/// Undefined unless they are apart, or for a size or power outside (0, 1).
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

/// Returns the size of each of `n` independent tests of which one errs with `size`.
fn size_of_one(size: f64, n: u64) -> f64 {
    -libm::expm1(libm::log1p(-size) / n as f64)
}

/// Returns how many returns put a ratio `errors` standard errors above 0.
fn needed(seen: &Moments, errors: f64) -> Statistic {
    let each = errors.max(0.0) / seen.sharpe;
    Ok((1.0 + seen.variance()? * each * each).max(2.0))
}

/// Returns the ratio per bar that is `errors` of its own standard errors above 0.
fn least(n_returns: usize, errors: f64) -> Statistic {
    // s^2 (T - 1) = e^2 (1 + s^2 / 2): the error grows with the ratio, and so few returns never see any.
    let rest = n_returns as f64 - 1.0 - errors * errors / 2.0;
    if rest <= 0.0 {
        return Err(Undefined::NoPrecision);
    }
    Ok(errors.max(0.0) / rest.sqrt())
}

impl Power {
    /// Returns what a board says that cannot separate its agents.
    #[must_use]
    pub fn sentence(&self) -> String {
        let Board { n_returns, n_agents, sharpe, size, power, .. } = self.board;
        let (field, its) = match n_agents {
            1 => ("an agent without skill".to_owned(), "its"),
            _ => (format!("the best of {n_agents} agents without skill"), "each one's"),
        };
        let least = match self.min_sharpe {
            Ok(ratio) => format!("Only a true ratio of {ratio:.1} or more is seen {:.0} % of the time", 100.0 * power),
            Err(_) => "No true ratio, however high, is seen on so few returns".to_owned(),
        };
        format!(
            "Over {n_returns} returns {field} shows an annual Sharpe ratio of {:.1} on average, and more than {:.1} in \
             {:.0} % of fields; {its} standard error is {:.1}. {least}. To see one of {sharpe:.1} takes {:.0} returns \
             ({:.1} years).",
            self.best_expected,
            self.best_quantile,
            100.0 * size,
            self.standard_error,
            self.n_needed,
            self.years_needed,
        )
    }
}
