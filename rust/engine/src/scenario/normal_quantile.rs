//! Quantiles of the standard normal.
//!
//! Source: Wichura (1988), algorithm AS 241, PPND16: to 1e-15.

use crate::scenario::log_exp::log;

/// Half-width of the central interval around 1/2.
const CENTRAL: f64 = 0.425;

/// Number of draws in a chunk.
pub(super) const CHUNK: usize = 128;

/// Returns the quantile of a probability.
#[inline]
pub(super) fn quantile(p: f64) -> f64 {
    let q = p - 0.5;
    if q.abs() <= CENTRAL {
        return centre(q);
    }
    let r = (-log(p.min(1.0 - p))).sqrt();
    (if r <= 5.0 { ratio(r - 1.6, &MIDDLE) } else { ratio(r - 5.0, &END) }).copysign(q)
}

/// Replaces at most [`CHUNK`] probabilities by their quantiles.
///
/// The bits are those of [`quantile`].
#[inline(always)]
pub(super) fn quantiles(p: &mut [f64]) {
    let (mut tails, mut places, mut n_tails) = ([0.5; CHUNK], [0_u16; CHUNK], 0);
    for (i, p) in p.iter().enumerate() {
        (tails[n_tails], places[n_tails]) = (*p, i as u16);
        n_tails += usize::from((p - 0.5).abs() > CENTRAL);
    }
    for p in p.iter_mut() {
        *p = centre(*p - 0.5);
    }
    let mut roots = tails;
    for root in &mut roots[..n_tails] {
        *root = (-log(root.min(1.0 - *root))).sqrt();
    }
    let mut values = roots;
    for value in &mut values[..n_tails] {
        *value = ratio(*value - 1.6, &MIDDLE);
    }
    for i in 0..n_tails {
        let value = if roots[i] <= 5.0 { values[i] } else { ratio(roots[i] - 5.0, &END) };
        p[usize::from(places[i])] = value.copysign(tails[i] - 0.5);
    }
}

#[inline(always)]
fn centre(q: f64) -> f64 {
    q * ratio(0.180_625 - q * q, &CENTRE)
}

/// Returns the ratio of two polynomials, each from the highest power down.
#[inline(always)]
fn ratio(x: f64, [above, below]: &[[f64; 8]; 2]) -> f64 {
    let value = |of: &[f64; 8]| of[1..].iter().fold(of[0], |sum, coefficient| sum * x + coefficient);
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
    use crate::scenario::Key;
    use crate::scenario::random_stream::{Purpose, Stream};

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
    fn many_quantiles_at_once_are_those_of_each_alone() {
        let mut stream = Stream::new(&Key::from_seed("train", 2), Purpose::Market, 0);
        for n in (0..=CHUNK).cycle().take(3000) {
            let mut p: Vec<f64> = (0..n).map(|_| stream.uniform()).collect();
            for (i, p) in p.iter_mut().enumerate().filter(|(i, _)| i % 9 == 0) {
                *p = [*p * 1e-12, 1.0 - *p * 1e-12, 0.5, 0.075, 0.925][i / 9 % 5];
            }
            let alone: Vec<u64> = p.iter().map(|p| quantile(*p).to_bits()).collect();
            quantiles(&mut p);
            assert_eq!(p.iter().map(|z| z.to_bits()).collect::<Vec<_>>(), alone);
        }
    }
}
