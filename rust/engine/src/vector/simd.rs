//! Vectors of f64 at the width of the CPU, chosen at run time.
//!
//! AVX2 or AVX-512 where available.
//!
//! Every operation is the IEEE operation of each element, none is fused, and sums keep the eight lanes of the contract.
//! The width changes no bit.

use std::ops::{Add, Div, Mul, Neg, Sub};

#[cfg(test)]
use pulp::Arch;
use pulp::Simd;

use crate::vector::lane_sums::{self, Block, LANES};

/// Returns an architecture with vectors of at most four elements.
#[cfg(test)]
pub(crate) fn narrow_arch(arch: Arch) -> Arch {
    #[cfg(target_arch = "x86_64")]
    if let Arch::V4(vectorized) = arch {
        return Arch::V3(*vectorized);
    }
    arch
}

/// One vector of f64.
#[derive(Clone, Copy)]
pub(crate) struct Vector<S: Simd> {
    simd: S,
    value: S::f64s,
}

/// A mask: one boolean per element of a vector.
#[derive(Clone, Copy)]
pub(crate) struct Mask<S: Simd> {
    simd: S,
    value: S::m64s,
}

impl<S: Simd> Vector<S> {
    #[inline(always)]
    pub(crate) fn new(simd: S, value: S::f64s) -> Self {
        Self { simd, value }
    }

    #[inline(always)]
    pub(crate) fn splat(simd: S, value: f64) -> Self {
        Self { simd, value: simd.splat_f64s(value) }
    }

    #[inline(always)]
    pub(crate) fn value(self) -> S::f64s {
        self.value
    }

    /// Returns the first element.
    #[inline(always)]
    pub(crate) fn first(self) -> f64 {
        let mut elements = [0.0; LANES];
        store(&mut elements, 0, self);
        elements[0]
    }

    #[inline(always)]
    pub(crate) fn abs(self) -> Self {
        Self::new(self.simd, self.simd.abs_f64s(self.value))
    }

    #[inline(always)]
    pub(crate) fn sqrt(self) -> Self {
        Self::new(self.simd, self.simd.sqrt_f64s(self.value))
    }

    /// Returns this with the signs of `other`; this must not be negative.
    #[inline(always)]
    pub(crate) fn signed_as(self, other: Self) -> Self {
        Self::new(self.simd, self.simd.or_f64s(self.value, other.sign()))
    }

    /// Returns this times the sign of `other`, which is +1 or -1.
    #[inline(always)]
    pub(crate) fn along(self, other: Self) -> Self {
        Self::new(self.simd, self.simd.xor_f64s(self.value, other.sign()))
    }

    #[inline(always)]
    fn sign(self) -> S::f64s {
        self.simd.and_f64s(self.simd.splat_f64s(-0.0), self.value)
    }

    #[inline(always)]
    pub(crate) fn exceeds(self, other: Self) -> Mask<S> {
        Mask { simd: self.simd, value: self.simd.greater_than_f64s(self.value, other.value) }
    }

    #[inline(always)]
    pub(crate) fn reaches(self, other: Self) -> Mask<S> {
        Mask { simd: self.simd, value: self.simd.greater_than_or_equal_f64s(self.value, other.value) }
    }

    #[inline(always)]
    pub(crate) fn equals(self, other: Self) -> Mask<S> {
        Mask { simd: self.simd, value: self.simd.equal_f64s(self.value, other.value) }
    }

    /// Returns the elements below `other`, else the elements of `other`.
    #[inline(always)]
    pub(crate) fn or_less(self, other: Self) -> Self {
        // The x86 minimum makes this choice to the bit, for zeros and NaN too. Other architectures do not.
        if cfg!(target_arch = "x86_64") && S::F64_LANES > 1 {
            return Self::new(self.simd, self.simd.min_f64s(self.value, other.value));
        }
        other.exceeds(self).select(self, other)
    }

    /// Returns the elements above `other`, else the elements of `other`.
    #[inline(always)]
    pub(crate) fn or_more(self, other: Self) -> Self {
        if cfg!(target_arch = "x86_64") && S::F64_LANES > 1 {
            return Self::new(self.simd, self.simd.max_f64s(self.value, other.value));
        }
        self.exceeds(other).select(self, other)
    }

