use std::collections::BTreeSet;

use crate::Draws;
use crate::bootstrap::{Adds, Resampled, Starts, Track, Tracks};

/// Number of exceedances after which the resampling of a pair stops.
///
/// The p-value then has a relative standard error of a fifth.
const ENOUGH: usize = 20;

/// Distance in standard errors from which a pair is likely to differ.
const LIKELY: f64 = 2.0;

/// Blocks after which a sum that is already too large is abandoned.
const STRETCH: usize = 32;

/// Share of the variance of the sample below which a resample is uninformative.
///
/// Such a track is left out of the resample; a smaller error counts as its square root.
const LEAST_VARIANCE: f64 = 0.25;

/// Two tracks with the difference of their Sharpe ratios and its significance.
#[derive(Clone, Debug)]
pub(crate) struct PairTest {
    pub first: usize,
    pub second: usize,
    /// Sharpe ratio per day of the first less that of the second.
    pub difference: f64,
    /// Its standard error; absent for copies.
    error: Option<f64>,
    /// The difference in standard errors.
    distance: f64,
    /// Unadjusted p-value of this pair.
    pub p_value: f64,
    /// p-value adjusted for all pairs.
    pub adjusted: f64,
}

impl PairTest {
    fn new(tracks: &Tracks<'_>, first: usize, second: usize) -> Self {
        let difference = tracks.each[first].ratio - tracks.each[second].ratio;
        let error = tracks.standard_error(&[(first, 1.0), (second, -1.0)]).ok();
        let distance = error.map_or(0.0, |error| difference.abs() / error);
        Self { first, second, difference, error, distance, p_value: 1.0, adjusted: 1.0 }
    }
}

/// Pairs that get an unadjusted p-value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unadjusted {
    /// Every pair.
    Every,
    /// Pairs that differ by the adjusted p-value.
    Differing,
}

/// Tests every pair of tracks at a level.
///
/// The null distribution is the largest distance of all pairs in each resample. Pairs that differ are removed, and the
/// others are compared with the largest distance of those left, until no more differ. Every step uses the same
/// resamples, and their number does not grow with the number of pairs.
///
/// A resample without the few days that make the variance of a track, or the error of a pair, could give any distance
/// to any pair. Such a track is left out of the resample, and such a pair counts with half of the error of the sample,
/// so that other pairs are not tied by them. The unadjusted p-value of such a pair counts all resamples, and the
/// adjusted one is never below it.
///
/// Source: Romano and Wolf (2005); Ledoit and Wolf (2008).
pub(crate) fn test_pairs(tracks: &Tracks<'_>, level: f64, draws: &Draws, unadjusted: Unadjusted) -> Vec<PairTest> {
    let n_agents = tracks.each.len();
    let every = (0..n_agents).flat_map(|first| (first + 1..n_agents).map(move |second| (first, second)));
    let mut pair_tests: Vec<PairTest> = every.map(|(first, second)| PairTest::new(tracks, first, second)).collect();
    let known = |pair_test: &PairTest| {
        pair_test.error.is_some() && (unadjusted == Unadjusted::Every || pair_test.distance > LIKELY)
    };
    let mut tally = Tally::new(&pair_tests, known);
    step_down(tracks, &mut pair_tests, level, draws, &mut tally);
    // Pairs that differ unexpectedly were not counted on the way.
    let mut late = Tally::new(&pair_tests, |pair_test| !known(pair_test) && pair_test.adjusted <= level);
    let mut resamples = Resamples::new(tracks, &pair_tests, &late.open, draws);
    for n in 1..=draws.n {
        if late.open.is_empty() {
            break;
        }
        resamples.draw();
        late.count(n, resamples.resample(), &pair_tests);
    }
    tally.finish(&mut pair_tests);
    late.finish(&mut pair_tests);
    pair_tests
}

/// Pairs with unadjusted p-values in progress; no adjusted p-value is smaller.
struct Tally {
    asked: Vec<usize>,
    open: Vec<usize>,
    reached: Vec<usize>,
    seen: Vec<usize>,
}

impl Tally {
    fn new(pair_tests: &[PairTest], is_asked: impl Fn(&PairTest) -> bool) -> Self {
        let asked: Vec<usize> = (0..pair_tests.len()).filter(|place| is_asked(&pair_tests[*place])).collect();
        let nothing = vec![0; pair_tests.len()];
        Self { open: asked.clone(), asked, reached: nothing.clone(), seen: nothing }
    }

    /// Counts resample `n`.
    fn count(&mut self, n: usize, resample: &Resample<'_, '_>, pair_tests: &[PairTest]) {
        let Self { reached, seen, .. } = self;
        self.open.retain(|place| {
            let pair_test = &pair_tests[*place];
            reached[*place] += usize::from(resample.reaches(pair_test, pair_test.distance));
            seen[*place] = n;
            reached[*place] < ENOUGH
        });
    }

