//! Branch-free logarithms and exponentials, for vectorized loops.
//!
//! They have the operations of `libm` and give its bits.

const LN2_HIGH: f64 = 6.931_471_803_691_238e-1;
const LN2_LOW: f64 = 1.908_214_929_270_587_7e-10;
const INVERSE_LN2: f64 = std::f64::consts::LOG2_E;
const EVERY_UNIT: f64 = 4_503_599_627_370_496.0;

/// The largest absolute value of a power.
pub(super) const MAX_POWER: f64 = 700.0;

/// Returns the natural logarithm of a positive normal number.
#[inline(always)]
pub(super) fn log(x: f64) -> f64 {
    const UP: u64 = 0x3ff0_0000 - 0x3fe6_a09e;
    let bits = x.to_bits();
    // The number is 2^k times a number between the square roots of 1/2 and 2.
    let high = (bits >> 32) + UP;
    let k = f64::from_bits(EVERY_UNIT.to_bits() | (high >> 20)) - (EVERY_UNIT + 1023.0);
    let f = f64::from_bits(((high & 0xf_ffff) + 0x3fe6_a09e) << 32 | bits & 0xffff_ffff) - 1.0;
    let half_square = 0.5 * f * f;
    let s = f / (2.0 + f);
    let z = s * s;
    let w = z * z;
    let even = w * (3.999_999_999_940_942e-1 + w * (2.222_219_843_214_978_4e-1 + w * 1.531_383_769_920_937_3e-1));
    let odd = 2.857_142_874_366_239e-1 + w * (1.818_357_216_161_805e-1 + w * 1.479_819_860_511_658_6e-1);
    let odd = z * (6.666_666_666_666_735e-1 + w * odd);
    s * (half_square + (odd + even)) + k * LN2_LOW - half_square + f + k * LN2_HIGH
}

/// Returns e to a power of absolute value at most [`MAX_POWER`].
#[inline(always)]
pub(super) fn exp(x: f64) -> f64 {
    let high = (x.to_bits() >> 32) & 0x7fff_ffff;
    let turns = INVERSE_LN2 * x.abs() + 0.5;
    let nearest = (turns + EVERY_UNIT) - EVERY_UNIT;
    let below = if nearest > turns { nearest - 1.0 } else { nearest };
    // Half and three halves of the logarithm of 2, as their upper words.
    let turns = if high >= 0x3ff0_a2b2 { below } else { 1.0 };
    let k = if high > 0x3fd6_2e42 { turns.copysign(x) } else { 0.0 };
    let (hi, lo) = (x - k * LN2_HIGH, k * LN2_LOW);
    let r = hi - lo;
    let square = r * r;
    let tail = -1.653_390_220_546_525_2e-6 + square * 4.138_136_797_057_238_5e-8;
    let tail = -2.777_777_777_701_559_3e-3 + square * (6.613_756_321_437_934e-5 + square * tail);
    let c = r - square * (1.666_666_666_666_660_2e-1 + square * tail);
    let y = 1.0 + (r * c / (2.0 - c) - lo + hi);
    // The lower bits of the sum are the exponent of a double.
    let power = f64::from_bits((k + (EVERY_UNIT + 1023.0)).to_bits() << 52);
    // Below 2^-28 only the first term counts.
    if high > 0x3e30_0000 { y * power } else { 1.0 + x }
}

/// Replaces each power by e to that power.
#[inline(always)]
pub(super) fn exps(powers: &mut [f64]) {
    // The check has no branch per number, so that it is vectorized.
    if powers.iter().fold(true, |all, x| all & (x.abs() <= MAX_POWER)) {
        for x in powers {
            *x = exp(*x);
        }
    } else {
        for x in powers {
            *x = libm::exp(*x);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::Key;
    use crate::scenario::random_stream::{Purpose, Stream};

    #[test]
    fn logs_and_exponentials_have_the_bits_of_libm() {
        let mut stream = Stream::new(&Key::from_seed("train", 1), Purpose::Market, 0);
        for _ in 0..200_000 {
            let u = stream.uniform();
            for x in [u, 1.0 / u, 1.0 - u * 1e-6, libm::exp2(-1000.0 * u), 0.5 + u] {
                assert_eq!(log(x).to_bits(), libm::log(x).to_bits(), "{x:e}");
            }
            for x in [u, 3.0 * u, MAX_POWER * u, 1e-8 * u, 0.3465 + 1e-3 * u, 1.0397 + 1e-3 * u] {
                for x in [x, -x] {
                    assert_eq!(exp(x).to_bits(), libm::exp(x).to_bits(), "{x:e}");
                }
            }
        }
        let edges = [0x3fd6_2e42_u64, 0x3fd6_2e43, 0x3ff0_a2b1, 0x3ff0_a2b2, 0x3e30_0000, 0x3e30_0001, 0, 1];
        for high in edges {
            for low in [0, 1, 0xffff_ffff] {
                let x = f64::from_bits(high << 32 | low);
                assert_eq!(exp(x).to_bits(), libm::exp(x).to_bits(), "{x:e}");
                assert_eq!(exp(-x).to_bits(), libm::exp(-x).to_bits(), "-{x:e}");
            }
        }
        assert_eq!(log(1.0).to_bits(), libm::log(1.0).to_bits());
    }

    #[test]
    fn powers_out_of_range_are_those_of_libm_too() {
        let mut powers = [0.5, -800.0, 750.0, f64::NAN];
        let alone = powers.map(libm::exp);
        exps(&mut powers);
        assert_eq!(powers.map(f64::to_bits), alone.map(f64::to_bits));
    }
}