    /// Returns the mask of elements that are not NaN.
    #[inline(always)]
    pub(crate) fn is_number(self) -> Mask<S> {
        self.equals(self)
    }
}

impl<S: Simd> Mask<S> {
    /// Returns the mask with every element false.
    #[inline(always)]
    pub(crate) fn none(simd: S) -> Self {
        let zero = Vector::splat(simd, 0.0);
        zero.exceeds(zero)
    }

    /// Returns the elementwise OR.
    #[inline(always)]
    pub(crate) fn or(self, other: Self) -> Self {
        Self { simd: self.simd, value: self.simd.or_m64s(self.value, other.value) }
    }

    /// Returns the elementwise AND.
    #[inline(always)]
    pub(crate) fn and(self, other: Self) -> Self {
        Self { simd: self.simd, value: self.simd.and_m64s(self.value, other.value) }
    }

    /// Returns the elementwise NOT.
    #[inline(always)]
    pub(crate) fn not(self) -> Self {
        Self { simd: self.simd, value: self.simd.not_m64s(self.value) }
    }

    /// Returns whether any element is true.
    #[inline(always)]
    pub(crate) fn any(self) -> bool {
        self.simd.first_true_m64s(self.value) < S::F64_LANES
    }

    /// Returns the mask as bits, element k in bit k.
    #[inline(always)]
    pub(crate) fn bits(self) -> u8 {
        let (zero, one) = (Vector::splat(self.simd, 0.0), Vector::splat(self.simd, 1.0));
        let mut elements = [0.0; LANES];
        store(&mut elements, 0, self.select(one, zero));
        elements.iter().enumerate().fold(0, |bits, (a, element)| bits | u8::from(*element > 0.0) << a)
    }

    /// Returns `yes` where the mask is true and `no` elsewhere.
    #[inline(always)]
    pub(crate) fn select(self, yes: Vector<S>, no: Vector<S>) -> Vector<S> {
        Vector::new(self.simd, self.simd.select_f64s(self.value, yes.value, no.value))
    }
}

impl<S: Simd> Add for Vector<S> {
    type Output = Self;

    #[inline(always)]
    fn add(self, other: Self) -> Self {
        Self::new(self.simd, self.simd.add_f64s(self.value, other.value))
    }
}

impl<S: Simd> Sub for Vector<S> {
    type Output = Self;

    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        Self::new(self.simd, self.simd.sub_f64s(self.value, other.value))
    }
}

impl<S: Simd> Mul for Vector<S> {
    type Output = Self;

    #[inline(always)]
    fn mul(self, other: Self) -> Self {
        Self::new(self.simd, self.simd.mul_f64s(self.value, other.value))
    }
}

impl<S: Simd> Div for Vector<S> {
    type Output = Self;

    #[inline(always)]
    fn div(self, other: Self) -> Self {
        Self::new(self.simd, self.simd.div_f64s(self.value, other.value))
    }
}

impl<S: Simd> Neg for Vector<S> {
    type Output = Self;

    #[inline(always)]
    fn neg(self) -> Self {
        Self::new(self.simd, self.simd.neg_f64s(self.value))
    }
}

/// A row of blocks, read one vector at a time.
#[derive(Clone, Copy)]
pub(crate) struct Row<'a, S: Simd> {
    simd: S,
    vectors: &'a [S::f64s],
}

/// The layout of a row: `n` vectors, `per_block` in each block.
///
/// With `ONE` a row is one block. All rows have the same length, so one bounds check serves them all; for rows of one
/// block no check is left at run time.
#[derive(Clone, Copy)]
pub(crate) struct Layout<S: Simd, const ONE: bool> {
    pub(crate) simd: S,
    pub(crate) n: usize,
    pub(crate) per_block: usize,
    /// Lanes that hold a symbol.
    pub(crate) n_lanes: usize,
}

