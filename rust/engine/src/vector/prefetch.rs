//! Software prefetch.

/// Prefetches the cache lines of a slice that is read or written soon.
///
/// The hardware prefetcher does not predict rows that lie far apart. Prefetching changes no result.
#[inline]
pub fn prefetch<T>(numbers: &[T]) {
    #[cfg(target_arch = "x86_64")]
    {
        let lines = numbers.chunks_exact((64 / size_of::<T>()).max(1));
        // The remainder, and the line of the last element if the slice starts within a line.
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
        // SAFETY: every x86-64 CPU has the instruction, and it faults at no address.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(line.as_ptr().cast()) };
    }
}
