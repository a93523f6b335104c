use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use crate::scenario::Key;

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
    /// Times a standard normal it is a Student t of variance 1. A chi-square of 2k degrees is -2 log of a product of k
    /// uniforms.
    #[inline]
    pub(super) fn tail(&mut self, degrees: u32) -> f64 {
        let (mut product, mut left) = (1.0, degrees / 2);
        while left > 0 {
            // Three uniforms of 21 bits.
            let mut bits = self.0.next_u64();
            for _ in 0..left.min(3) {
                product *= ((bits & 0x1f_ffff) as f64 + 0.5) / 2_097_152.0;
                bits >>= 21;
            }
            left = left.saturating_sub(3);
        }
        (f64::from(degrees - 2) / (-2.0 * libm::log(product))).sqrt()
    }
}

/// Returns the quantile of the standard normal to 1e-15.
///
/// Source: Wichura (1988), algorithm AS 241, PPND16.
#[inline]
fn quantile(p: f64) -> f64 {
    let q = p - 0.5;
    if q.abs() <= 0.425 {
        let r = 0.180_625 - q * q;
        return q * ratio(r, &CENTRE);
    }
    let tail = if q < 0.0 { p } else { 1.0 - p };
    let r = (-libm::log(tail)).sqrt();
    let value = if r <= 5.0 { ratio(r - 1.6, &MIDDLE) } else { ratio(r - 5.0, &END) };
    if q < 0.0 { -value } else { value }
}

/// Returns the ratio of two polynomials, each from the highest power down.
#[inline]
fn ratio(x: f64, [above, below]: &[[f64; 8]; 2]) -> f64 {
    let value = |of: &[f64; 8]| of.iter().fold(0.0, |sum, coefficient| sum * x + coefficient);
    value(above) / value(below)
}

const CENTRE: [[f64; 8]; 2] = [
    [
        2_509.080_928_730_122_6,
        33_430.575_583_588_13,
        67_265.770_927_008_7,
        45_921.953_931_549_87,
        13_731.693_765_509_46,
        1_971.590_950_306_551_3,
        133.141_667_891_784_38,
        3.387_132_872_796_366_5,
    ],
    [
        5_226.495_278_852_854,
        28_729.085_735_721_943,
        39_307.895_800_092_71,
        21_213.794_301_586_597,
        5_394.196_021_424_751,
        687.187_007_492_057_9,
        42.313_330_701_600_91,
        1.0,
    ],
];

const MIDDLE: [[f64; 8]; 2] = [
    [
        7.745_450_142_783_414e-4,
        0.022_723_844_989_269_184,
        0.241_780_725_177_450_6,
        1.270_458_252_452_368_4,
        3.647_848_324_763_204_5,
        5.769_497_221_460_691,
        4.630_337_846_156_546,
        1.423_437_110_749_683_5,
    ],
    [
        1.050_750_071_644_416_9e-9,
        5.475_938_084_995_345e-4,
        0.015_198_666_563_616_457,
        0.148_103_976_427_480_08,
        0.689_767_334_985_1,
        1.676_384_830_183_803_8,
        2.053_191_626_637_759,
        1.0,
    ],
];

const END: [[f64; 8]; 2] = [
    [
        2.010_334_399_292_288_1e-7,
        2.711_555_568_743_487_6e-5,
        0.001_242_660_947_388_078_4,
        0.026_532_189_526_576_124,
        0.296_560_571_828_504_87,
        1.784_826_539_917_291_3,
        5.463_784_911_164_114,
        6.657_904_643_501_103,
    ],
    [
        2.044_263_103_389_939_8e-15,
        1.421_511_758_316_446e-7,
        1.846_318_317_510_054_8e-5,
        7.868_691_311_456_133e-4,
        0.014_875_361_290_850_615,
        0.136_929_880_922_735_8,
        0.599_832_206_555_888,
        1.0,
    ],
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_quantiles_are_those_of_the_tables() {
        // The three test values of AS 241, and the median.
        for (p, z) in [
            (0.25, -0.674_489_750_196_081_7),
            (0.001, -3.090_232_306_167_813_5),
            (1e-20, -9.262_340_089_798_409),
            (0.5, 0.0),
        ] {
            assert!((quantile(p) - z).abs() <= 1e-14 * (1.0 + z.abs()), "{p}: {}", quantile(p));
        }
    }

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
