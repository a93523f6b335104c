//! Random numbers of a chunk of days, drawn in order and transformed together.

use std::ops::Range;

use crate::scenario::normal_quantile::{CHUNK, quantiles};
use crate::scenario::random_stream::{FACTORS, Stream, factor_of, tail, two_uniforms_of, uniform_of};
use crate::scenario::spec::{DAYS_A_YEAR, Jumps};
use crate::vector::cpu_features::Arch;
use crate::vector::dispatch::vectorized;

/// The most words for the tails of a day: 64 degrees of freedom.
const TAIL_WORDS: usize = 32_usize.div_ceil(FACTORS as usize);

/// Random numbers of at most [`CHUNK`] days.
///
/// [`RandomDraws::take`] draws words one after another; [`RandomDraws::finish`] transforms them.
pub(super) struct RandomDraws {
    pub(super) arch: Arch,
    words: Words,
    /// Normals of the noise of night and session, and the scale of their tails.
    pub(super) normal: [f64; CHUNK],
    pub(super) other: [f64; CHUNK],
    pub(super) scale: [f64; CHUNK],
    pub(super) jump: [f64; CHUNK],
    /// Normals of the fast and slow volatility factors.
    pub(super) fast: [f64; CHUNK],
    pub(super) slow: [f64; CHUNK],
    /// Normal of volume.
    pub(super) busy: [f64; CHUNK],
    /// Uniforms of the extremes of a day, or of the rounding of its open and close.
    pub(super) up: [f64; CHUNK],
    pub(super) down: [f64; CHUNK],
}

/// Random words of days, as drawn from the stream.
struct Words {
    noise: [u64; CHUNK],
    tail: [[u64; CHUNK]; TAIL_WORDS],
    swings: [u64; CHUNK],
    first: [u64; CHUNK],
    second: [u64; CHUNK],
}

/// The numbers that days need in addition to noise.
#[derive(Clone)]
pub(super) struct DrawRequest {
    pub(super) degrees: u32,
    pub(super) jumps: Option<Jumps>,
    pub(super) has_swings: bool,
    pub(super) prices: Prices,
}

/// The last draws of a day, for its prices.
#[derive(Clone)]
pub(super) enum Prices {
    Nothing,
    /// Extremes and volumes, on some days.
    Bars(Range<usize>),
    /// Rounding of open and close.
    Ticks,
}

impl RandomDraws {
    pub(super) fn new() -> Self {
        let none = [0; CHUNK];
        let words = Words { noise: none, tail: [none; TAIL_WORDS], swings: none, first: none, second: none };
        let [normal, other, scale, jump, fast, slow, busy, up, down] = [[0.5; CHUNK]; 9];
        Self { arch: Arch::new(), words, normal, other, scale, jump, fast, slow, busy, up, down }
    }

    /// Draws the words of days, in the order of the stream.
    pub(super) fn take(&mut self, stream: &mut Stream, n_days: usize, request: &DrawRequest) {
        let Self { words, jump, .. } = self;
        let tail = &mut words.tail[..tail_words(request.degrees)];
        let priced = match &request.prices {
            Prices::Nothing => 0..0,
            Prices::Bars(days) => days.clone(),
            Prices::Ticks => 0..n_days,
        };
        for i in 0..n_days {
            words.noise[i] = stream.word();
            for word in tail.iter_mut() {
                word[i] = stream.word();
            }
            if let Some(jumps) = request.jumps {
                jump[i] = price_jump(jumps, stream);
            }
            if request.has_swings {
                words.swings[i] = stream.word();
            }
            if priced.contains(&i) {
                (words.first[i], words.second[i]) = (stream.word(), stream.word());
            }
        }
    }

    /// Transforms the words of days into the requested numbers.
    pub(super) fn finish(&mut self, n_days: usize, request: &DrawRequest) {
        let Self { arch, words, normal, other, scale, fast, slow, busy, up, down, .. } = self;
        let degrees = request.degrees;
        vectorized(
            *arch,
            #[inline(always)]
            || {
                for i in 0..n_days {
                    (normal[i], other[i]) = two_uniforms_of(words.noise[i]);
                    (fast[i], slow[i]) = two_uniforms_of(words.swings[i]);
                }
                let has_bars = matches!(&request.prices, Prices::Bars(days) if !days.is_empty());
                if has_bars {
                    for i in 0..n_days {
                        (up[i], down[i]) = two_uniforms_of(words.first[i]);
                        busy[i] = uniform_of(words.second[i]);
                    }
                } else if matches!(request.prices, Prices::Ticks) {
                    for i in 0..n_days {
                        (up[i], down[i]) = (uniform_of(words.first[i]), uniform_of(words.second[i]));
                    }
                }
                let request = [true, true, request.has_swings, request.has_swings, has_bars];
                let normals = [&mut *normal, other, fast, slow, busy];
                for (draws, _) in normals.into_iter().zip(request).filter(|(_, is_asked)| *is_asked) {
                    quantiles(&mut draws[..n_days]);
                }
                scales(&mut scale[..n_days], &words.tail, degrees);
            },
        );
    }
}

/// Returns a jump in standard deviations.
///
/// Its mean over all days, with and without jumps, is 0.
#[inline]
fn price_jump(jumps: Jumps, stream: &mut Stream) -> f64 {
    let chance = jumps.rate / DAYS_A_YEAR;
    let mean = -chance * jumps.mean;
    if stream.uniform() < chance { mean + jumps.mean + jumps.sd * stream.normal() } else { mean }
}

fn tail_words(degrees: u32) -> usize {
    (degrees / 2).div_ceil(FACTORS) as usize
}

/// Computes the scales of tails.
#[inline(always)]
fn scales(scale: &mut [f64], words: &[[u64; CHUNK]; TAIL_WORDS], degrees: u32) {
    scale.fill(1.0);
    for k in 0..degrees / 2 {
        for (scale, word) in scale.iter_mut().zip(&words[(k / FACTORS) as usize]) {
            *scale *= factor_of(*word, k % FACTORS);
        }
    }
    for scale in scale {
        *scale = tail(degrees, *scale);
    }
}
