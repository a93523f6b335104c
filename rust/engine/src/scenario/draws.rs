//! The random numbers of many days, drawn in order and made normal together.

use std::ops::Range;

use pulp::Arch;

use crate::scenario::factor;
use crate::scenario::normal::{CHUNK, quantiles};
use crate::scenario::spec::Jumps;
use crate::scenario::stream::{Stream, tail};

/// What at most [`CHUNK`] days are made of.
///
/// Uniforms until [`Draws::finish`], then what their names say.
pub(super) struct Draws {
    arch: Arch,
    has_swings: bool,
    has_bars: bool,
    /// The normals of a split of noise, and the scale of its tails.
    pub(super) normal: [f64; CHUNK],
    pub(super) other: [f64; CHUNK],
    pub(super) scale: [f64; CHUNK],
    pub(super) jump: [f64; CHUNK],
    /// The normals of the swings of volatility.
    pub(super) fast: [f64; CHUNK],
    pub(super) slow: [f64; CHUNK],
    /// The normal of volume.
    pub(super) busy: [f64; CHUNK],
    /// Uniforms of the extremes of a day.
    pub(super) up: [f64; CHUNK],
    pub(super) down: [f64; CHUNK],
}

impl Draws {
    pub(super) fn new() -> Self {
        let [even, none] = [[0.5; CHUNK], [0.0; CHUNK]];
        let [normal, other, scale, fast, slow, busy, up, down] = [even; 8];
        let arch = Arch::new();
        Self { arch, has_swings: false, has_bars: false, normal, other, scale, jump: none, fast, slow, busy, up, down }
    }

    /// Draws the noise of a sector, which neither jumps nor swings.
    pub(super) fn take_noise(&mut self, stream: &mut Stream, n_days: usize, degrees: u32) {
        for i in 0..n_days {
            (self.normal[i], self.other[i]) = stream.two_uniforms();
            self.scale[i] = stream.product(degrees / 2);
        }
    }

    /// Draws the noise, jumps and swings of days.
    ///
    /// And, for some of them, what extremes and volumes are made of.
    pub(super) fn take(&mut self, stream: &mut Stream, n_days: usize, degrees: u32, jumps: Jumps, bars: Range<usize>) {
        (self.has_swings, self.has_bars) = (true, !bars.is_empty());
        for i in 0..n_days {
            (self.normal[i], self.other[i]) = stream.two_uniforms();
            self.scale[i] = stream.product(degrees / 2);
            self.jump[i] = factor::jump(jumps, stream);
            (self.fast[i], self.slow[i]) = stream.two_uniforms();
            if bars.contains(&i) {
                (self.up[i], self.down[i]) = stream.two_uniforms();
                self.busy[i] = stream.uniform();
            }
        }
    }

    /// Turns uniforms into normals and scales.
    pub(super) fn finish(&mut self, n_days: usize, degrees: u32) {
        let Self { arch, has_swings, has_bars, normal, other, scale, fast, slow, busy, .. } = self;
        let asked = [(normal, true), (other, true), (fast, *has_swings), (slow, *has_swings), (busy, *has_bars)];
        arch.dispatch(
            #[inline(always)]
            || {
                for (draws, _) in asked.into_iter().filter(|(_, is_asked)| *is_asked) {
                    quantiles(&mut draws[..n_days]);
                }
                for scale in &mut scale[..n_days] {
                    *scale = tail(degrees, *scale);
                }
            },
        );
    }
}
