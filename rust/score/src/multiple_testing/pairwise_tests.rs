use std::collections::BTreeSet;

use crate::Draws;
use crate::bootstrap::{Adds, Resampled, Starts, Track, Tracks};

/// Resamples as far off as the sample, after which a pair needs no more of them.
///
/// Its p-value then has a standard error of a fifth of it.
const ENOUGH: usize = 20;

/// Errors apart from which a pair is likely to differ.
const LIKELY: f64 = 2.0;

/// Blocks after which a sum that is large enough already is left.
const STRETCH: usize = 32;

/// Share of the variance of the sample below which a resample says nothing.
///
/// Of a track it is left out; an error counts with its root at least.
const LEAST_VARIANCE: f64 = 0.25;

/// Two tracks, how far apart they are, and how sure that is.
#[derive(Clone, Debug)]
pub(crate) struct Contest {
    pub first: usize,
    pub second: usize,
    /// Sharpe ratio per day of the first less that of the second.
    pub difference: f64,
    /// Its standard error; none for copies.
    error: Option<f64>,
    /// The difference in standard errors.
    distance: f64,
    /// Probability of such a distance for this pair alone.
    pub p_value: f64,
    /// The same for the count of pairs.
    pub adjusted: f64,
}

impl Contest {
    fn new(tracks: &Tracks<'_>, first: usize, second: usize) -> Self {
        let difference = tracks.each[first].ratio - tracks.each[second].ratio;
        let error = tracks.standard_error(&[(first, 1.0), (second, -1.0)]).ok();
        let distance = error.map_or(0.0, |error| difference.abs() / error);
        Self { first, second, difference, error, distance, p_value: 1.0, adjusted: 1.0 }
    }
}

/// Which pairs get a p-value of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Alone {
    /// Every one.
    Every,
    /// Those that would differ without it.
    Differing,
}

/// Returns every pair of some tracks, told apart at a level.
///
/// The largest distance of all pairs in a resample is what the distance of a pair is held against. Those that differ
/// leave, and the others are held against the largest of those that are left, until no more differ. Every step sees the
/// same resamples, and as many of them for any count of pairs.
///
/// A resample without the few days that make a track's variance, or a pair's error, would put any distance to any
/// pair. The first is left out for the track, and the second counts with half the error of the sample: nobody else is
/// tied by them. Such a pair itself has a p-value of its own, which counts them all, and is never below that.
///
/// Source: Romano and Wolf (2005); Ledoit and Wolf (2008).
pub(crate) fn decide(tracks: &Tracks<'_>, level: f64, draws: &Draws, alone: Alone) -> Vec<Contest> {
    let n_agents = tracks.each.len();
    let every = (0..n_agents).flat_map(|first| (first + 1..n_agents).map(move |second| (first, second)));
    let mut contests: Vec<Contest> = every.map(|(first, second)| Contest::new(tracks, first, second)).collect();
    let known = |contest: &Contest| contest.error.is_some() && (alone == Alone::Every || contest.distance > LIKELY);
    let mut tally = Tally::new(&contests, known);
    step_down(tracks, &mut contests, level, draws, &mut tally);
    // Who differs against expectation was not counted on the way.
    let mut late = Tally::new(&contests, |contest| !known(contest) && contest.adjusted <= level);
    let mut resamples = Resamples::new(tracks, &contests, &late.open, draws);
    for n in 1..=draws.n {
        if late.open.is_empty() {
            break;
        }
        resamples.draw();
        late.see(n, resamples.resample(), &contests);
    }
    tally.tell(&mut contests);
    late.tell(&mut contests);
    contests
}

/// Pairs on their way to a p-value alone, which no other p-value is below.
struct Tally {
    asked: Vec<usize>,
    open: Vec<usize>,
    reached: Vec<usize>,
    seen: Vec<usize>,
}

impl Tally {
    fn new(contests: &[Contest], is_asked: impl Fn(&Contest) -> bool) -> Self {
        let asked: Vec<usize> = (0..contests.len()).filter(|place| is_asked(&contests[*place])).collect();
        let nothing = vec![0; contests.len()];
        Self { open: asked.clone(), asked, reached: nothing.clone(), seen: nothing }
    }

    /// Counts the `n`-th resample.
    fn see(&mut self, n: usize, resample: &Resample<'_, '_>, contests: &[Contest]) {
        let Self { reached, seen, .. } = self;
        self.open.retain(|place| {
            let contest = &contests[*place];
            reached[*place] += usize::from(resample.reaches(contest, contest.distance));
            seen[*place] = n;
            reached[*place] < ENOUGH
        });
    }

    /// Gives each pair its p-value.
    fn tell(self, contests: &mut [Contest]) {
        for place in self.asked {
            let (contest, reached, n) = (&mut contests[place], self.reached[place], self.seen[place]);
            let more = usize::from(reached < ENOUGH);
            contest.p_value = (more + reached) as f64 / (more + n) as f64;
            contest.adjusted = contest.adjusted.max(contest.p_value);
        }
    }
}

