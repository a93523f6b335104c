//! Room for large tables in huge pages.

/// Makes room for more numbers, in huge pages where the system offers them.
///
/// A table is written faster if the system need not hand out its pages one by one. Without the room the numbers grow as
/// usual, or fail there.
pub fn reserve_in_huge_pages(numbers: &mut Vec<f64>, n_more: usize) {
    if numbers.try_reserve_exact(n_more).is_ok() {
        #[cfg(all(target_os = "linux", not(miri)))]
        linux::advise(numbers.spare_capacity_mut());
    }
}

#[cfg(all(target_os = "linux", not(miri)))]
#[expect(unsafe_code, reason = "the system call takes an address")]
mod linux {
    use std::mem::MaybeUninit;

    /// Bytes of a huge page of most machines; elsewhere the advice covers less, or nothing.
    const HUGE: usize = 1 << 21;

    /// Asks for huge pages within a part of the memory that is not yet written.
    pub(super) fn advise(numbers: &mut [MaybeUninit<f64>]) {
        let (start, size) = (numbers.as_mut_ptr(), size_of_val(numbers));
        let skipped = start.addr().next_multiple_of(HUGE) - start.addr();
        let advised = size.saturating_sub(skipped) / HUGE * HUGE;
        if advised > 0 {
            // SAFETY: the range is within the slice, and the advice leaves contents and permissions as they are. Its
            // answer is ignored, as small pages do as well.
            unsafe { libc::madvise(start.wrapping_byte_add(skipped).cast(), advised, libc::MADV_HUGEPAGE) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::reserve_in_huge_pages;

    #[test]
    fn room_of_any_size_keeps_the_numbers() {
        for n_more in [0, 1, 1 << 10, 1 << 18, 1 << 20, (1 << 20) + 7] {
            let mut numbers = vec![1.0, 2.0, 3.0];
            reserve_in_huge_pages(&mut numbers, n_more);
            assert!(numbers.capacity() >= 3 + n_more);
            let place = numbers.as_ptr();
            numbers.extend((0..n_more).map(|number| number as f64));
            assert_eq!(place, numbers.as_ptr(), "the room is enough");
            assert_eq!(numbers[..3], [1.0, 2.0, 3.0]);
            assert!(numbers[3..].iter().enumerate().all(|(place, number)| *number == place as f64));
        }
    }

    #[test]
    fn room_that_no_machine_has_is_not_reserved() {
        let mut numbers = vec![1.0];
        reserve_in_huge_pages(&mut numbers, usize::MAX / 16);
        assert_eq!(numbers, [1.0]);
    }
}
