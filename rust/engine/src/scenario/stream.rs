use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use crate::scenario::Key;
use crate::scenario::elementary::log;
use crate::scenario::normal::quantile;

/// What a stream of random numbers is for.
///
/// Each purpose and index has a stream of its own: so more symbols, or another use, change no number that was drawn before.
#[derive(Clone, Copy)]
pub(super) enum Purpose {
    Market,
    Sector,
    Symbol,
    /// What a symbol is like: its price, beta, volatility, dividends.
    Nature,
    /// Listings, delistings and halts.
    Life,
}

/// Random numbers that nobody without the key can tell from others.
pub(super) struct Stream(ChaCha8Rng);

impl Stream {
    pub(super) fn new(key: &Key, purpose: Purpose, index: usize) -> Self {
        let mut random = ChaCha8Rng::from_seed(*key.bytes());
        random.set_stream((purpose as u64) << 32 | index as u64);
        Self(random)
    }

    /// Returns a draw in (0, 1), on a lattice of 2^53 + 1 points without its ends.
    #[inline]
    pub(super) fn uniform(&mut self) -> f64 {
        ((self.0.next_u64() >> 11) as f64 + 0.5) / 9_007_199_254_740_992.0
    }

    /// Returns a whole number below `n`, which is far below 2^32.
    #[expect(clippy::cast_possible_truncation, reason = "below `n`")]
    pub(super) fn below(&mut self, n: usize) -> usize {
        // The high half of a product: for such an `n` every number is as likely as any other to 2^-32.
        ((u128::from(self.0.next_u64()) * n as u128) >> 64) as usize
    }

    /// Returns two draws in (0, 1) of 32 bits each.
    #[inline]
    pub(super) fn two_uniforms(&mut self) -> (f64, f64) {
        let bits = self.0.next_u64();
        let scale = |bits: u64| (bits as f64 + 0.5) / 4_294_967_296.0;
        (scale(bits >> 32), scale(bits & 0xffff_ffff))
    }

    /// Returns a standard normal.
    #[inline]
    pub(super) fn normal(&mut self) -> f64 {
        quantile(self.uniform())
    }

    /// Returns two standard normals, none beyond 6.3.
    #[inline]
    pub(super) fn two_normals(&mut self) -> (f64, f64) {
        let (a, b) = self.two_uniforms();
        (quantile(a), quantile(b))
    }

    /// Returns the root of a draw of `degrees - 2` over chi-square of even `degrees`.
    ///
    /// Times a standard normal it is a Student t of variance 1.
    #[inline]
    pub(super) fn tail(&mut self, degrees: u32) -> f64 {
        tail(degrees, self.product(degrees / 2))
    }

    /// Returns the product of `n` draws in (0, 1) of 21 bits each.
    #[inline]
    pub(super) fn product(&mut self, n: u32) -> f64 {
        let (mut product, mut left) = (1.0, n);
        while left > 0 {
            let mut bits = self.0.next_u64();
            for _ in 0..left.min(3) {
                product *= ((bits & 0x1f_ffff) as f64 + 0.5) / 2_097_152.0;
                bits >>= 21;
            }
            left = left.saturating_sub(3);
        }
        product
    }
}

/// Returns the root of `degrees - 2` over the chi-square of a product of uniforms.
///
/// A chi-square of 2k degrees is -2 log of a product of k of them.
#[inline(always)]
pub(super) fn tail(degrees: u32, product: f64) -> f64 {
    (f64::from(degrees - 2) / (-2.0 * log(product))).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_have_the_moments_of_their_laws() {
        let mut stream = Stream::new(&Key::from_seed("train", 1), Purpose::Market, 0);
        let n = 200_000;
        let normals: Vec<f64> = (0..n).map(|_| stream.normal()).collect();
        let moment = |of: &[f64], k: i32| of.iter().map(|x| (0..k).fold(1.0, |y, _| y * x)).sum::<f64>() / f64::from(n);
        // Standard errors are 0.0022, 0.0032 and 0.022.
        assert!(moment(&normals, 1).abs() < 0.009);
        assert!((moment(&normals, 2) - 1.0).abs() < 0.013);
        assert!((moment(&normals, 4) - 3.0).abs() < 0.09);
        let heavy: Vec<f64> = (0..n).map(|_| stream.normal() * stream.tail(8)).collect();
        // A Student t of 8 degrees has excess kurtosis 6 / (8 - 4).
        assert!((moment(&heavy, 2) - 1.0).abs() < 0.02);
        assert!((moment(&heavy, 4) - 4.5).abs() < 0.4, "{}", moment(&heavy, 4));
    }
}
