use pulp::{Arch, Simd, WithSimd};

use super::Forecasts;
use crate::bootstrap::{MAX_DRAWS, Stream};
use crate::{BadSetup, Draws};

/// Resamples per chunk.
const LANES: usize = 32;

/// Fewest resamples of an interval.
pub(super) const MIN_DRAWS: usize = 1_999;

/// Share of resamples below an interval, and above it.
const TAIL: f64 = 0.025;

/// Share of a field that is its top.
const TOP: f64 = 0.05;

/// Numbers of several resamples.
type Lanes = [f64; LANES];

/// Bootstrap intervals of each agent of a field, from resampled markets.
///
/// Intervals are 95 % intervals, NaN if no resample has a value.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ForecastIntervals {
    /// Lower end of the mean loss.
    pub loss_low: Vec<f64>,
    /// Upper end of the mean loss.
    pub loss_high: Vec<f64>,
    /// Lower end of the skill, 1 less loss over reference.
    pub skill_low: Vec<f64>,
    /// Upper end of the skill.
    pub skill_high: Vec<f64>,
    /// Lower end of the rank by skill; 1 is the best.
    pub rank_low: Vec<f64>,
    /// Upper end of the rank by skill.
    pub rank_high: Vec<f64>,
    /// Share of resamples in which no agent has more skill; ties share it.
    pub best: Vec<f64>,
    /// Share of resamples with a rank in the first 5 %, rounded up.
    pub top: Vec<f64>,
    /// Share of resamples with the rank of the sample, or better.
    pub holds: Vec<f64>,
}

/// Resamples markets, each with all of its forecasts.
///
/// `references` are the expected losses of forecasts without skill, in the order of the forecasts.
///
/// # Errors
///
/// Returns an error for fewer than 1,999 draws, or a reference that is missing, not finite or below 0.
///
/// Source: Cameron, Gelbach and Miller (2008), pairs cluster bootstrap; Efron and Tibshirani (1993), percentiles.
pub fn forecast_intervals(
    forecasts: &Forecasts<'_>,
    references: &[f64],
    draws: &Draws,
) -> Result<ForecastIntervals, BadSetup> {
    check_count(draws.n)?;
    if references.len() != forecasts.losses.len() || references.iter().any(|r| !(r.is_finite() && *r >= 0.0)) {
        let index = references.iter().position(|r| !(r.is_finite() && *r >= 0.0));
        return Err(BadSetup::Forecasts { n_markets: forecasts.n_markets, index });
    }
    let mut table = Table::new(forecasts, references, draws);
    let mut found = ForecastIntervals::default();
    (found.loss_low, found.loss_high) = ends(&mut table.losses, draws.n);
    let (own, mut ranks) = table.ranks(forecasts, references);
    (found.skill_low, found.skill_high) = ends(&mut table.skills, draws.n);
    let share = |counted: f64| counted / draws.n as f64;
    #[expect(clippy::cast_sign_loss, reason = "a share of a count is at least 0")]
    let top = (TOP * forecasts.n_agents() as f64 - 1e-9).ceil() as usize;
    for (row, own) in ranks.each.chunks_exact(draws.n).zip(&own) {
        found.top.push(share(row.iter().filter(|rank| **rank <= top as f64).count() as f64));
        found.holds.push(share(row.iter().filter(|rank| *rank <= own).count() as f64));
    }
    found.best = ranks.best.iter().map(|counted| share(*counted)).collect();
    (found.rank_low, found.rank_high) = ends(&mut ranks.each, draws.n);
    Ok(found)
}

/// Checks the number of draws for an interval.
pub(super) fn check_count(received: usize) -> Result<(), BadSetup> {
    if (MIN_DRAWS..=MAX_DRAWS).contains(&received) {
        return Ok(());
    }
    Err(BadSetup::Count { least: MIN_DRAWS, most: MAX_DRAWS, received })
}

/// Returns the interval of each row of `n` resamples, and sorts the row.
fn ends(rows: &mut [f64], n: usize) -> (Vec<f64>, Vec<f64>) {
    rows.chunks_exact_mut(n).map(interval).unzip()
}

/// Returns the ends of the interval of resamples, and sorts them; NaN comes last.
#[expect(clippy::cast_sign_loss, reason = "a share of a count is at least 0")]
pub(super) fn interval(row: &mut [f64]) -> (f64, f64) {
    row.sort_unstable_by(f64::total_cmp);
    let n = row.iter().rposition(|value| !value.is_nan()).map_or(0, |last| last + 1);
    // For 1,999 these are the 50th from below and from above.
    match (TAIL * (n + 1) as f64 + 1e-9).floor() as usize {
        0 => (f64::NAN, f64::NAN),
        rank => (row[rank - 1], row[n - rank]),
    }
}

