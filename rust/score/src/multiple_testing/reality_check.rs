use super::kernel_variance::kernel_variance;
use crate::bootstrap::{Sums, each_chunk, sufficient};
use crate::error::Undefined;
use crate::{Draws, Panel, TestError, block_length};

/// Tests of a field of agents: of its best, and of each agent.
///
/// All numbers are one-sided p-values of mean returns over the benchmark, from the same resamples.
#[derive(Clone, Debug, PartialEq)]
pub struct FieldTests {
    /// Reality Check of White: no agent beats the benchmark, by the largest mean.
    pub reality_check: f64,
    /// SPA test of Hansen by the largest studentised mean, without losing agents.
    pub spa_lower: f64,
    /// SPA test without agents that lose significantly (consistent).
    pub spa_consistent: f64,
    /// SPA test with all agents at break-even (upper).
    pub spa_upper: f64,
    /// Studentised mean of each agent.
    pub statistics: Vec<f64>,
    /// Unadjusted p-value of each agent.
    pub alone: Vec<f64>,
    /// Romano-Wolf p-value of each agent, adjusted for the field.
    pub romano_wolf: Vec<f64>,
    /// Mean block length in days.
    pub block_length: f64,
}

/// Tests the returns of agents over a benchmark.
///
/// White's Reality Check, the three p-values of Hansen's test of superior predictive ability (SPA), Romano and Wolf's
/// step-down, and each agent alone, all from the same resamples of the stationary bootstrap. A p-value is `(1 +
/// #{statistic* >= statistic}) / (n + 1)`. Means are studentised by their exact variance under that bootstrap.
///
/// # Errors
///
/// Returns an error for fewer than 250 days, or an agent with constant returns.
///
/// Source: White (2000); Hansen (2005); Romano and Wolf (2005, 2016).
pub fn field_tests(panel: &Panel<'_>, draws: &Draws) -> Result<FieldTests, TestError> {
    draws.check(1)?;
    sufficient(panel, 1)?;
    let length = draws.length(panel.n_days(), || block_length(panel))?;
    let sums = Sums::new(panel);
    let field = Field::new(panel, sums.means(), length)?;
    let mut counts = Counts::new(panel.n_agents());
    each_chunk(panel, draws, length, &sums, |deviations| {
        deviations.chunks_exact(panel.n_agents()).for_each(|row| counts.add(&field, row));
    });
    Ok(counts.tests(field, draws.n, length))
}

/// Statistics of the sample.
struct Field {
    means: Vec<f64>,
    /// Factors that studentise the means.
    scales: Vec<f64>,
    statistics: Vec<f64>,
    /// Shifts of the deviations for the three SPA p-values, in standard errors.
    shifts: [Vec<f64>; 3],
    largest_mean: f64,
    largest_statistic: f64,
    /// Indices of the agents, largest statistic first.
    order: Vec<usize>,
}

impl Field {
    fn new(panel: &Panel<'_>, means: &[f64], length: f64) -> Result<Self, Undefined> {
        let n = panel.n_days() as f64;
        let variances = kernel_variance(panel, means, length);
        // Below 0 by rounding, for blocks as long as the sample.
        if let Some(agent) = variances.iter().position(|variance| *variance <= 0.0) {
            return Err(Undefined::ConstantAgent { agent });
        }
        let scales: Vec<f64> = variances.iter().map(|variance| (n / variance).sqrt()).collect();
        let statistics: Vec<f64> = means.iter().zip(&scales).map(|(mean, scale)| mean * scale).collect();
        let far = -(2.0 * libm::log(libm::log(n))).sqrt();
        let shift = |centre: fn(f64, f64) -> f64| statistics.iter().map(|t| t - centre(*t, far)).collect::<Vec<f64>>();
        let mut order: Vec<usize> = (0..means.len()).collect();
        order.sort_by(|a, b| statistics[*b].total_cmp(&statistics[*a]));
        Ok(Self {
            shifts: [shift(|t, _| t.max(0.0)), shift(|t, far| if t >= far { t } else { 0.0 }), shift(|t, _| t)],
            largest_mean: means.iter().copied().fold(f64::NEG_INFINITY, f64::max),
            largest_statistic: statistics[order[0]].max(0.0),
            means: means.to_vec(),
            scales,
            statistics,
            order,
        })
    }
}

/// Number of resamples with a statistic as large as in the sample.
struct Counts {
    reality_check: usize,
    spa: [usize; 3],
    alone: Vec<usize>,
    stepped: Vec<usize>,
    studentised: Vec<f64>,
}

impl Counts {
    fn new(n_agents: usize) -> Self {
        let (alone, stepped) = (vec![0; n_agents], vec![0; n_agents]);
        Self { reality_check: 0, spa: [0; 3], alone, stepped, studentised: vec![0.0; n_agents] }
    }

    /// Counts a resample with means that deviate by `row` from the sample.
    fn add(&mut self, field: &Field, row: &[f64]) {
        let mut largest = f64::NEG_INFINITY;
        for (agent, deviation) in row.iter().enumerate() {
            largest = largest.max(*deviation);
            self.alone[agent] += usize::from(*deviation >= field.means[agent]);
            self.studentised[agent] = deviation * field.scales[agent];
        }
        self.reality_check += usize::from(largest >= field.largest_mean);
        for (count, shifts) in self.spa.iter_mut().zip(&field.shifts) {
            let moved = self.studentised.iter().zip(shifts).map(|(t, shift)| t + shift);
            *count += usize::from(moved.fold(0.0, f64::max) >= field.largest_statistic);
        }
        let mut largest = f64::NEG_INFINITY;
        for agent in field.order.iter().rev() {
            largest = largest.max(self.studentised[*agent]);
            self.stepped[*agent] += usize::from(largest >= field.statistics[*agent]);
        }
    }

    fn tests(self, field: Field, n: usize, block_length: f64) -> FieldTests {
        let p = |count: usize| (1 + count) as f64 / (1 + n) as f64;
        let [spa_lower, spa_consistent, spa_upper] = self.spa.map(p);
        let mut romano_wolf = vec![0.0; field.order.len()];
        let mut last: f64 = 0.0;
        for agent in &field.order {
            last = last.max(p(self.stepped[*agent]));
            romano_wolf[*agent] = last;
        }
        FieldTests {
            reality_check: p(self.reality_check),
            spa_lower,
            spa_consistent,
            spa_upper,
            alone: self.alone.into_iter().map(p).collect(),
            romano_wolf,
            statistics: field.statistics,
            block_length,
        }
    }
}
