use super::long_run_variance::long_run_variance;
use super::mean_test::alone;
use super::{Draws, Panel, Starts, TestError, check_year_and_level, edges, influence, sharpe_block_length, sufficient};
use crate::error::Undefined;
use crate::metrics::moments::{mean, standard_deviation};

/// The fewest blocks for a variance between blocks.
const MIN_BLOCKS: usize = 10;

/// A standard error of a Sharpe ratio per day that is only rounding.
const MIN_ERROR: f64 = 1e-9;

/// Ratio of a fixed block length to the mean length of the stationary bootstrap.
///
/// The variance of the stationary bootstrap has a factor 2 where that of fixed blocks has 4/3, under a cube root.
/// Source: Patton, Politis and White (2009).
const FIXED_LENGTH: f64 = 1.144_714_242_553_332;

/// An annual estimate with its standard error and interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// Estimate of the sample.
    pub estimate: f64,
    /// Standard error of the estimate.
    pub standard_error: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Two-sided probability of such an estimate at a true value of 0.
    pub p_value: f64,
    /// Block length in days.
    pub block_length: usize,
}

/// Returns a two-sided interval of the annual Sharpe ratio.
///
/// The method is a studentised block bootstrap; see [`crate::sharpe_difference`] for two tracks.
///
/// # Errors
///
/// Returns an error for a panel of more than one agent, fewer than 250 days, or constant returns.
///
/// Source: Götze and Künsch (1996); Ledoit and Wolf (2008).
pub fn sharpe_interval(
    series: &Panel<'_>,
    periods_per_year: f64,
    level: f64,
    draws: &Draws,
) -> Result<Interval, TestError> {
    alone(series)?;
    Tracks::new(series, draws)?.interval(&[1.0], periods_per_year, level, draws)
}

/// Tracks prepared for resampling in blocks of one length inside of windows.
pub(crate) struct Tracks<'a> {
    windows: &'a [usize],
    n_days: usize,
    /// Block length in days.
    block: usize,
    pub(crate) each: Vec<Track>,
}

/// A track in a resample.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Resampled {
    /// Sharpe ratio per day; NaN for a constant resample.
    pub(crate) ratio: f64,
    /// Variance over that of the sample.
    pub(crate) variance: f64,
}

/// Contributions of the blocks of a resample to the ratio of a track.
#[derive(Clone, Debug)]
pub(crate) struct Adds {
    pub(crate) each: Vec<f64>,
    /// Intermediate sums of squares.
    squares: Vec<f64>,
}

impl Adds {
    pub(crate) fn new(n_blocks: usize) -> Self {
        Self { each: vec![0.0; n_blocks], squares: vec![0.0; n_blocks] }
    }
}

/// A standardised track.
pub(crate) struct Track {
    /// Sharpe ratio per day.
    pub(crate) ratio: f64,
    influence: Vec<f64>,
    /// Sum and sum of squares over the block that starts on each day.
    blocks: Vec<(f64, f64)>,
}

impl<'a> Tracks<'a> {
    pub(crate) fn new(panel: &Panel<'a>, draws: &Draws) -> Result<Self, TestError> {
        sufficient(panel, 1)?;
        let (n_days, windows) = (panel.n_days(), panel.windows());
        let most = n_days / MIN_BLOCKS;
        let estimate = || sharpe_block_length(panel).map(|length| length * FIXED_LENGTH);
        #[expect(clippy::cast_sign_loss, reason = "a length is at least 1")]
        let block = draws.length(most, estimate)?.ceil() as usize;
        let track = |agent| Track::new(&panel.column(agent), windows, block);
        let each = (0..panel.n_agents()).map(track).collect::<Result<_, _>>()?;
        Ok(Self { windows, n_days, block, each })
    }

    /// Returns the block length in days.
    pub(crate) fn block(&self) -> usize {
        self.block
    }

    /// Returns the number of blocks per resample.
    pub(crate) fn n_blocks(&self) -> usize {
        self.n_days / self.block
    }

    /// Returns the draws of the first day of every block.
    pub(crate) fn starts(&self, draws: &Draws) -> Starts {
        Starts::new(self.n_days, draws.seed)
    }

    /// Returns the standard error per day of a signed sum of Sharpe ratios.
    ///
    /// # Errors
    ///
    /// Undefined for an error that is only rounding, as for copies of one track.
    pub(crate) fn standard_error(&self, signs: &[(usize, f64)]) -> Result<f64, Undefined> {
        let mut influence = vec![0.0; self.n_days];
        for (place, sign) in signs {
            influence.iter_mut().zip(&self.each[*place].influence).for_each(|(sum, x)| *sum += sign * x);
        }
        let n = self.n_days as f64;
        let error = (long_run_variance(&influence, self.windows) / (n - 4.0)).sqrt();
        if error > MIN_ERROR { Ok(error) } else { Err(Undefined::NoPrecision) }
    }

