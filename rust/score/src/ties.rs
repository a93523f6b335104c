//! Which agents cannot be told apart by their Sharpe ratios.

use std::collections::BTreeSet;

use crate::bootstrap::Tracks;
use crate::field::holm;
use crate::{BadSetup, Draws, Interval, Panel, TestError};

/// Resamples as far off as the sample, after which a pair needs no more of them.
const ENOUGH: usize = 50;

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
    /// The same, for the count of pairs.
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
/// A pair differs where its p-value, adjusted by Holm, is at most `level`.
///
/// The best agent leads the first band, which holds all that cannot be told from it; the best of the others leads the
/// next. `rank_by` says who is better, by default the Sharpe ratio.
///
/// A pair is resampled until 50 resamples are as far off as the sample, or `draws.n` are drawn: both give a p-value that
/// is at most as small as it should be (Besag and Clifford 1991). Copies are tied.
///
/// # Errors
///
/// Returns an error for fewer than two agents or 250 days, returns that do not vary, or so few draws that no pair could be
/// told apart.
pub fn tie_bands(
    panel: &Panel<'_>,
    periods_per_year: f64,
    level: f64,
    rank_by: Option<&[f64]>,
    draws: &Draws,
) -> Result<Bands, TestError> {
    let n_agents = panel.n_agents();
    if n_agents < 2 {
        return Err(BadSetup::Agents { required: "2 or more", received: n_agents }.into());
    }
    crate::bootstrap::check_year_and_level(periods_per_year, level)?;
    #[expect(clippy::cast_sign_loss, reason = "a level is above 0")]
    let least = ((n_agents * (n_agents - 1) / 2) as f64 / level).ceil() as usize;
    draws.check(least)?;
    let tracks = Tracks::new(panel, draws)?;
    let ratios: Vec<f64> = tracks.each.iter().map(|track| track.ratio).collect();
    let rank_by = rank_by.unwrap_or(&ratios);
    if rank_by.len() != n_agents || rank_by.iter().any(|rank| !rank.is_finite()) {
        return Err(BadSetup::Ranks { n_agents, received: rank_by.to_vec() }.into());
    }
    let pairs = pairs(&tracks, periods_per_year, draws);
    let bands = bands(rank_by, &pairs, level);
    Ok(Bands { bands, pairs, block_length: tracks.block() })
}

/// A pair on its way to a p-value.
struct Contest {
    first: usize,
    second: usize,
    difference: f64,
    distance: f64,
    reached: usize,
    p_value: Option<f64>,
}

impl Contest {
    fn new(tracks: &Tracks<'_>, first: usize, second: usize) -> Self {
        let difference = tracks.each[first].ratio - tracks.each[second].ratio;
        let error = tracks.standard_error(&[(first, 1.0), (second, -1.0)]).ok();
        let distance = error.map_or(0.0, |error| difference.abs() / error);
        let p_value = if error.is_none() { Some(1.0) } else { None };
        Self { first, second, difference, distance, reached: 0, p_value }
    }

    /// Counts the `n`-th resample.
    fn count(&mut self, distance: f64, n: usize) {
        self.reached += usize::from(distance >= self.distance);
        if self.reached == ENOUGH {
            self.p_value = Some(ENOUGH as f64 / n as f64);
        }
    }
}

fn pairs(tracks: &Tracks<'_>, periods_per_year: f64, draws: &Draws) -> Vec<Pair> {
    let n_agents = tracks.each.len();
    let every = (0..n_agents).flat_map(|first| (first + 1..n_agents).map(move |second| (first, second)));
    let mut contests: Vec<Contest> = every.map(|(first, second)| Contest::new(tracks, first, second)).collect();
    let mut starts = tracks.starts(draws);
    let mut resample = vec![0; tracks.n_blocks()];
    let mut adds = vec![vec![0.0; tracks.n_blocks()]; n_agents];
    let mut ratios = vec![0.0; n_agents];
    let mut open: Vec<usize> = (0..contests.len()).filter(|place| contests[*place].p_value.is_none()).collect();
    let mut needed = members(&contests, &open);
    for n in 1..=draws.n {
        starts.draw(&mut resample);
        for place in &needed {
            ratios[*place] = tracks.each[*place].resample(&resample, tracks.block(), &mut adds[*place]);
        }
        for place in &open {
            let contest = &mut contests[*place];
            let (first, second) = (contest.first, contest.second);
            let shift = ratios[first] - ratios[second] - contest.difference;
            contest.count(tracks.studentised(shift, squares(&adds[first], &adds[second])), n);
        }
        let n_open = open.len();
        open.retain(|place| contests[*place].p_value.is_none());
        if open.is_empty() {
            break;
        }
        if open.len() < n_open {
            needed = members(&contests, &open);
        }
    }
    let p_of = |contest: &Contest| contest.p_value.unwrap_or((1 + contest.reached) as f64 / (1 + draws.n) as f64);
    let p_values: Vec<f64> = contests.iter().map(p_of).collect();
    let year = periods_per_year.sqrt();
    let adjusted = holm(&p_values).expect("every one is a probability");
    let pair = |(contest, (p_value, adjusted)): (&Contest, (&f64, &f64))| Pair {
        first: contest.first,
        second: contest.second,
        difference: contest.difference * year,
        p_value: *p_value,
        adjusted: *adjusted,
    };
    contests.iter().zip(p_values.iter().zip(&adjusted)).map(pair).collect()
}

/// Returns the tracks of the pairs that are open.
fn members(contests: &[Contest], open: &[usize]) -> Vec<usize> {
    let both = open.iter().flat_map(|place| [contests[*place].first, contests[*place].second]);
    both.collect::<BTreeSet<usize>>().into_iter().collect()
}

/// Returns the sum of the squares of differences, in eight lanes: place mod 8.
fn squares(these: &[f64], those: &[f64]) -> f64 {
    let mut lane = [0.0; 8];
    let (these, those) = (these.chunks(8), those.chunks(8));
    for (a, b) in these.zip(those) {
        for (lane, (a, b)) in lane.iter_mut().zip(a.iter().zip(b)) {
            *lane += (a - b) * (a - b);
        }
    }
    ((lane[0] + lane[4]) + (lane[2] + lane[6])) + ((lane[1] + lane[5]) + (lane[3] + lane[7]))
}

fn bands(rank_by: &[f64], pairs: &[Pair], level: f64) -> Vec<Vec<usize>> {
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
