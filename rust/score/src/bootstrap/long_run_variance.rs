use super::edges;

/// The largest absolute autocorrelation of the prewhitening.
const MAX_PERSISTENCE: f64 = 0.97;

/// Returns the variance of the mean of a series of mean 0, times its length.
///
/// A Parzen kernel of automatic bandwidth weighs the autocovariances of the residuals of a first-order autoregression.
/// Days of different windows form no pair.
///
/// Source: Andrews (1991); Andrews and Monahan (1992).
pub(crate) fn long_run_variance(series: &[f64], windows: &[usize]) -> f64 {
    let persistence = autoregression(series, windows);
    let mut rest = Vec::with_capacity(series.len());
    let mut lengths = Vec::with_capacity(windows.len());
    for (from, to) in edges(windows) {
        rest.extend(series[from..to].windows(2).map(|pair| pair[1] - persistence * pair[0]));
        lengths.push(to - from - 1);
    }
    let n = rest.len() as f64;
    let left = autoregression(&rest, &lengths);
    let curvature = 4.0 * left * left / libm::pow(1.0 - left, 4.0);
    let bandwidth = 2.6614 * libm::pow(curvature * n, 0.2);
    let mut variance = product(&rest, &lengths, 0) / n;
    let mut lag = 1;
    while (lag as f64) < bandwidth && lag < rest.len() {
        variance += 2.0 * parzen(lag as f64 / bandwidth) * product(&rest, &lengths, lag) / n;
        lag += 1;
    }
    variance / ((1.0 - persistence) * (1.0 - persistence))
}

fn autoregression(series: &[f64], windows: &[usize]) -> f64 {
    let before: f64 = edges(windows).flat_map(|(from, to)| &series[from..to.max(from + 1) - 1]).map(|x| x * x).sum();
    let slope = if before > 0.0 { product(series, windows, 1) / before } else { 0.0 };
    slope.clamp(-MAX_PERSISTENCE, MAX_PERSISTENCE)
}

fn product(series: &[f64], windows: &[usize], lag: usize) -> f64 {
    let long = edges(windows).filter(|(from, to)| to - from > lag);
    long.flat_map(|(from, to)| series[from + lag..to].iter().zip(&series[from..to - lag])).map(|(a, b)| a * b).sum()
}

fn parzen(x: f64) -> f64 {
    let rest = 1.0 - x;
    if x <= 0.5 { 1.0 - 6.0 * x * x * rest } else { 2.0 * rest * rest * rest }
}

#[cfg(test)]
mod tests {
    use rand_chacha::ChaCha8Rng;
    use rand_chacha::rand_core::{Rng, SeedableRng};

    use super::*;

    /// Returns a first-order autoregression of uniform noise, less its mean.
    fn persistent(rho: f64, n: usize) -> Vec<f64> {
        let mut random = ChaCha8Rng::from_seed([7; 32]);
        let mut last = 0.0;
        let mut next = || {
            last = rho * last + f64::from(random.next_u32()) / 4_294_967_296.0 - 0.5;
            last
        };
        let series: Vec<f64> = (0..n).map(|_| next()).collect();
        let mean = series.iter().sum::<f64>() / n as f64;
        series.iter().map(|x| x - mean).collect()
    }

    #[test]
    fn the_variance_of_an_autoregression_is_that_of_its_noise_over_the_square_of_what_it_forgets() {
        for rho in [-0.4_f64, 0.0, 0.6] {
            let found = long_run_variance(&persistent(rho, 40_000), &[20_000, 20_000]);
            let expected = 1.0 / 12.0 / ((1.0 - rho) * (1.0 - rho));
            assert!((found / expected - 1.0).abs() < 0.1, "{rho}: {found} {expected}");
        }
    }

    #[test]
    fn windows_of_a_day_leave_nothing_to_weigh() {
        assert!(long_run_variance(&[1.0, -1.0], &[1, 1]).is_nan());
    }
}
