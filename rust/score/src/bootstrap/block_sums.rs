use pulp::{Arch, Simd, WithSimd};

use super::{Panel, Stationary};

/// Agents summed in one vector.
const LANES: usize = 8;

/// Resamples summed at once.
pub(super) const ROWS: usize = 4;

type Lanes = [f64; LANES];

/// Number of times that each day is in each of several resamples.
type Counts = Vec<[f64; ROWS]>;

/// Demeaned returns.
///
/// A resample is the sum over days of the return times its count.
///
/// Each agent has its own lane, its sum goes from the first day to the last, and no operation is fused: the width of
/// the vectors changes no bit.
pub(crate) struct Sums {
    /// For each group of agents, each day.
    groups: Vec<Vec<Lanes>>,
    means: Vec<f64>,
    n_days: usize,
}

impl Sums {
    pub(crate) fn new(panel: &Panel<'_>) -> Self {
        let n_days = panel.n_days();
        let mut means = vec![0.0; panel.n_agents()];
        for row in panel.rows() {
            means.iter_mut().zip(row).for_each(|(sum, r)| *sum += r);
        }
        for sum in &mut means {
            *sum /= n_days as f64;
        }
        let firsts = (0..panel.n_agents()).step_by(LANES);
        let groups = firsts.map(|first| panel.rows().map(|row| group(row, &means, first)).collect()).collect();
        Self { groups, means, n_days }
    }

    /// Returns the mean of each agent.
    pub(crate) fn means(&self) -> &[f64] {
        &self.means
    }

    /// Writes the means of agents in several resamples, less those of the sample.
    ///
    /// A row of `deviations` is a resample.
    pub(super) fn deviations(&self, counts: &Counts, deviations: &mut [f64]) {
        let n_agents = self.means.len();
        // Vectors at the width of the CPU.
        let arch = Arch::new();
        for (group, days) in self.groups.iter().enumerate() {
            let columns = group * LANES..n_agents.min((group + 1) * LANES);
            for (row, sums) in deviations.chunks_exact_mut(n_agents).zip(arch.dispatch(Total { days, counts })) {
                for (deviation, sum) in row[columns.clone()].iter_mut().zip(sums) {
                    *deviation = sum / self.n_days as f64;
                }
            }
        }
    }
}

fn group(row: &[f64], means: &[f64], first: usize) -> Lanes {
    let mut lanes = [0.0; LANES];
    for (lane, (r, mean)) in lanes.iter_mut().zip(row[first..].iter().zip(&means[first..])) {
        *lane = r - mean;
    }
    lanes
}

/// The sums of several agents in several resamples.
struct Total<'a> {
    days: &'a [Lanes],
    counts: &'a Counts,
}

impl WithSimd for Total<'_> {
    type Output = [Lanes; ROWS];

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> Self::Output {
        let mut sums = [[0.0; LANES]; ROWS];
        for place in 0..LANES / S::F64_LANES {
            let mut sum = [simd.splat_f64s(0.0); ROWS];
            for (day, counts) in self.days.iter().zip(self.counts) {
                let day = S::as_simd_f64s(day).0[place];
                for row in 0..ROWS {
                    let times = simd.mul_f64s(simd.splat_f64s(counts[row]), day);
                    sum[row] = simd.add_f64s(sum[row], times);
                }
            }
            for row in 0..ROWS {
                S::as_mut_simd_f64s(&mut sums[row]).0[place] = sum[row];
            }
        }
        sums
    }
}

/// Replaces the counts by those of new resamples.
pub(super) fn recount(blocks: &mut Stationary, counts: &mut Counts) {
    counts.fill([0.0; ROWS]);
    for row in 0..ROWS {
        blocks.draw(|days| counts[days].iter_mut().for_each(|count| count[row] += 1.0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_of_a_resample_is_that_of_its_days() {
        let returns: Vec<f64> = (0..30 * 11).map(|i| f64::from((i * 37) % 101) / 100.0 - 0.4).collect();
        let sums = Sums::new(&Panel::new(&returns, 11, &[30]).unwrap());
        let mut counts = vec![[0.0; ROWS]; 30];
        recount(&mut Stationary::new(&[30], 3.0, 5), &mut counts);
        let mut found = vec![0.0; 11 * ROWS];
        sums.deviations(&counts, &mut found);
        for (place, found) in found.iter().enumerate() {
            let (row, agent) = (place / 11, place % 11);
            let total: f64 = (0..30).map(|day| counts[day][row] * returns[day * 11 + agent]).sum();
            assert!((found - (total / 30.0 - sums.means()[agent])).abs() < 1e-15);
        }
    }

    #[test]
    fn the_sums_are_the_same_to_the_bit_on_every_machine() {
        let days: Vec<Lanes> =
            (0..999).map(|i| [0, 1, 2, 3, 4, 5, 6, 7].map(|a| libm::sin(f64::from(i * 8 + a)))).collect();
        let counts: Counts = (0..999).map(|i| [0, 1, 2, 3].map(|row| f64::from((i * 7 + row * 3) % 5))).collect();
        let total = |arch: Arch| arch.dispatch(Total { days: &days, counts: &counts }).map(|row| row.map(f64::to_bits));
        assert_eq!(total(Arch::new()), total(Arch::Scalar));
    }
}