/// Mean loss and skill of each agent in each resample, agent by agent.
struct Table {
    losses: Vec<f64>,
    skills: Vec<f64>,
    n_draws: usize,
}

/// Rank of each agent in each resample, agent by agent.
struct Ranks {
    each: Vec<f64>,
    best: Vec<f64>,
}

impl Table {
    fn new(forecasts: &Forecasts<'_>, references: &[f64], draws: &Draws) -> Self {
        let cells = forecasts.n_agents() * draws.n;
        let mut table = Self { losses: vec![0.0; cells], skills: vec![0.0; cells], n_draws: draws.n };
        let mut stream = Stream::clusters(draws.seed);
        let mut counts = vec![[0.0_f32; LANES]; forecasts.n_markets];
        // Vectors at the width of the CPU.
        let arch = Arch::new();
        for first in (0..draws.n).step_by(LANES) {
            let n = LANES.min(draws.n - first);
            recount(&mut stream, &mut counts, n);
            for (agent, own) in forecasts.agents().enumerate() {
                let (markets, losses) = (&forecasts.markets[own.clone()], &forecasts.losses[own.clone()]);
                let sums = arch.dispatch(Sum { markets, losses, references: &references[own], counts: &counts });
                table.write(agent * draws.n + first, n, &sums);
            }
        }
        table
    }

    /// Writes the resamples of an agent; NaN if none of its markets is drawn.
    fn write(&mut self, at: usize, n: usize, [count, loss, reference]: &[Lanes; 3]) {
        for lane in 0..n {
            self.losses[at + lane] = loss[lane] / count[lane];
            self.skills[at + lane] = skill(loss[lane], reference[lane]);
        }
    }

    /// Returns the rank of each agent in the sample, and in each resample.
    fn ranks(&self, forecasts: &Forecasts<'_>, references: &[f64]) -> (Vec<f64>, Ranks) {
        let n_agents = forecasts.n_agents();
        let total = |own: std::ops::Range<usize>| {
            skill(forecasts.losses[own.clone()].iter().sum(), references[own].iter().sum())
        };
        let sample: Vec<f64> = forecasts.agents().map(total).collect();
        let mut order: Vec<usize> = (0..n_agents).collect();
        let (mut own, mut column) = (vec![0.0; n_agents], vec![0.0; n_agents]);
        rank(&sample, &mut order, &mut own);
        let mut ranks = Ranks { each: vec![0.0; self.skills.len()], best: vec![0.0; n_agents] };
        let mut drawn = vec![0.0; n_agents];
        for draw in 0..self.n_draws {
            for (agent, cell) in column.iter_mut().enumerate() {
                *cell = self.skills[agent * self.n_draws + draw];
            }
            rank(&column, &mut order, &mut drawn);
            let n_best = drawn.iter().filter(|rank| **rank == 1.0).count() as f64;
            for (agent, rank) in drawn.iter().enumerate() {
                ranks.each[agent * self.n_draws + draw] = *rank;
                ranks.best[agent] += if *rank == 1.0 { 1.0 / n_best } else { 0.0 };
            }
        }
        (own, ranks)
    }
}

/// Replaces the counts of markets by those of `n` new resamples.
fn recount(stream: &mut Stream, counts: &mut [[f32; LANES]], n: usize) {
    counts.fill([0.0; LANES]);
    let n_markets = counts.len();
    (0..n * n_markets).for_each(|drawn| counts[stream.below(n_markets)][drawn / n_markets] += 1.0);
}

/// Returns 1 less loss over reference, or NaN without a reference.
fn skill(loss: f64, reference: f64) -> f64 {
    if reference > 0.0 { 1.0 - loss / reference } else { f64::NAN }
}

/// Writes 1 plus the number of agents with more skill; NaN ranks last.
fn rank(skills: &[f64], order: &mut [usize], ranks: &mut [f64]) {
    let key = |agent: usize| if skills[agent].is_nan() { f64::NEG_INFINITY } else { skills[agent] };
    // Ties are sorted by index, so that no resample depends on the one before.
    order.sort_unstable_by(|a, b| key(*b).total_cmp(&key(*a)).then(a.cmp(b)));
    for place in 0..order.len() {
        let ties = place > 0 && key(order[place]) == key(order[place - 1]);
        ranks[order[place]] = if ties { ranks[order[place - 1]] } else { (place + 1) as f64 };
    }
}

/// The counts, losses and references of an agent in several resamples.
///
/// Each sum goes from its first market to its last, and no operation is fused: the width of the vectors changes no bit.
struct Sum<'a> {
    markets: &'a [u32],
    losses: &'a [f64],
    references: &'a [f64],
    counts: &'a [[f32; LANES]],
}

