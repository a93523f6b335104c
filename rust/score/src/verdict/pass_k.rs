/// pass^k: the reliability of passing over windows and seeds.
#[derive(Clone, Debug, PartialEq)]
pub struct PassK {
    /// The probability that `k` of `k` seeds drawn from a window pass.
    ///
    /// The mean over windows; `k` from 1 up.
    pub rates: Vec<f64>,
    /// Whether every seed of every window passes.
    pub passed: bool,
}

impl PassK {
    /// Returns pass^k of windows with `(n_passed, n_seeds)`, at least one window.
    ///
    /// The rate of `k` is the mean over windows of `C(c, k) / C(n, k)`, an unbiased estimate of the probability that
    /// `k` new runs all pass.
    ///
    /// Source: Yao, Shinn, Razavi and Narasimhan (2024).
    #[must_use]
    pub fn of(windows: &[(usize, usize)]) -> Self {
        let most = windows.iter().map(|(_, n)| *n).min().unwrap_or(0);
        let rate = |k: usize| windows.iter().map(|(c, n)| share(*c, *n, k)).sum::<f64>() / windows.len() as f64;
        Self { rates: (1..=most).map(rate).collect(), passed: windows.iter().all(|(c, n)| c == n) }
    }
}

/// Returns `C(c, k) / C(n, k)`.
fn share(c: usize, n: usize, k: usize) -> f64 {
    if c < k {
        return 0.0;
    }
    (0..k).map(|i| (c - i) as f64 / (n - i) as f64).product()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rates_are_those_of_choosing_without_putting_back() {
        // C(3, 2) / C(4, 2) = 3 / 6, and C(4, 2) / C(4, 2) = 1.
        let pass = PassK::of(&[(3, 4), (4, 4)]);
        assert_eq!(pass.rates, [0.875, 0.75, 0.625, 0.5]);
        assert!(!pass.passed);
        assert_eq!(PassK::of(&[(2, 2), (0, 2)]).rates, [0.5, 0.5]);
        assert!(PassK::of(&[(2, 2), (2, 2)]).passed);
    }
}
