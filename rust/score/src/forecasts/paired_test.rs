use super::forecast_intervals::{check_count, interval};
use crate::bootstrap::Stream;
use crate::{BadSetup, Draws};

/// Comparison of the losses of two agents on their common markets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PairedForecasts {
    /// Lower end of the 95 % interval of the mean difference.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Share of resamples of markets in which the first agent has the lower loss.
    pub better: f64,
    /// Two-sided probability of such a difference between exchangeable agents.
    pub p_value: f64,
}

/// Compares two agents by the differences of their losses, one per market.
///
/// The differences are whole numbers of any unit, so that sums are exact and ties are exact. The p-value is from random
/// signs, `(1 + #{|sum*| >= |sum|}) / (n + 1)`; the interval and the share are from resampled markets.
///
/// # Errors
///
/// Returns an error for fewer than 1,999 draws, or no difference.
///
/// Source: Fisher (1935), section 21; Phipson and Smyth (2010).
pub fn paired_forecasts(differences: &[i64], draws: &Draws) -> Result<PairedForecasts, BadSetup> {
    check_count(draws.n)?;
    if differences.is_empty() {
        return Err(BadSetup::Forecasts { n_markets: 0, index: None });
    }
    let sum: i128 = differences.iter().map(|each| i128::from(*each)).sum();
    let mut signs = Stream::signs(draws.seed);
    let reached = (0..draws.n).filter(|_| signed_sum(differences, &mut signs).abs() >= sum.abs()).count();
    let mut clusters = Stream::clusters(draws.seed);
    let n = differences.len();
    let mut resample = || (0..n).map(|_| i128::from(differences[clusters.below(n)])).sum::<i128>();
    let drawn: Vec<i128> = (0..draws.n).map(|_| resample()).collect();
    let better = drawn.iter().filter(|sum| **sum < 0).count();
    let mut means: Vec<f64> = drawn.iter().map(|sum| *sum as f64 / n as f64).collect();
    let (low, high) = interval(&mut means);
    let p_value = (1 + reached) as f64 / (1 + draws.n) as f64;
    Ok(PairedForecasts { low, high, better: better as f64 / draws.n as f64, p_value })
}

/// Returns the sum of the differences with random signs.
fn signed_sum(differences: &[i64], signs: &mut Stream) -> i128 {
    let mut sum = 0;
    for some in differences.chunks(u64::BITS as usize) {
        let mut bits = signs.bits();
        for each in some {
            sum += if bits & 1 == 1 { i128::from(*each) } else { -i128::from(*each) };
            bits >>= 1;
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    const DRAWS: Draws = Draws { n: 1_999, seed: 3, block_length: None };

    #[test]
    fn agents_that_lose_the_same_cannot_be_told_apart() {
        let found = paired_forecasts(&[0; 30], &DRAWS).unwrap();
        assert_eq!(found, PairedForecasts { low: 0.0, high: 0.0, better: 0.0, p_value: 1.0 });
    }

    #[test]
    fn one_that_always_loses_less_is_better() {
        let found = paired_forecasts(&[-5; 30], &DRAWS).unwrap();
        assert_eq!((found.low, found.high, found.better), (-5.0, -5.0, 1.0));
        assert!(found.p_value <= 2.0 / 2_000.0);
    }

    #[test]
    fn signs_reach_a_sum_as_often_as_they_do_in_every_choice_of_them() {
        let differences = [3, -1, 4, 1, -5, 9, 2, -6, 5, 3];
        let reached = (0_u32..1 << 10).filter(|choice| {
            let sign = |place: usize| if choice >> place & 1 == 1 { 1 } else { -1 };
            differences.iter().enumerate().map(|(place, each)| each * sign(place)).sum::<i64>().abs() >= 15
        });
        let exact = reached.count() as f64 / 1_024.0;
        let found = paired_forecasts(&differences, &Draws { n: 100_000, ..DRAWS }).unwrap();
        assert!((found.p_value - exact).abs() < 0.006, "{} {exact}", found.p_value);
    }

    #[test]
    fn no_difference_is_refused() {
        assert!(paired_forecasts(&[], &DRAWS).is_err());
        assert!(paired_forecasts(&[1], &Draws { n: 10, ..DRAWS }).is_err());
    }
}
