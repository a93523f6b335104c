//! Tie bands: groups of agents whose Sharpe ratios do not differ significantly.

use crate::multiple_testing::pairwise_tests::{PairTest, Unadjusted, test_pairs};

use crate::bootstrap::{Tracks, check_year_and_level, least_draws};
use crate::{BadSetup, Draws, Interval, Panel, TestError};

/// Two agents of a panel, and the significance of the difference of their ratios.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pair {
    /// Index of the first agent.
    pub first: usize,
    /// Index of the second agent.
    pub second: usize,
    /// Annual Sharpe ratio of the first less that of the second.
    pub difference: f64,
    /// Two-sided unadjusted p-value of the difference.
    pub p_value: f64,
    /// p-value adjusted for all pairs.
    pub adjusted: f64,
}

/// Agents in bands; no agent of a band differs from its first.
#[derive(Clone, Debug, PartialEq)]
pub struct Bands {
    /// Indices of the agents of each band, best first.
    pub bands: Vec<Vec<usize>>,
    /// Every pair.
    pub pairs: Vec<Pair>,
    /// Block length in days.
    pub block_length: usize,
}

/// Returns the interval of the difference of two annual Sharpe ratios.
///
/// It is the ratio of the first agent less that of the second.
///
/// Blocks of both tracks are resampled together. The interval is the difference plus and minus a quantile of
/// `abs(difference* - difference) / error*` times its standard error. The error of the sample is a kernel estimate, and
/// that of a resample is from its blocks.
///
/// # Errors
///
/// Returns an error unless the panel has two agents, for fewer than 250 days, constant returns, or copies of one track.
///
/// Source: Ledoit and Wolf (2008).
pub fn sharpe_difference(
    pair: &Panel<'_>,
    periods_per_year: f64,
    level: f64,
    draws: &Draws,
) -> Result<Interval, TestError> {
    if pair.n_agents() != 2 {
        return Err(BadSetup::Agents { required: "2", received: pair.n_agents() }.into());
    }
    Tracks::new(pair, draws)?.interval(&[1.0, -1.0], periods_per_year, level, draws)
}

/// Returns the bands of a panel.
///
/// A pair differs if its p-value is at most `level`. The p-value is adjusted by the largest distance of all pairs in
/// each resample, with step-down: the probability of any false difference is `level`, and the number of draws need not
/// grow with the number of pairs.
///
/// The best agent leads the first band, which holds all agents that do not differ from it. The best of the others leads
/// the next band. `rank_by` orders the agents, by default by Sharpe ratio.
///
/// The unadjusted p-value of a pair is resampled until 20 resamples exceed its distance, or `draws.n` are drawn: both
/// give valid p-values (Besag and Clifford 1991). Copies are tied.
///
/// # Errors
///
/// Returns an error for fewer than two agents or 250 days, constant returns, or too few draws for any difference.
///
/// Source: Romano and Wolf (2005); Ledoit and Wolf (2008).
pub fn tie_bands(
    panel: &Panel<'_>,
    periods_per_year: f64,
    level: f64,
    rank_by: Option<&[f64]>,
    draws: &Draws,
) -> Result<Bands, TestError> {
    let (tracks, ranks) = prepared_tracks(panel, periods_per_year, level, rank_by, draws)?;
    let year = periods_per_year.sqrt();
    let pair = |pair_test: PairTest| Pair {
        first: pair_test.first,
        second: pair_test.second,
        difference: pair_test.difference * year,
        p_value: pair_test.p_value,
        adjusted: pair_test.adjusted,
    };
    let pair_tests = test_pairs(&tracks, level, draws, Unadjusted::Every);
    let bands = bands(&ranks, &pair_tests, level);
    Ok(Bands { bands, pairs: pair_tests.into_iter().map(pair).collect(), block_length: tracks.block() })
}

/// Returns the bands of [`tie_bands`] only, which is faster.
pub(crate) fn bands_alone(
    panel: &Panel<'_>,
    periods_per_year: f64,
    level: f64,
    rank_by: &[f64],
    draws: &Draws,
) -> Result<Vec<Vec<usize>>, TestError> {
    let (tracks, ranks) = prepared_tracks(panel, periods_per_year, level, Some(rank_by), draws)?;
    Ok(bands(&ranks, &test_pairs(&tracks, level, draws, Unadjusted::Differing), level))
}

/// Returns the tracks of a panel and their ranking values.
fn prepared_tracks<'a>(
    panel: &Panel<'a>,
    periods_per_year: f64,
    level: f64,
    rank_by: Option<&[f64]>,
    draws: &Draws,
) -> Result<(Tracks<'a>, Vec<f64>), TestError> {
    let n_agents = panel.n_agents();
    if n_agents < 2 {
        return Err(BadSetup::Agents { required: "2 or more", received: n_agents }.into());
    }
    check_year_and_level(periods_per_year, level)?;
    draws.check(least_draws(1.0 - level))?;
    let tracks = Tracks::new(panel, draws)?;
    let ratios = || tracks.each.iter().map(|track| track.ratio).collect();
    let ranks: Vec<f64> = rank_by.map_or_else(ratios, <[f64]>::to_vec);
    if ranks.len() != n_agents || ranks.iter().any(|rank| !rank.is_finite()) {
        return Err(BadSetup::Ranks { n_agents, received: ranks }.into());
    }
    Ok((tracks, ranks))
}

fn bands(rank_by: &[f64], pairs: &[PairTest], level: f64) -> Vec<Vec<usize>> {
    let mut left: Vec<usize> = (0..rank_by.len()).collect();
    left.sort_by(|a, b| rank_by[*b].total_cmp(&rank_by[*a]));
    let mut differ = vec![vec![false; rank_by.len()]; rank_by.len()];
    for pair in pairs.iter().filter(|pair| pair.adjusted <= level) {
        differ[pair.first][pair.second] = true;
        differ[pair.second][pair.first] = true;
    }
    let mut bands = Vec::new();
    while let Some(leader) = left.first().copied() {
        let (apart, band) = left.iter().partition(|agent| differ[leader][**agent]);
        bands.push(band);
        left = apart;
    }
    bands
}