    /// Sets the p-value of each pair.
    fn finish(self, pair_tests: &mut [PairTest]) {
        for place in self.asked {
            let (pair_test, reached, n) = (&mut pair_tests[place], self.reached[place], self.seen[place]);
            let more = usize::from(reached < ENOUGH);
            pair_test.p_value = (more + reached) as f64 / (more + n) as f64;
            pair_test.adjusted = pair_test.adjusted.max(pair_test.p_value);
        }
    }
}

/// Sets the adjusted p-value of each pair.
///
/// The first step uses every resample, and counts exceedances of single pairs.
fn step_down(tracks: &Tracks<'_>, pair_tests: &mut [PairTest], level: f64, draws: &Draws, tally: &mut Tally) {
    let mut is_open: Vec<bool> = pair_tests.iter().map(|pair_test| pair_test.error.is_some()).collect();
    let mut farthest: Vec<Option<Farthest>> = vec![None; draws.n];
    let mut least = 0.0_f64;
    loop {
        let open: Vec<usize> = (0..pair_tests.len()).filter(|place| is_open[*place]).collect();
        if open.is_empty() {
            return;
        }
        let pair = |place: &usize| {
            let PairTest { first, second, error, .. } = pair_tests[*place];
            Some(PairData { place: *place as u32, first: first as u32, second: second as u32, error: error? })
        };
        let pair_data: Vec<PairData> = open.iter().filter_map(pair).collect();
        let mut resamples = Resamples::new(tracks, pair_tests, &open, draws);
        for (n, farthest) in farthest.iter_mut().enumerate() {
            resamples.draw();
            // The farthest pair of all stays the farthest while it is open.
            if farthest.is_none_or(|pair| !is_open[pair.place]) {
                let resample = resamples.resample();
                if farthest.is_none() {
                    tally.count(n + 1, resample, pair_tests);
                }
                *farthest = Some(resample.farthest(pair_tests, &pair_data));
            }
        }
        let mut distances: Vec<f64> = farthest.iter().flatten().map(|pair| pair.distance).collect();
        distances.sort_unstable_by(f64::total_cmp);
        for place in &open {
            let pair_test = &mut pair_tests[*place];
            let reached = distances.len() - distances.partition_point(|other| *other < pair_test.distance);
            pair_test.adjusted = least.max((1 + reached) as f64 / (1 + draws.n) as f64);
        }
        let differ: Vec<usize> = open.into_iter().filter(|place| pair_tests[*place].adjusted <= level).collect();
        if differ.is_empty() {
            return;
        }
        for place in differ {
            least = least.max(pair_tests[place].adjusted);
            is_open[place] = false;
        }
    }
}

/// The compact data of a pair for one look at a resample.
///
/// A million pairs are looked at two thousand times.
#[derive(Clone, Copy, Debug)]
struct PairData {
    place: u32,
    first: u32,
    second: u32,
    error: f64,
}

/// The pair with the largest distance in a resample.
#[derive(Clone, Copy, Debug)]
struct Farthest {
    place: usize,
    distance: f64,
}

/// Resamples of the tracks of several pairs.
struct Resamples<'a, 'b> {
    members: Vec<usize>,
    starts: Starts,
    drawn: Vec<u32>,
    resample: Resample<'a, 'b>,
}

impl<'a, 'b> Resamples<'a, 'b> {
    fn new(tracks: &'a Tracks<'b>, pair_tests: &[PairTest], pairs: &[usize], draws: &Draws) -> Self {
        let both = pairs.iter().flat_map(|place| [pair_tests[*place].first, pair_tests[*place].second]);
        let members: BTreeSet<usize> = both.collect();
        let (n_agents, n_blocks) = (tracks.each.len(), tracks.n_blocks());
        let nothing = Resampled { ratio: f64::NAN, variance: 0.0 };
        let adds = vec![Adds::new(n_blocks); n_agents];
        Self {
            members: members.into_iter().collect(),
            starts: tracks.starts(draws),
            drawn: vec![0; n_blocks],
            resample: Resample { tracks, each: vec![nothing; n_agents], adds },
        }
    }

    /// Draws the next resample.
    fn draw(&mut self) {
        self.starts.draw(&mut self.drawn);
    }

    /// Returns the last resample.
    fn resample(&mut self) -> &Resample<'a, 'b> {
        let Resample { tracks, each, adds } = &mut self.resample;
        for place in &self.members {
            each[*place] = tracks.each[*place].resample(&self.drawn, tracks.block(), &mut adds[*place]);
        }
        &self.resample
    }
}

