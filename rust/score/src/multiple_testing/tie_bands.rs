//! Which agents cannot be told apart by their Sharpe ratios.

use crate::multiple_testing::pairwise_tests::{Alone, Contest, decide};

use crate::bootstrap::{Tracks, check_year_and_level, least_draws};
use crate::{BadSetup, Draws, Interval, Panel, TestError};

/// Two agents of a panel and whether their Sharpe ratios differ.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pair {
    /// Place of the first.
    pub first: usize,
    /// Place of the second.
    pub second: usize,
    /// Sharpe ratio a year of the first less that of the second.
    pub difference: f64,
    /// Probability of such a difference, either way, where there is none.
    pub p_value: f64,
    /// The same where any false difference of all pairs counts.
    pub adjusted: f64,
}

/// Agents in bands, each of those that cannot be told from its first.
#[derive(Clone, Debug, PartialEq)]
pub struct Bands {
    /// Places of the agents of each band, best first.
    pub bands: Vec<Vec<usize>>,
    /// Every pair.
    pub pairs: Vec<Pair>,
    /// Days of a block.
    pub block_length: usize,
}

/// Returns the interval of the difference of two Sharpe ratios a year.
///
/// It is the ratio of the first agent less that of the second.
///
/// Blocks of both are resampled together. The interval is the difference plus and minus a quantile of
/// `abs(difference* - difference) / error*` times its standard error, which the sample gives by a kernel and a resample by
/// its blocks.
///
/// # Errors
///
/// Returns an error for a panel of other than two agents, fewer than 250 days, returns that do not vary, or tracks that
/// are copies.
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
/// A pair differs where its p-value is at most `level`, adjusted by the largest distance of all pairs in each resample
/// and stepped down: the chance that any pair differs whose ratios are one is `level`, and the count of draws need not
/// grow with the count of pairs.
///
/// The best agent leads the first band, which holds all that cannot be told from it; the best of the others leads the
/// next. `rank_by` says who is better, by default the Sharpe ratio.
///
/// For its p-value alone a pair is resampled until 20 resamples are as far off as the sample, or `draws.n` are drawn:
/// both give one that is at most as small as it should be (Besag and Clifford 1991). Copies are tied.
///
/// # Errors
///
/// Returns an error for fewer than two agents or 250 days, returns that do not vary, or so few draws that no pair could be
/// told apart.
///
/// Source: Romano and Wolf (2005); Ledoit and Wolf (2008).
pub fn tie_bands(
    panel: &Panel<'_>,
    periods_per_year: f64,
    level: f64,
    rank_by: Option<&[f64]>,
    draws: &Draws,
) -> Result<Bands, TestError> {
    let (tracks, ranks) = contestants(panel, periods_per_year, level, rank_by, draws)?;
    let year = periods_per_year.sqrt();
    let pair = |contest: Contest| Pair {
        first: contest.first,
        second: contest.second,
        difference: contest.difference * year,
        p_value: contest.p_value,
        adjusted: contest.adjusted,
    };
    let contests = decide(&tracks, level, draws, Alone::Every);
    let bands = bands(&ranks, &contests, level);
    Ok(Bands { bands, pairs: contests.into_iter().map(pair).collect(), block_length: tracks.block() })
}

/// Returns the bands of [`tie_bands`] and nothing else, which takes less.
pub(crate) fn bands_alone(
    panel: &Panel<'_>,
    periods_per_year: f64,
    level: f64,
    rank_by: &[f64],
    draws: &Draws,
) -> Result<Vec<Vec<usize>>, TestError> {
    let (tracks, ranks) = contestants(panel, periods_per_year, level, Some(rank_by), draws)?;
    Ok(bands(&ranks, &decide(&tracks, level, draws, Alone::Differing), level))
}

/// Returns the tracks of a panel and what ranks them.
fn contestants<'a>(
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

fn bands(rank_by: &[f64], pairs: &[Contest], level: f64) -> Vec<Vec<usize>> {
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
