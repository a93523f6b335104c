use crate::Panel;

/// Returns the variance of means under the stationary bootstrap, times the days.
///
/// It is exact, the variance over all resamples, and needs no draws. For one window it is the kernel of Hansen, `C(0) +
/// 2 sum over i of (1 - i / T) q^i C(i)`, with the circular autocovariance C(i). Two running sums compute it in one
/// pass over the days.
///
/// Source: Politis and Romano (1994), lemma 1; Hansen (2005), section 3.1.
pub(super) fn kernel_variance(panel: &Panel<'_>, means: &[f64], mean_length: f64) -> Vec<f64> {
    let stay = 1.0 - 1.0 / mean_length;
    let each = means.iter().enumerate();
    each.map(|(agent, mean)| {
        let deviations: Vec<f64> = panel.column(agent).iter().map(|r| r - mean).collect();
        variance(&deviations, panel, stay)
    })
    .collect()
}

fn variance(deviations: &[f64], panel: &Panel<'_>, stay: f64) -> f64 {
    let n = deviations.len();
    let squares: f64 = deviations.iter().map(|x| x * x).sum();
    let pairs: f64 = panel.edges().map(|(from, to)| later(&deviations[from..to], n, stay)).sum();
    (squares + 2.0 * pairs) / n as f64
}

/// Returns the weighted products of days of a window with later days.
///
/// It is the sum over days of `x(t) sum over 0 < i < n of (1 - i / n) stay^i x(t + i)`, with days in a circle.
fn later(window: &[f64], n: usize, stay: f64) -> f64 {
    let length = window.len();
    // For the current day: sums over i of stay^i x(t + i) and of i stay^i x(t + i).
    let (mut plain, mut timed, mut power) = (0.0, 0.0, 1.0);
    for i in 1..n {
        power *= stay;
        let term = power * window[(length - 1 + i) % length];
        plain += term;
        timed += i as f64 * term;
    }
    let end = power * stay;
    let whole = n as f64;
    let mut total = 0.0;
    for t in (0..length).rev() {
        total += window[t] * (plain - timed / whole);
        // The day before adds this day in front, and drops the day `n - 1` days ahead.
        let gone = end * window[(t + n - 1) % length];
        timed = stay * (timed + plain + window[t]) - whole * gone;
        plain = stay * (plain + window[t]) - gone;
    }
    total
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pass_over_the_days_is_the_sum_over_all_pairs_of_days() {
        for length in [1, 2, 7, 31] {
            let window: Vec<f64> = (0..length).map(|i| f64::from((i * 29) % 13) - 6.0).collect();
            for (n, stay) in [(31, 0.0), (31, 0.5), (40, 0.95)] {
                let mut expected = 0.0;
                for t in 0..window.len() {
                    for i in 1..n {
                        let weight = (1.0 - i as f64 / n as f64) * libm::pow(stay, i as f64);
                        expected += window[t] * weight * window[(t + i) % window.len()];
                    }
                }
                let found = later(&window, n, stay);
                assert!((found - expected).abs() < 1e-10 * expected.abs().max(1.0), "{length} {n} {stay}");
            }
        }
    }
}
