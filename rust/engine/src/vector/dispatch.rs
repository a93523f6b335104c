use pulp::{Simd, WithSimd};

use crate::vector::cpu_features::Arch;

/// Runs a closure compiled for the vector instructions of the CPU.
///
/// The result does not depend on the instructions.
///
/// The closure must be `#[inline(always)]`. [`Arch::dispatch`] alone would call it as `FnOnce`, through a shim compiled
/// for the baseline CPU, and the loop would not be vectorized.
#[inline(always)]
pub(crate) fn vectorized<T>(arch: Arch, work: impl FnMut() -> T) -> T {
    arch.dispatch(Vectorized(work))
}

/// Runs a closure compiled for the vector instructions of the CPU, detected once.
///
/// The result does not depend on the instructions. The closure must be `#[inline(always)]`.
#[inline(always)]
pub fn with_vector_instructions<T>(work: impl FnMut() -> T) -> T {
    vectorized(Arch::new(), work)
}

struct Vectorized<F>(F);

impl<T, F: FnMut() -> T> WithSimd for Vectorized<F> {
    type Output = T;

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, _: S) -> T {
        (self.0)()
    }
}