/// Tracks in one resample.
struct Resample<'a, 'b> {
    tracks: &'a Tracks<'b>,
    each: Vec<Resampled>,
    /// Contributions of each block to the ratio of each track.
    adds: Vec<Adds>,
}

impl Resample<'_, '_> {
    /// Returns the difference of a pair less that of the sample.
    fn shift(&self, pair_test: &PairTest) -> f64 {
        (self.each[pair_test.first].ratio - self.each[pair_test.second].ratio - pair_test.difference).abs()
    }

    /// Returns whether the distance of a pair reaches a bound.
    ///
    /// Also if the distance is undefined.
    fn reaches(&self, pair_test: &PairTest, distance: f64) -> bool {
        let shift = self.shift(pair_test);
        if !shift.is_finite() {
            return true;
        }
        let squares = self.squares(pair_test, shift, distance);
        squares.is_some_and(|squares| self.tracks.studentised(shift, squares) >= distance)
    }

    /// Returns the pair with the largest distance.
    fn farthest(&self, pair_tests: &[PairTest], pair_data: &[PairData]) -> Farthest {
        let own = |(one, track): (&Resampled, &Track)| {
            if one.variance >= LEAST_VARIANCE { one.ratio - track.ratio } else { f64::NAN }
        };
        let shifts: Vec<f64> = self.each.iter().zip(&self.tracks.each).map(own).collect();
        // By the error of the sample; NaN, which exceeds nothing, for a track that is left out.
        let near = |pair: &PairData| (shifts[pair.first as usize] - shifts[pair.second as usize]).abs() / pair.error;
        let (mut likely, mut nearest) = (&pair_data[0], 0.0);
        for pair in pair_data {
            let distance = near(pair);
            if distance > nearest {
                (likely, nearest) = (pair, distance);
            }
        }
        // The error of a resample counts as at least half of that of the sample.
        let most = LEAST_VARIANCE.sqrt().recip();
        let mut farthest = Farthest { place: pair_data[0].place as usize, distance: 0.0 };
        for pair in std::iter::once(likely).chain(pair_data) {
            if near(pair) * most > farthest.distance {
                let place = pair.place as usize;
                let farther = self.farther(&pair_tests[place], pair.error, farthest.distance);
                farthest = farther.map_or(farthest, |distance| Farthest { place, distance });
            }
        }
        farthest
    }

    /// Returns the distance of a pair if it exceeds another.
    fn farther(&self, pair_test: &PairTest, error: f64, other: f64) -> Option<f64> {
        let shift = self.shift(pair_test);
        let own = self.tracks.block_error(self.squares(pair_test, shift, other)?);
        Some(shift / own.max(error * LEAST_VARIANCE.sqrt())).filter(|distance| *distance > other)
    }

    /// Returns the sum of squares of the contributions to the difference of a pair.
    ///
    /// `None` once the sum is too large for the shift to exceed the distance.
    fn squares(&self, pair_test: &PairTest, shift: f64, distance: f64) -> Option<f64> {
        let error = shift / distance * (1.0 + 1e-9);
        squares(&self.adds[pair_test.first].each, &self.adds[pair_test.second].each, self.tracks.squares_of(error))
    }
}

/// Returns the sum of squared differences in eight lanes, index mod 8.
///
/// `None` once it exceeds `most`, since no square reduces it.
fn squares(these: &[f64], those: &[f64], most: f64) -> Option<f64> {
    let mut lane = [0.0; 8];
    for (these, those) in these.chunks(STRETCH).zip(those.chunks(STRETCH)) {
        for (a, b) in these.chunks(8).zip(those.chunks(8)) {
            for (lane, (a, b)) in lane.iter_mut().zip(a.iter().zip(b)) {
                *lane += (a - b) * (a - b);
            }
        }
        if sum(&lane) > most {
            return None;
        }
    }
    Some(sum(&lane))
}

fn sum(lane: &[f64; 8]) -> f64 {
    ((lane[0] + lane[4]) + (lane[2] + lane[6])) + ((lane[1] + lane[5]) + (lane[3] + lane[7]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sum_of_squares_is_left_only_where_it_is_above_what_is_asked() {
        let these: Vec<f64> = (0..101).map(|i| f64::from(i % 7)).collect();
        let those = vec![1.0; 101];
        let whole: f64 = these.iter().map(|a| (a - 1.0) * (a - 1.0)).sum();
        assert_eq!(squares(&these, &those, f64::INFINITY), Some(whole));
        assert_eq!(squares(&these, &those, whole), Some(whole));
        assert_eq!(squares(&these, &those, whole - 0.5), None);
        assert_eq!(squares(&these, &those, 1.0), None);
    }
}
