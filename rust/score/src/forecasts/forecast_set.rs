use crate::BadSetup;

/// Scored forecasts, agent by agent, with ascending markets per agent.
#[derive(Clone, Copy, Debug)]
pub struct Forecasts<'a> {
    /// Index of the first forecast of each agent, and the number of forecasts.
    pub(super) starts: &'a [usize],
    pub(super) markets: &'a [u32],
    pub(super) losses: &'a [f64],
    pub(super) n_markets: usize,
}

impl<'a> Forecasts<'a> {
    /// Returns forecasts of agents that begin at `starts`, with their losses.
    ///
    /// The last of `starts` is the number of forecasts. An agent has at most one forecast per market.
    ///
    /// # Errors
    ///
    /// Returns an error if the lengths do not match, markets do not ascend or do not exist, or a loss is not finite.
    pub fn new(starts: &'a [usize], markets: &'a [u32], losses: &'a [f64], n_markets: usize) -> Result<Self, BadSetup> {
        let n = markets.len();
        let whole = starts.first() == Some(&0) && starts.last() == Some(&n) && starts.is_sorted() && losses.len() == n;
        if !whole {
            return Err(BadSetup::Forecasts { n_markets, index: None });
        }
        let ascend = |(from, to): (usize, usize)| (from + 1..to).find(|place| markets[place - 1] >= markets[*place]);
        let misplaced = starts.windows(2).find_map(|edge| ascend((edge[0], edge[1])));
        let beyond = || (0..n).find(|place| markets[*place] as usize >= n_markets || !losses[*place].is_finite());
        match misplaced.or_else(beyond) {
            Some(index) => Err(BadSetup::Forecasts { n_markets, index: Some(index) }),
            None => Ok(Self { starts, markets, losses, n_markets }),
        }
    }

    /// Returns the number of agents.
    #[must_use]
    pub fn n_agents(&self) -> usize {
        self.starts.len() - 1
    }

    /// Returns the ranges of the forecasts of each agent.
    pub(super) fn agents(&self) -> impl Iterator<Item = std::ops::Range<usize>> + use<'a> {
        self.starts.windows(2).map(|edge| edge[0]..edge[1])
    }
}

/// Returns the mean log probability that each agent gave to the outcomes.
///
/// `probabilities` are in the order of the forecasts. An agent without forecasts has NaN.
///
/// # Errors
///
/// Returns an error if the lengths do not match, or a probability is not above 0 and at most 1.
///
/// Source: Good (1952).
pub fn log_scores(starts: &[usize], probabilities: &[f64]) -> Result<Vec<f64>, BadSetup> {
    let n = probabilities.len();
    if starts.first() != Some(&0) || starts.last() != Some(&n) || !starts.is_sorted() {
        return Err(BadSetup::Forecasts { n_markets: n, index: None });
    }
    if let Some(index) = probabilities.iter().position(|p| !(*p > 0.0 && *p <= 1.0)) {
        return Err(BadSetup::Probability { index, received: probabilities[index] });
    }
    let mean = |edge: &[usize]| {
        let own = &probabilities[edge[0]..edge[1]];
        own.iter().map(|p| libm::log(*p)).sum::<f64>() / own.len() as f64
    };
    Ok(starts.windows(2).map(mean).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forecasts_that_are_no_rows_of_agents_on_markets_are_refused() {
        let refused = |starts: &[usize], markets: &[u32], losses: &[f64]| {
            Forecasts::new(starts, markets, losses, 3).unwrap_err().to_string()
        };
        assert!(Forecasts::new(&[0, 2, 2, 3], &[0, 2, 1], &[0.1; 3], 3).is_ok());
        assert!(refused(&[0, 2], &[0, 2, 1], &[0.1; 3]).ends_with("received other lengths"));
        assert!(refused(&[0, 3], &[0, 2, 1], &[0.1; 3]).ends_with("received an invalid value at 2"));
        assert!(refused(&[0, 2], &[0, 0], &[0.1; 2]).ends_with("received an invalid value at 1"));
        assert!(refused(&[0, 2], &[0, 3], &[0.1; 2]).ends_with("received an invalid value at 1"));
        assert!(refused(&[0, 1], &[0], &[f64::NAN]).ends_with("received an invalid value at 0"));
    }

    #[test]
    fn a_log_score_is_the_mean_of_logarithms_and_none_without_forecasts() {
        let scores = log_scores(&[0, 2, 2], &[0.5, 1.0]).unwrap();
        assert_eq!(scores[0], libm::log(0.5) / 2.0);
        assert!(scores[1].is_nan());
        assert!(log_scores(&[0, 1], &[0.0]).is_err());
    }
}