/// Gives each pair its p-value for the count of pairs.
///
/// The first step sees every resample, and counts them for pairs alone.
fn step_down(tracks: &Tracks<'_>, contests: &mut [Contest], level: f64, draws: &Draws, tally: &mut Tally) {
    let mut is_open: Vec<bool> = contests.iter().map(|contest| contest.error.is_some()).collect();
    let mut farthest: Vec<Option<Farthest>> = vec![None; draws.n];
    let mut least = 0.0_f64;
    loop {
        let open: Vec<usize> = (0..contests.len()).filter(|place| is_open[*place]).collect();
        if open.is_empty() {
            return;
        }
        let bout = |place: &usize| {
            let Contest { first, second, error, .. } = contests[*place];
            Some(Bout { place: *place as u32, first: first as u32, second: second as u32, error: error? })
        };
        let bouts: Vec<Bout> = open.iter().filter_map(bout).collect();
        let mut resamples = Resamples::new(tracks, contests, &open, draws);
        for (n, farthest) in farthest.iter_mut().enumerate() {
            resamples.draw();
            // What is farthest of all stays so for as long as it is open.
            if farthest.is_none_or(|pair| !is_open[pair.place]) {
                let resample = resamples.resample();
                if farthest.is_none() {
                    tally.see(n + 1, resample, contests);
                }
                *farthest = Some(resample.farthest(contests, &bouts));
            }
        }
        let mut distances: Vec<f64> = farthest.iter().flatten().map(|pair| pair.distance).collect();
        distances.sort_unstable_by(f64::total_cmp);
        for place in &open {
            let contest = &mut contests[*place];
            let reached = distances.len() - distances.partition_point(|other| *other < contest.distance);
            contest.adjusted = least.max((1 + reached) as f64 / (1 + draws.n) as f64);
        }
        let differ: Vec<usize> = open.into_iter().filter(|place| contests[*place].adjusted <= level).collect();
        if differ.is_empty() {
            return;
        }
        for place in differ {
            least = least.max(contests[place].adjusted);
            is_open[place] = false;
        }
    }
}

/// What a glance at a pair in a resample takes.
///
/// A million of them are looked at two thousand times.
#[derive(Clone, Copy, Debug)]
struct Bout {
    place: u32,
    first: u32,
    second: u32,
    error: f64,
}

/// The pair of a resample that is farthest off.
#[derive(Clone, Copy, Debug)]
struct Farthest {
    place: usize,
    distance: f64,
}

/// Resamples of the tracks of some pairs.
struct Resamples<'a, 'b> {
    members: Vec<usize>,
    starts: Starts,
    drawn: Vec<u32>,
    resample: Resample<'a, 'b>,
}

impl<'a, 'b> Resamples<'a, 'b> {
    fn new(tracks: &'a Tracks<'b>, contests: &[Contest], pairs: &[usize], draws: &Draws) -> Self {
        let both = pairs.iter().flat_map(|place| [contests[*place].first, contests[*place].second]);
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

    /// Draws the next one.
    fn draw(&mut self) {
        self.starts.draw(&mut self.drawn);
    }

    /// Returns what was drawn last.
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
    /// What each block adds to the ratio of each track.
    adds: Vec<Adds>,
}

impl Resample<'_, '_> {
    /// Returns how far the difference of a pair is from that of the sample.
    fn shift(&self, contest: &Contest) -> f64 {
        (self.each[contest.first].ratio - self.each[contest.second].ratio - contest.difference).abs()
    }

    /// Returns whether a pair is at least as far off as a distance.
    ///
    /// It is, too, where nobody can tell how far.
    fn reaches(&self, contest: &Contest, distance: f64) -> bool {
        let shift = self.shift(contest);
        if !shift.is_finite() {
            return true;
        }
        let squares = self.squares(contest, shift, distance);
        squares.is_some_and(|squares| self.tracks.studentised(shift, squares) >= distance)
    }

    /// Returns which of some pairs is farthest off.
    fn farthest(&self, contests: &[Contest], bouts: &[Bout]) -> Farthest {
        let own = |(one, track): (&Resampled, &Track)| {
            if one.variance >= LEAST_VARIANCE { one.ratio - track.ratio } else { f64::NAN }
        };
        let shifts: Vec<f64> = self.each.iter().zip(&self.tracks.each).map(own).collect();
        // By the error of the sample; NaN, which is above nothing, where a track is left out.
        let near = |bout: &Bout| (shifts[bout.first as usize] - shifts[bout.second as usize]).abs() / bout.error;
        let (mut likely, mut nearest) = (&bouts[0], 0.0);
        for bout in bouts {
            let distance = near(bout);
            if distance > nearest {
                (likely, nearest) = (bout, distance);
            }
        }
        // The error of a resample counts with half of that of the sample at least.
        let most = LEAST_VARIANCE.sqrt().recip();
        let mut farthest = Farthest { place: bouts[0].place as usize, distance: 0.0 };
        for bout in std::iter::once(likely).chain(bouts) {
            if near(bout) * most > farthest.distance {
                let place = bout.place as usize;
                let farther = self.farther(&contests[place], bout.error, farthest.distance);
                farthest = farther.map_or(farthest, |distance| Farthest { place, distance });
            }
        }
        farthest
    }

    /// Returns the distance of a pair where it is more than another.
    fn farther(&self, contest: &Contest, error: f64, other: f64) -> Option<f64> {
        let shift = self.shift(contest);
        let own = self.tracks.block_error(self.squares(contest, shift, other)?);
        Some(shift / own.max(error * LEAST_VARIANCE.sqrt())).filter(|distance| *distance > other)
    }

    /// Returns the sum of squares of what blocks add to the difference of a pair.
    ///
    /// None once they are too many for the shift to be a distance.
    fn squares(&self, contest: &Contest, shift: f64, distance: f64) -> Option<f64> {
        let error = shift / distance * (1.0 + 1e-9);
        squares(&self.adds[contest.first].each, &self.adds[contest.second].each, self.tracks.squares_of(error))
    }
}

/// Returns the sum of the squares of differences, in eight lanes: place mod 8.
///
/// None once it is above `most`; no sum of squares becomes less by another.
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
