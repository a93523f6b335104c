//! Tests of each window of an agent.

use super::field_agents::Agent;
use super::reason::{Known, Unknown};
use super::{Gates, PassK, WindowKey};
use crate::error::Undefined;
use crate::metrics::moments::Moments;
use crate::skill::{probabilistic_sharpe, z_score};
use crate::{holm, normal_distribution, volatility};

/// The fewest windows of a test on the number of wins.
const MIN_COUNTED: usize = 5;

/// One window of an agent; lists are against each benchmark of the edition.
#[derive(Clone, Debug, PartialEq)]
pub struct WindowScore {
    /// The window.
    pub key: WindowKey,
    /// Display name of its market.
    pub name: String,
    /// Its first and last date, if known.
    pub dates: Option<(String, String)>,
    /// Days of the window.
    pub n_days: usize,
    /// Number of returns.
    pub n_returns: usize,
    /// Number of runs, each with its own fill key.
    pub n_seeds: usize,
    /// Number of runs that pass.
    pub n_passed: usize,
    /// Return over the window, averaged over seeds.
    pub return_: Known,
    /// Annual volatility, averaged over seeds.
    pub volatility: Known,
    /// Excess of the ratio of active returns over 0, in standard errors.
    pub z: Vec<Known>,
    /// Probability of such a low ratio at a true ratio of 0, adjusted for windows.
    pub p_below: Vec<Known>,
}

/// Results of the tests of all windows.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct WindowTests {
    pub windows: Vec<WindowScore>,
    /// Smallest adjusted p-value of a window below a benchmark.
    pub p_below: Known,
    /// Windows above the benchmark, for the benchmark with fewer.
    pub n_won: usize,
    /// Required number of wins; absent for fewer than five windows.
    pub n_needed: Option<usize>,
    pub pass_k: PassK,
}

/// Returns the results of the tests of the windows of an agent.
pub(super) fn test_windows(agent: &Agent<'_>, gates: &Gates) -> WindowTests {
    let edges: Vec<(usize, usize)> = crate::bootstrap::edges(&agent.tracks.lengths()).collect();
    let mut windows: Vec<WindowScore> =
        edges.iter().enumerate().map(|(place, days)| window(agent, place, *days, gates)).collect();
    let mut p_below: Known = Err(Unknown::Undefined(Undefined::NoVariation));
    let mut n_won = usize::MAX;
    for (side, (_, series)) in agent.average.sides().into_iter().enumerate() {
        let Ok(series) = series else { continue };
        let of_window = |(from, to): &(usize, usize)| Moments::of(&series[*from..*to]).and_then(|of| z_score(&of, 0.0));
        let ratios: Vec<Result<f64, Undefined>> = edges.iter().map(of_window).collect();
        let results: Vec<f64> = ratios.iter().flatten().map(|z| normal_distribution::cdf(*z)).collect();
        let mut adjusted = holm(&results).unwrap_or_default().into_iter();
        let mut won = 0;
        for ((score, z), (from, to)) in windows.iter_mut().zip(&ratios).zip(&edges) {
            score.z[side] = z.map_err(Unknown::from);
            score.p_below[side] = z.map_err(Unknown::from).map(|_| adjusted.next().unwrap_or(1.0));
            won += usize::from(series[*from..*to].iter().sum::<f64>() > 0.0);
            if let Ok(p) = score.p_below[side] {
                p_below = Ok(p_below.map_or(p, |least| least.min(p)));
            }
        }
        n_won = n_won.min(won);
    }
    let n_needed = (edges.len() >= MIN_COUNTED).then(|| wins_needed(edges.len(), gates.level));
    let passes: Vec<(usize, usize)> = windows.iter().map(|window| (window.n_passed, window.n_seeds)).collect();
    WindowTests { windows, p_below, n_won, n_needed, pass_k: PassK::of(&passes) }
}

fn window(agent: &Agent<'_>, place: usize, (from, to): (usize, usize), gates: &Gates) -> WindowScore {
    let runs = &agent.tracks.windows[place];
    let passes = |seed: &super::active_returns::Active| {
        let of = |series: &[f64]| Moments::of(&series[from..to]).and_then(|of| probabilistic_sharpe(&of, 0.0));
        let clears = |(_, series): &(&str, Known<&[f64]>)| match series {
            Ok(series) => of(series).is_ok_and(|psr| psr >= gates.pass_bar),
            Err(unknown) => unknown.is_absent(),
        };
        seed.sides().iter().all(clears)
    };
    let first = runs.runs[0];
    let unknown: Vec<Known> =
        agent.average.sides().iter().map(|(_, series)| Err(series.err().unwrap_or(Unknown::NoBenchmark))).collect();
    WindowScore {
        key: runs.key,
        name: first.dataset_name.clone(),
        dates: first.dates.first().cloned().zip(first.dates.last().cloned()),
        n_days: runs.n_days(),
        n_returns: to - from,
        n_seeds: runs.runs.len(),
        n_passed: agent.seeds.iter().filter(|seed| passes(seed)).count(),
        return_: crate::total_return(&agent.returns[from..to]).map_err(Unknown::from),
        volatility: volatility(&agent.returns[from..to], first.periods_per_year).map_err(Unknown::from),
        z: unknown.clone(),
        p_below: unknown,
    }
}

/// Returns the smallest number of wins that is significant for fair coins.
///
/// Its probability is at most `level`. It is one more than the number of windows if even all wins are not significant.
fn wins_needed(n: usize, level: f64) -> usize {
    // In logarithms: with more than a thousand coins the probability of all heads underflows.
    let mut ways = n as f64 * -std::f64::consts::LN_2;
    let mut tail = 0.0;
    for lost in 0..=n {
        tail += libm::exp(ways);
        if tail > level {
            return n - lost + 1;
        }
        ways += libm::log((n - lost) as f64 / (lost + 1) as f64);
    }
    0
}

#[cfg(test)]
mod tests {
    use super::wins_needed;

    #[test]
    fn as_many_wins_are_needed_as_fair_coins_hardly_reach() {
        // For 8 coins, 7 or more have probability 9 / 256 = 3.5 %. For 10 coins, 9 or more have 11 / 1024, and 8 or
        // more 5.5 %.
        for (n, needed) in
            [(4, 5), (5, 5), (6, 6), (7, 7), (8, 7), (10, 9), (24, 17), (100, 59), (1200, 629), (5000, 2559)]
        {
            assert_eq!(wins_needed(n, 0.05), needed, "{n}");
        }
    }
}