impl<S: Simd, const ONE: bool> Layout<S, ONE> {
    #[inline(always)]
    pub(crate) fn new(simd: S, n_symbols: usize) -> Self {
        let per_block = LANES / S::F64_LANES;
        let n_blocks = if ONE { 1 } else { lane_sums::n_blocks(n_symbols) };
        let n_lanes = n_symbols.div_ceil(S::F64_LANES).min(per_block);
        Self { simd, n: n_blocks * per_block, per_block, n_lanes }
    }

    #[inline(always)]
    pub(crate) fn row(self, blocks: &[Block]) -> Row<'_, S> {
        let blocks = if ONE { std::slice::from_ref(&blocks[0]) } else { blocks };
        Row { simd: self.simd, vectors: &S::as_simd_f64s(blocks.as_flattened()).0[..self.n] }
    }

    #[inline(always)]
    pub(crate) fn row_mut(self, blocks: &mut [Block]) -> &mut [S::f64s] {
        let blocks = if ONE { std::slice::from_mut(&mut blocks[0]) } else { blocks };
        &mut S::as_mut_simd_f64s(blocks.as_flattened_mut()).0[..self.n]
    }

    #[inline(always)]
    pub(crate) fn splat(self, value: f64) -> Vector<S> {
        Vector::splat(self.simd, value)
    }
}

impl<S: Simd> Row<'_, S> {
    #[inline(always)]
    pub(crate) fn get(self, i: usize) -> Vector<S> {
        Vector::new(self.simd, self.vectors[i])
    }
}

/// Stores a vector as vector `lane` of a block.
#[inline(always)]
pub(crate) fn store<S: Simd>(sum: &mut Block, lane: usize, of: Vector<S>) {
    S::as_mut_simd_f64s(sum).0[lane] = of.value;
}

#[cfg(test)]
mod tests {
    use pulp::{Scalar, WithSimd};

    use super::*;

    struct Choices([f64; 8], [f64; 8]);

    impl WithSimd for Choices {
        type Output = ([u64; 8], [u64; 8]);

        fn with_simd<S: Simd>(self, simd: S) -> Self::Output {
            let (mut less, mut more) = ([0.0; 8], [0.0; 8]);
            for i in 0..8 / S::F64_LANES {
                let of = |block: &[f64; 8]| Vector::new(simd, S::as_simd_f64s(block).0[i]);
                S::as_mut_simd_f64s(&mut less).0[i] = of(&self.0).or_less(of(&self.1)).value();
                S::as_mut_simd_f64s(&mut more).0[i] = of(&self.0).or_more(of(&self.1)).value();
            }
            (less.map(f64::to_bits), more.map(f64::to_bits))
        }
    }

    struct Signs([f64; 8]);

    impl WithSimd for Signs {
        type Output = (u8, u8);

        fn with_simd<S: Simd>(self, simd: S) -> Self::Output {
            let zero = Vector::splat(simd, 0.0);
            let above = |i: usize| Vector::new(simd, S::as_simd_f64s(&self.0).0[i]).exceeds(zero);
            (0..LANES / S::F64_LANES).fold((0, 0), |(above_zero, not_above), i| {
                let (mask, first) = (above(i), i * S::F64_LANES);
                assert_eq!(mask.any(), mask.bits() > 0);
                (above_zero | mask.bits() << first, not_above | mask.not().bits() << first)
            })
        }
    }

    #[test]
    fn what_is_no_number_is_neither_above_nor_below_and_so_among_those_not_above() {
        let numbers = [1.0, -1.0, f64::NAN, f64::INFINITY, 0.0, -0.0, f64::NEG_INFINITY, f64::MIN_POSITIVE];
        for arch in [Arch::new(), narrow_arch(Arch::new()), Arch::Scalar] {
            assert_eq!(arch.dispatch(Signs(numbers)), (0b1000_1001, 0b0111_0110));
        }
    }

    #[test]
    fn the_lesser_and_the_greater_are_the_same_to_the_bit_on_every_machine() {
        let these = [0.0, -0.0, f64::NAN, 1.0, 1.0, f64::INFINITY, -1.0, 2.0];
        let those = [-0.0, 0.0, 1.0, f64::NAN, 1.0, f64::NAN, 0.0, 1.0];
        let alone = Choices(these, those).with_simd(Scalar::new());
        assert_eq!(Arch::new().dispatch(Choices(these, those)), alone);
    }
}
