use pulp::{Simd, WithSimd};

use crate::vector::cpu_features::Arch;

/// Runs work that is compiled for the vectors of the machine at hand.
///
/// What it computes is the same on each.
///
/// The closure must be `#[inline(always)]`. [`Arch::dispatch`] alone would call it as `FnOnce`, through a shim that is
/// compiled for any machine: then nothing of it is wide.
#[inline(always)]
pub(crate) fn wide<T>(arch: Arch, work: impl FnMut() -> T) -> T {
    arch.dispatch(Wide(work))
}

struct Wide<F>(F);

impl<T, F: FnMut() -> T> WithSimd for Wide<F> {
    type Output = T;

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, _: S) -> T {
        (self.0)()
    }
}
