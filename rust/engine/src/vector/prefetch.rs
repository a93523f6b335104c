//! Memory that is fetched before it is needed.

/// Lets numbers that are soon to be read or written come into the caches meanwhile.
///
/// Where rows lie far from each other no machine guesses which comes next. It changes nothing but times.
#[inline]
pub fn prefetch<T>(numbers: &[T]) {
    #[cfg(target_arch = "x86_64")]
    {
        let lines = numbers.chunks_exact((64 / size_of::<T>()).max(1));
        // What is left, and the line of the last number, where they begin within one.
        x86::prefetch(lines.remainder());
        x86::prefetch(&numbers[numbers.len().saturating_sub(1)..]);
        for line in lines {
            x86::prefetch(line);
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = numbers;
}

#[cfg(target_arch = "x86_64")]
#[expect(unsafe_code, reason = "the instruction takes an address")]
mod x86 {
    use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};

    #[inline]
    pub(super) fn prefetch<T>(line: &[T]) {
        // SAFETY: every x86-64 has the instruction, which faults at no address.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(line.as_ptr().cast()) };
    }
}