impl WithSimd for Sum<'_> {
    type Output = [Lanes; 3];

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> Self::Output {
        /// Lanes kept in registers.
        const HELD: usize = 8;
        let mut sums = [[0.0; LANES]; 3];
        for first in (0..LANES).step_by(HELD) {
            let mut held = [[0.0_f64; HELD]; 3];
            for ((market, loss), reference) in self.markets.iter().zip(self.losses).zip(self.references) {
                let times = &self.counts[*market as usize][first..first + HELD];
                for lane in 0..HELD {
                    let n = f64::from(times[lane]);
                    held[0][lane] += n;
                    held[1][lane] += n * loss;
                    held[2][lane] += n * reference;
                }
            }
            for (sum, held) in sums.iter_mut().zip(&held) {
                sum[first..first + HELD].copy_from_slice(held);
            }
        }
        sums
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DRAWS: Draws = Draws { n: 1_999, seed: 7, block_length: None };

    fn of<'a>(starts: &'a [usize], markets: &'a [u32], losses: &'a [f64], n_markets: usize) -> Forecasts<'a> {
        Forecasts::new(starts, markets, losses, n_markets).unwrap()
    }

    #[test]
    fn an_agent_that_always_loses_the_same_is_sure_of_it_and_the_better_one_is_best() {
        let markets: Vec<u32> = (0..20).chain(0..20).collect();
        let losses: Vec<f64> = std::iter::repeat_n(0.1, 20).chain(std::iter::repeat_n(0.2, 20)).collect();
        let found = forecast_intervals(&of(&[0, 20, 40], &markets, &losses, 20), &[0.25; 40], &DRAWS).unwrap();
        assert!((found.loss_low[0] - 0.1).abs() < 1e-12 && (found.loss_high[0] - 0.1).abs() < 1e-12);
        assert!((found.skill_low[1] - 0.2).abs() < 1e-12 && (found.skill_high[1] - 0.2).abs() < 1e-12);
        assert_eq!((found.best, found.top, found.holds), (vec![1.0, 0.0], vec![1.0, 0.0], vec![1.0, 1.0]));
        assert_eq!((found.rank_low, found.rank_high), (vec![1.0, 2.0], vec![1.0, 2.0]));
    }

    #[test]
    fn agents_that_tie_share_being_best() {
        let markets: Vec<u32> = (0..12).chain(0..12).collect();
        let losses: Vec<f64> = (0..24).map(|place| f64::from(place % 12) / 16.0).collect();
        let found = forecast_intervals(&of(&[0, 12, 24], &markets, &losses, 12), &[0.25; 24], &DRAWS).unwrap();
        assert_eq!(found.best, [0.5, 0.5]);
        assert_eq!(found.rank_high, [1.0, 1.0]);
    }

    #[test]
    fn the_interval_of_a_mean_is_as_wide_as_its_standard_error_says() {
        let n = 400;
        let markets: Vec<u32> = (0..n).collect();
        let losses: Vec<f64> = (0..n).map(|place| f64::from((place * 37) % 101) / 101.0).collect();
        let found = forecast_intervals(&of(&[0, 400], &markets, &losses, 400), &vec![0.25; 400], &DRAWS).unwrap();
        let mean = losses.iter().sum::<f64>() / 400.0;
        let error = (losses.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / 400.0 / 400.0).sqrt();
        assert!(((found.loss_high[0] - found.loss_low[0]) / (2.0 * 1.96 * error) - 1.0).abs() < 0.06);
    }

    #[test]
    fn too_few_draws_and_a_reference_below_0_are_refused() {
        let one = of(&[0, 1], &[0], &[0.1], 1);
        assert!(forecast_intervals(&one, &[0.25], &Draws { n: 1_998, ..DRAWS }).is_err());
        assert!(forecast_intervals(&one, &[-0.25], &DRAWS).is_err());
        assert!(forecast_intervals(&one, &[], &DRAWS).is_err());
    }

    #[test]
    fn the_sums_are_the_same_to_the_bit_on_every_machine() {
        let markets: Vec<u32> = (0..999).collect();
        let losses: Vec<f64> = (0..999).map(|place| libm::sin(f64::from(place)).abs()).collect();
        let counts: Vec<[f32; LANES]> =
            (0..999_u16).map(|place| std::array::from_fn(|lane| f32::from((place * 7 + lane as u16) % 5))).collect();
        let sum = |arch: Arch| {
            let sum = Sum { markets: &markets, losses: &losses, references: &losses, counts: &counts };
            arch.dispatch(sum).map(|row| row.map(f64::to_bits))
        };
        assert_eq!(sum(Arch::new()), sum(Arch::Scalar));
    }
}