    /// Returns the annual interval of a signed sum of the Sharpe ratios.
    pub(crate) fn interval(
        &self,
        signs: &[f64],
        periods_per_year: f64,
        level: f64,
        draws: &Draws,
    ) -> Result<Interval, TestError> {
        check_year_and_level(periods_per_year, level)?;
        draws.check(least_draws(level))?;
        let places: Vec<(usize, f64)> = signs.iter().copied().enumerate().collect();
        let error = self.standard_error(&places)?;
        let estimate: f64 = self.each.iter().zip(signs).map(|(track, sign)| sign * track.ratio).sum();
        let mut starts = self.starts(draws);
        let mut resample = vec![0; self.n_blocks()];
        let (mut sum, mut one) = (vec![0.0; resample.len()], Adds::new(resample.len()));
        let mut distance = || {
            starts.draw(&mut resample);
            sum.fill(0.0);
            let mut shift = -estimate;
            for (track, sign) in self.each.iter().zip(signs) {
                shift += sign * track.resample(&resample, self.block, &mut one).ratio;
                sum.iter_mut().zip(&one.each).for_each(|(sum, x)| *sum += sign * x);
            }
            self.studentised(shift, sum.iter().map(|x| x * x).sum())
        };
        let mut distances: Vec<f64> = (0..draws.n).map(|_| distance()).collect();
        let reached = distances.iter().filter(|distance| **distance >= estimate.abs() / error).count();
        let place = least_rank(level, draws.n) - 1;
        let (_, most, _) = distances.select_nth_unstable_by(place, f64::total_cmp);
        let (year, half) = (periods_per_year.sqrt(), *most * error);
        Ok(Interval {
            estimate: estimate * year,
            standard_error: error * year,
            low: (estimate - half) * year,
            high: (estimate + half) * year,
            p_value: (1 + reached) as f64 / (1 + draws.n) as f64,
            block_length: self.block,
        })
    }

    /// Returns a shift in its own standard errors, from the squares of blocks.
    ///
    /// It is infinite if these are 0.
    pub(crate) fn studentised(&self, shift: f64, squares: f64) -> f64 {
        let error = self.block_error(squares);
        let distance = shift.abs() / error;
        if error > MIN_ERROR && distance.is_finite() { distance } else { f64::INFINITY }
    }

    /// Returns the standard error per day from the squares of blocks.
    pub(crate) fn block_error(&self, squares: f64) -> f64 {
        squares.sqrt() / (self.n_blocks() * self.block) as f64
    }

    /// Returns the squares of blocks from the standard error per day.
    pub(crate) fn squares_of(&self, error: f64) -> f64 {
        let root = error * (self.n_blocks() * self.block) as f64;
        root * root
    }
}

impl Track {
    fn new(returns: &[f64], windows: &[usize], block: usize) -> Result<Self, Undefined> {
        let (centre, n) = (mean(returns)?, returns.len() as f64);
        let deviation = standard_deviation(returns)? * ((n - 1.0) / n).sqrt();
        let scaled: Vec<f64> = returns.iter().map(|r| (r - centre) / deviation).collect();
        let mut blocks = Vec::with_capacity(scaled.len());
        for (from, to) in edges(windows) {
            let day = |place: usize| scaled[from + place % (to - from)];
            let sums = |first| (first..first + block).map(day).fold((0.0, 0.0), |(s, q), z| (s + z, q + z * z));
            blocks.extend((0..to - from).map(sums));
        }
        Ok(Self { ratio: centre / deviation, influence: influence(returns)?, blocks })
    }

    /// Returns the Sharpe ratio of a resample, and writes its block contributions.
    pub(crate) fn resample(&self, starts: &[u32], block: usize, adds: &mut Adds) -> Resampled {
        let length = block as f64;
        let n = starts.len() as f64 * length;
        // Four lanes, index mod 4: a single sum would have a serial dependence.
        let mut lanes = [(0.0, 0.0); 4];
        let drawn = adds.each.chunks_mut(4).zip(adds.squares.chunks_mut(4)).zip(starts.chunks(4));
        for ((sums, squares), starts) in drawn {
            for (((lane, start), sum), square) in lanes.iter_mut().zip(starts).zip(sums).zip(squares) {
                (*sum, *square) = self.blocks[*start as usize];
                *lane = (lane.0 + *sum, lane.1 + *square);
            }
        }
        let [a, b, c, d] = lanes;
        let (sum, squares) = ((a.0 + b.0) + (c.0 + d.0), (a.1 + b.1) + (c.1 + d.1));
        let centre = sum / n;
        let variance = squares / n - centre * centre;
        let deviation = variance.sqrt();
        let ratio = (self.ratio + centre) / deviation;
        let (linear, square) = (1.0 / deviation + ratio * centre / variance, -0.5 * ratio / variance);
        let constant = length * (square * (centre * centre - variance) - centre / deviation);
        for (add, q) in adds.each.iter_mut().zip(&adds.squares) {
            *add = linear * *add + square * q + constant;
        }
        Resampled { ratio, variance }
    }
}

/// Returns the rank of the distance that ends an interval, from 1.
///
/// 0 is then inside of the interval exactly if the p-value exceeds `1 - level`.
#[expect(clippy::cast_sign_loss, reason = "a level is above 0")]
fn least_rank(level: f64, n: usize) -> usize {
    // A product within a rounding of a whole number is that number.
    (level * (n + 1) as f64 - 1e-9).ceil() as usize
}

/// Returns the number of draws for an interval of a level.
#[expect(clippy::cast_sign_loss, reason = "a level is above 0 and below 1")]
pub(crate) fn least_draws(level: f64) -> usize {
    (level / (1.0 - level) - 1e-9).ceil() as usize
}
