//! Copies of short slices.

use pulp::Simd;

/// Copies a slice that may be short.
///
/// A call of `memcpy` takes longer for short slices.
///
/// # Panics
///
/// Panics if the lengths differ.
#[inline(always)]
pub(super) fn copy<S: Simd>(simd: S, from: &[f32], to: &mut [f32]) {
    let n = S::F32_LANES;
    assert_eq!(from.len(), to.len());
    let Some(last) = from.len().checked_sub(n) else {
        to.copy_from_slice(from);
        return;
    };
    let mut at = 0;
    while at + 4 * n <= from.len() {
        copy_vectors::<S, 4>(simd, &from[at..], &mut to[at..]);
        at += 4 * n;
    }
    if at + 2 * n <= from.len() {
        copy_vectors::<S, 2>(simd, &from[at..], &mut to[at..]);
        at += 2 * n;
    }
    if at + n <= from.len() {
        copy_vectors::<S, 1>(simd, &from[at..], &mut to[at..]);
        at += n;
    }
    if at < from.len() {
        // The last vector overlaps numbers that were copied already.
        copy_vectors::<S, 1>(simd, &from[last..], &mut to[last..]);
    }
}

/// Copies the first `N` vectors.
#[inline(always)]
fn copy_vectors<S: Simd, const N: usize>(simd: S, from: &[f32], to: &mut [f32]) {
    let n = N * S::F32_LANES;
    let (from, to) = (S::as_simd_f32s(&from[..n]).0, S::as_mut_simd_f32s(&mut to[..n]).0);
    // The OR keeps the loaded vector in a register.
    let vectors: [S::f32s; N] = std::array::from_fn(|k| simd.or_f32s(from[k], from[k]));
    for (to, vector) in to.iter_mut().zip(vectors) {
        *to = vector;
    }
}

#[cfg(test)]
mod tests {
    use pulp::{Arch, WithSimd};

    use super::*;
    use crate::vector::simd::narrow_arch;

    /// Copies numbers between two sentinels, which must not change.
    struct Copies<'c>(&'c [f32]);

    impl WithSimd for Copies<'_> {
        type Output = Vec<f32>;

        fn with_simd<S: Simd>(self, simd: S) -> Self::Output {
            let mut to = vec![-1.0; self.0.len() + 2];
            copy(simd, self.0, &mut to[1..=self.0.len()]);
            to
        }
    }

    #[test]
    fn few_numbers_are_copied_whole_and_no_others_on_every_machine() {
        for n in 0..200 {
            let from: Vec<f32> = (0..n).map(|i| i as f32).collect();
            let expected = [&[-1.0], &from[..], &[-1.0]].concat();
            for arch in [Arch::new(), narrow_arch(Arch::new()), Arch::Scalar] {
                assert_eq!(arch.dispatch(Copies(&from)), expected);
            }
        }
    }
}
