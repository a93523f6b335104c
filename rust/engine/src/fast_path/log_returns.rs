//! Log returns of eight accounts.

use pulp::{Simd, WithSimd};

use crate::account::workspace::Workspace;
use crate::vector::lane_sums::{Block, each};

/// Returns the logarithm of 1 plus each of eight returns.
///
/// A sum below `least` is replaced by `least`, which must be positive.
///
/// The bits are those of `libm::log` if the sum is a normal number.
#[must_use]
pub fn log_returns(returns: &Block, least: f64, workspace: &Workspace) -> Block {
    workspace.arch.dispatch(Logs { returns, least })
}

/// Compiled for the vector instructions of the CPU; the bits are the same for all.
struct Logs<'l> {
    returns: &'l Block,
    least: f64,
}

impl WithSimd for Logs<'_> {
    type Output = Block;

    // The expressions of `libm::log` without its branches, which prevent vectorization. Source: FreeBSD, `e_log.c`.
    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> Block {
        const HALF_ROOT: u64 = 0x3fe6_a09e << 32;
        let Self { returns, least } = self;
        let numbers = each(|i| (1.0 + returns[i]).max(least));
        let bits = numbers.map(|number| number.to_bits().wrapping_add((0x3ff0_0000 << 32) - HALF_ROOT));
        let f = bits.map(|bits| f64::from_bits((bits & 0x000f_ffff_ffff_ffff) + HALF_ROOT) - 1.0);
        // 2^52 with the exponent in its last bits, less 2^52 and the bias: a conversion with vector instructions.
        let k = bits.map(|bits| f64::from_bits(bits >> 52 | 0x4330_0000_0000_0000) - 4_503_599_627_371_519.0);
        let half_square = each(|i| 0.5 * f[i] * f[i]);
        let s = each(|i| f[i] / (2.0 + f[i]));
        let z = each(|i| s[i] * s[i]);
        let w = each(|i| z[i] * z[i]);
        let odd = each(|i| w[i] * (LG[1] + w[i] * (LG[3] + w[i] * LG[5])));
        let even = each(|i| z[i] * (LG[0] + w[i] * (LG[2] + w[i] * (LG[4] + w[i] * LG[6]))));
        each(|i| s[i] * (half_square[i] + (even[i] + odd[i])) + k[i] * LN_2[1] - half_square[i] + f[i] + k[i] * LN_2[0])
    }
}

/// The logarithm of 2 in two parts.
const LN_2: [f64; 2] = [0.693_147_180_369_123_8, 1.908_214_929_270_587_7e-10];

/// Coefficients of the series.
const LG: [f64; 7] = [
    0.666_666_666_666_673_5,
    0.399_999_999_994_094_2,
    0.285_714_287_436_623_9,
    0.222_221_984_321_497_84,
    0.181_835_721_616_180_5,
    0.153_138_376_992_093_73,
    0.147_981_986_051_165_86,
];
