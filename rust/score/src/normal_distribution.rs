//! The standard normal distribution, accurate far into both tails.

use std::f64::consts::{FRAC_1_SQRT_2, PI};

/// The square root of one half less `FRAC_1_SQRT_2`.
const ROOT_REST: f64 = -4.833_646_656_726_458e-17;

/// Returns the probability that a standard normal variable is at most `x`.
///
/// The lower tail keeps its relative precision down to the smallest double. Use `cdf(-x)` for the upper tail.
#[must_use]
pub fn cdf(x: f64) -> f64 {
    let z = -x * FRAC_1_SQRT_2;
    let tail = libm::erfc(z);
    if !(1.0..40.0).contains(&z) {
        return 0.5 * tail;
    }
    // In the tail an error of z is multiplied by 2 z^2 in erfc(z): the rounding error of z is corrected.
    let lost = rest_of_product(-x, FRAC_1_SQRT_2, z) - x * ROOT_REST;
    0.5 * tail * (1.0 - lost * (z + (z * z + 2.0).sqrt()))
}

/// Returns the density of the standard normal distribution at `x`.
#[must_use]
pub fn density(x: f64) -> f64 {
    libm::exp(-0.5 * x * x) / (2.0 * PI).sqrt()
}

/// Returns `a * b` less its rounded value.
///
/// Source: Dekker (1971).
fn rest_of_product(a: f64, b: f64, rounded: f64) -> f64 {
    let ((a_high, a_low), (b_high, b_low)) = (split(a), split(b));
    ((a_high * b_high - rounded) + a_high * b_low + a_low * b_high) + a_low * b_low
}

/// Returns the upper 26 bits of a number, and the rest.
fn split(a: f64) -> (f64, f64) {
    let scaled = 134_217_729.0 * a;
    let high = scaled - (scaled - a);
    (high, a - high)
}

/// Returns the quantile of a probability.
///
/// Infinite at 0 and 1, NaN outside. Near 1 a double cannot hold `p` precisely: use `-quantile(1 - p)`.
///
/// Source: Wichura (1988), AS 241, with a step of Halley in the tails.
#[must_use]
pub fn quantile(p: f64) -> f64 {
    if p.is_nan() || !(0.0..=1.0).contains(&p) {
        return f64::NAN;
    }
    let q = p - 0.5;
    if q.abs() <= 0.425 {
        let r = 0.180_625 - q * q;
        return q * ratio(r, &CENTRE);
    }
    // Exact for every double above one half.
    let tail = if q < 0.0 { p } else { 1.0 - p };
    if tail == 0.0 {
        return f64::INFINITY.copysign(q);
    }
    let r = (-libm::log(tail)).sqrt();
    let x = -if r <= 5.0 { ratio(r - 1.6, &TAIL) } else { ratio(r - 5.0, &FAR_TAIL) };
    refined(x, tail).abs().copysign(q)
}

/// Returns `x` in the lower tail after a step of Halley toward `cdf(x) = tail`.
fn refined(x: f64, tail: f64) -> f64 {
    // A subnormal density has too few digits for a division.
    if tail < 1e-300 {
        return x;
    }
    let step = (cdf(x) - tail) / density(x);
    x - step / (1.0 + 0.5 * x * step)
}

/// Returns the quotient of two polynomials, coefficients from the constant up.
fn ratio(r: f64, polynomials: &[[f64; 8]; 2]) -> f64 {
    let [above, below] = polynomials.map(|each| each.iter().rev().fold(0.0, |sum, coefficient| sum * r + coefficient));
    above / below
}

/// Coefficients for p within 0.425 of one half, in 0.180625 - (p - 0.5)^2.
const CENTRE: [[f64; 8]; 2] = [
    [
        3.387_132_872_796_366_5,
        1.331_416_678_917_843_8e2,
        1.971_590_950_306_551_3e3,
        1.373_169_376_550_946e4,
        4.592_195_393_154_987e4,
        6.726_577_092_700_87e4,
        3.343_057_558_358_813e4,
        2.509_080_928_730_122_7e3,
    ],
    [
        1.0,
        4.231_333_070_160_091e1,
        6.871_870_074_920_579e2,
        5.394_196_021_424_751e3,
        2.121_379_430_158_659_7e4,
        3.930_789_580_009_271e4,
        2.872_908_573_572_194_3e4,
        5.226_495_278_852_854e3,
    ],
];

/// Coefficients for tails down to exp(-25), in the root of -ln(p), less 1.6.
const TAIL: [[f64; 8]; 2] = [
    [
        1.423_437_110_749_683_5,
        4.630_337_846_156_546,
        5.769_497_221_460_691,
        3.647_848_324_763_204_5,
        1.270_458_252_452_368_4,
        2.417_807_251_774_506e-1,
        2.272_384_498_926_918_4e-2,
        7.745_450_142_783_414e-4,
    ],
    [
        1.0,
        2.053_191_626_637_759,
        1.676_384_830_183_803_8,
        6.897_673_349_851e-1,
        1.481_039_764_274_800_8e-1,
        1.519_866_656_361_645_7e-2,
        5.475_938_084_995_345e-4,
        1.050_750_071_644_416_9e-9,
    ],
];

/// Coefficients for smaller tails, in that root less 5.
const FAR_TAIL: [[f64; 8]; 2] = [
    [
        6.657_904_643_501_103,
        5.463_784_911_164_114,
        1.784_826_539_917_291_3,
        2.965_605_718_285_048_7e-1,
        2.653_218_952_657_612_4e-2,
        1.242_660_947_388_078_4e-3,
        2.711_555_568_743_487_6e-5,
        2.010_334_399_292_288_1e-7,
    ],
    [
        1.0,
        5.998_322_065_558_88e-1,
        1.369_298_809_227_358e-1,
        1.487_536_129_085_061_5e-2,
        7.868_691_311_456_133e-4,
        1.846_318_317_510_054_8e-5,
        1.421_511_758_316_446e-7,
        2.044_263_103_389_939_8e-15,
    ],
];
