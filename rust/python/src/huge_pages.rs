//! Room for large tables in huge pages.

#[cfg(target_os = "linux")]
use std::mem::MaybeUninit;

/// Makes room for more numbers, in huge pages where the system offers them.
///
/// A table is written faster if the system need not hand out its pages one by one. Without the room the numbers grow as
/// usual, or fail there.
pub(crate) fn reserve_in_huge_pages(numbers: &mut Vec<f64>, n_more: usize) {
    if numbers.try_reserve_exact(n_more).is_ok() {
        #[cfg(target_os = "linux")]
        advise(numbers.spare_capacity_mut());
    }
}

/// Bytes of a huge page of most machines.
///
/// Elsewhere the advice covers less, or nothing.
#[cfg(target_os = "linux")]
const HUGE: usize = 1 << 21;

/// Asks for huge pages within a part of the memory that is not yet written.
#[cfg(target_os = "linux")]
#[expect(unsafe_code, reason = "the system call takes an address")]
fn advise(numbers: &mut [MaybeUninit<f64>]) {
    let (start, size) = (numbers.as_mut_ptr(), size_of_val(numbers));
    let skipped = start.addr().next_multiple_of(HUGE) - start.addr();
    let advised = size.saturating_sub(skipped) / HUGE * HUGE;
    if advised > 0 {
        // SAFETY: the range is within the slice, and the advice leaves contents and permissions as they are. Its answer
        // is ignored, as small pages do as well.
        unsafe { libc::madvise(start.wrapping_byte_add(skipped).cast(), advised, libc::MADV_HUGEPAGE) };
    }
}
