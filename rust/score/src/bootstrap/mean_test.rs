use super::block_draws::Stream;
use super::block_sums::{ROWS, recount};
use super::{Draws, Panel, Stationary, Sums, TestError, block_length, sufficient};

/// The fewest windows of a sign test.
const MIN_SIGNED: usize = 8;

/// The most windows whose signs are enumerated.
const MAX_EVERY: usize = 16;

/// A test of a mean above 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MeanTest {
    /// Mean per day.
    pub mean: f64,
    /// Probability of such a mean at a true mean of 0.
    pub p_value: f64,
    /// p-value of the signs of the window means; absent for fewer than eight windows.
    pub sign_flip: Option<f64>,
    /// Mean block length in days.
    pub block_length: f64,
}

/// Tests whether the mean of a series over windows is above 0.
///
/// Days are resampled by the stationary bootstrap, with blocks inside of windows. The resampled means are centred at 0,
/// and the p-value is `(1 + #{mean* - mean >= mean}) / (n + 1)`.
///
/// # Errors
///
/// Returns an error for a panel of more than one agent, fewer than two windows or 250 days, or a constant series.
///
/// Source: Politis and Romano (1994); Davison and Hinkley (1997), section 4.2.
pub fn mean_test(series: &Panel<'_>, draws: &Draws) -> Result<MeanTest, TestError> {
    alone(series)?;
    draws.check(1)?;
    sufficient(series, 2)?;
    let length = draws.length(series.n_days(), || block_length(series))?;
    let sums = Sums::new(series);
    let mean = sums.means()[0];
    let mut reached = 0_usize;
    each_chunk(series, draws, length, &sums, |deviations| {
        reached += deviations.iter().filter(|deviation| **deviation >= mean).count();
    });
    let p_value = (1 + reached) as f64 / (1 + draws.n) as f64;
    Ok(MeanTest { mean, p_value, sign_flip: sign_flip(series, draws), block_length: length })
}

/// Refuses more than one agent.
pub(super) fn alone(series: &Panel<'_>) -> Result<(), TestError> {
    if series.n_agents() == 1 {
        return Ok(());
    }
    Err(super::BadSetup::Agents { required: "1", received: series.n_agents() }.into())
}

/// Calls `of` with chunks of rows: resampled means less those of the sample.
pub(crate) fn each_chunk(panel: &Panel<'_>, draws: &Draws, length: f64, sums: &Sums, mut of: impl FnMut(&[f64])) {
    let mut blocks = Stationary::new(panel.windows(), length, draws.seed);
    let mut counts = vec![[0.0; ROWS]; panel.n_days()];
    let mut deviations = vec![0.0; ROWS * panel.n_agents()];
    for first in (0..draws.n).step_by(ROWS) {
        recount(&mut blocks, &mut counts);
        sums.deviations(&counts, &mut deviations);
        of(&deviations[..ROWS.min(draws.n - first) * panel.n_agents()]);
    }
}

/// Returns the probability of such a mean under random signs of the windows.
///
/// Source: Fisher (1935), section 21.
pub(crate) fn sign_flip(series: &Panel<'_>, draws: &Draws) -> Option<f64> {
    let returns = series.column(0);
    let totals: Vec<f64> = series.edges().map(|(from, to)| returns[from..to].iter().sum()).collect();
    if totals.len() < MIN_SIGNED {
        return None;
    }
    // A negative sign costs twice its window. The signed sum reaches the sum if nothing is lost in total.
    let lost = |signs: &mut dyn FnMut() -> bool| totals.iter().filter(|_| signs()).sum::<f64>() <= 0.0;
    if totals.len() <= MAX_EVERY {
        let every = 1_u64 << totals.len();
        let reached = (0..every).filter(|choice| lost(&mut bits_of(*choice))).count();
        return Some(reached as f64 / every as f64);
    }
    let mut stream = Stream::signs(draws.seed);
    let mut left = (0, 0);
    let mut flip = || {
        if left.1 == 0 {
            left = (stream.bits(), u64::BITS);
        }
        let bit = left.0 & 1 == 1;
        left = (left.0 >> 1, left.1 - 1);
        bit
    };
    let reached = (0..draws.n).filter(|_| lost(&mut flip)).count();
    Some((1 + reached) as f64 / (1 + draws.n) as f64)
}

fn bits_of(mut choice: u64) -> impl FnMut() -> bool {
    move || {
        let bit = choice & 1 == 1;
        choice >>= 1;
        bit
    }
}
