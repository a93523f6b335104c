use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use crate::scenario::Key;
use crate::scenario::log_exp::log;
use crate::scenario::normal_quantile::quantile;

/// The purpose of a stream of random numbers.
///
/// Each purpose and index has its own stream, so that more symbols or another use change no earlier number.
#[derive(Clone, Copy)]
pub(super) enum Purpose {
    Market,
    Sector,
    Symbol,
    /// Parameters of a symbol: price, beta, volatility and dividends.
    SymbolParameters,
    /// Listings, delistings and halts.
    SymbolLifetime,
}

/// Random numbers that are unpredictable without the key.
pub(super) struct Stream(ChaCha8Rng);

impl Stream {
    pub(super) fn new(key: &Key, purpose: Purpose, index: usize) -> Self {
        let mut random = ChaCha8Rng::from_seed(*key.bytes());
        random.set_stream((purpose as u64) << 32 | index as u64);
        Self(random)
    }

    /// Returns 64 random bits.
    #[inline]
    pub(super) fn word(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Returns a draw in (0, 1) of 53 bits.
    #[inline]
    pub(super) fn uniform(&mut self) -> f64 {
        uniform_of(self.word())
    }

    /// Returns a whole number below `n`, for `n` far below 2^32.
    #[expect(clippy::cast_possible_truncation, reason = "below `n`")]
    pub(super) fn below(&mut self, n: usize) -> usize {
        // The high half of a product: the numbers are equally likely to 2^-32.
        ((u128::from(self.word()) * n as u128) >> 64) as usize
    }

    /// Returns two draws in (0, 1) of 32 bits each.
    #[inline]
    pub(super) fn two_uniforms(&mut self) -> (f64, f64) {
        two_uniforms_of(self.word())
    }

    /// Returns a standard normal.
    #[inline]
    pub(super) fn normal(&mut self) -> f64 {
        quantile(self.uniform())
    }
}

/// Returns the draw in (0, 1) of a word.
///
/// It is on a lattice of 2^53 + 1 points without its ends.
#[inline(always)]
pub(super) fn uniform_of(word: u64) -> f64 {
    ((word >> 11) as f64 + 0.5) / 9_007_199_254_740_992.0
}

/// Returns the two draws in (0, 1) of a word, of 32 bits each.
#[inline(always)]
pub(super) fn two_uniforms_of(word: u64) -> (f64, f64) {
    let scale = |bits: u64| (bits as f64 + 0.5) / 4_294_967_296.0;
    (scale(word >> 32), scale(word & 0xffff_ffff))
}

/// Number of product factors per word.
pub(super) const FACTORS: u32 = 3;

/// Returns the k-th factor of a word: a draw in (0, 1) of 21 bits.
#[inline(always)]
pub(super) fn factor_of(word: u64, k: u32) -> f64 {
    (((word >> (21 * k)) & 0x1f_ffff) as f64 + 0.5) / 2_097_152.0
}

/// Returns the root of `degrees - 2` over the chi-square of a product of uniforms.
///
/// A chi-square of 2k degrees is -2 log of a product of k uniforms. The root times a standard normal is a Student t of
/// variance 1.
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
        let mut product = || {
            let words = [stream.word(), stream.word()];
            (0..4).fold(1.0, |product, k| product * factor_of(words[k as usize / 3], k % FACTORS))
        };
        let tails: Vec<f64> = (0..n).map(|_| tail(8, product())).collect();
        let heavy: Vec<f64> = tails.into_iter().map(|tail| stream.normal() * tail).collect();
        // A Student t of 8 degrees has excess kurtosis 6 / (8 - 4).
        assert!((moment(&heavy, 2) - 1.0).abs() < 0.02);
        assert!((moment(&heavy, 4) - 4.5).abs() < 0.4, "{}", moment(&heavy, 4));
    }
}
