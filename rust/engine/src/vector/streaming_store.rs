//! Streaming stores: writes that bypass the caches, for memory not read soon.

/// A sequential writer with streaming stores.
///
/// It writes whole cache lines. A whole line is not read before it is written and evicts nothing from the caches, which
/// halves the memory traffic of arrays larger than the caches. On a CPU without streaming stores it writes normally.
#[derive(Debug)]
pub struct StreamingStore<'a> {
    /// The unwritten part of the array; the numbers in `line` come first.
    rest: &'a mut [f32],
    /// Numbers buffered until their line is whole.
    line: [f32; StreamingStore::LINE],
    n_waiting: usize,
    /// Numbers before the first whole line.
    n_before: usize,
}

/// See [`StreamingStore::LINE`].
const LINE: usize = StreamingStore::LINE;

impl<'a> StreamingStore<'a> {
    /// Numbers per cache line.
    pub const LINE: usize = 16;

    /// Returns a writer of an array.
    ///
    /// # Safety
    ///
    /// Drop the writer on the thread that pushed before any thread reads the array. Streaming stores are unordered
    /// until then.
    #[must_use]
    #[expect(unsafe_code, reason = "a writer that is leaked skips the fence after its stores")]
    pub unsafe fn new(to: &'a mut [f32]) -> Self {
        Self { n_before: before_line(to), rest: to, line: [0.0; LINE], n_waiting: 0 }
    }

    /// Writes the next numbers.
    ///
    /// # Panics
    ///
    /// Panics if the array is too short.
    #[inline]
    pub fn push(&mut self, from: &[f32]) {
        assert!(self.n_waiting + from.len() <= self.rest.len(), "an array as long as what is written");
        let (before, from) = from.split_at(self.n_before.min(from.len()));
        if !before.is_empty() {
            self.take(before.len()).copy_from_slice(before);
            self.n_before -= before.len();
        }
        let from = if self.n_waiting == 0 { from } else { self.fill(from) };
        let (lines, left) = from.as_chunks();
        write(self.take(lines.len() * LINE).as_chunks_mut().0, lines);
        self.wait(left);
    }

    /// Skips the next `n` numbers and leaves them unchanged.
    ///
    /// # Panics
    ///
    /// Panics if fewer than `n` numbers are left.
    #[inline]
    pub fn skip(&mut self, n: usize) {
        self.write_waiting();
        self.take(n);
        self.n_before = before_line(self.rest);
    }

    /// Writes the buffered numbers of an incomplete line.
    #[inline]
    fn write_waiting(&mut self) {
        if self.n_waiting > 0 {
            let (line, n) = (self.line, self.n_waiting);
            self.take(n).copy_from_slice(&line[..n]);
            self.n_waiting = 0;
        }
    }

    /// Fills the buffered line and returns the rest of `from`.
    #[inline]
    fn fill<'f>(&mut self, from: &'f [f32]) -> &'f [f32] {
        let (missing, from) = from.split_at(from.len().min(LINE - self.n_waiting));
        self.wait(missing);
        if self.n_waiting == LINE {
            let line = self.line;
            write(self.take(LINE).as_chunks_mut().0, &[line]);
            self.n_waiting = 0;
        }
        from
    }

    #[inline]
    fn wait(&mut self, numbers: &[f32]) {
        // A loop over numbers: there are too few for a call of `memcpy`.
        for (to, number) in self.line[self.n_waiting..].iter_mut().zip(numbers) {
            *to = *number;
        }
        self.n_waiting += numbers.len();
    }

    #[inline]
    fn take(&mut self, n: usize) -> &'a mut [f32] {
        let (head, rest) = std::mem::take(&mut self.rest).split_at_mut(n);
        self.rest = rest;
        head
    }
}

impl Drop for StreamingStore<'_> {
    /// Writes the buffered numbers and orders all stores before later reads.
    fn drop(&mut self) {
        self.write_waiting();
        #[cfg(target_arch = "x86_64")]
        x86::wait_for_all();
    }
}

/// Returns the count of numbers before the first aligned cache line of an array.
#[inline]
fn before_line(array: &[f32]) -> usize {
    array.as_ptr().align_offset(LINE * size_of::<f32>()).min(array.len())
}

/// Writes whole lines, with streaming stores if they are aligned to cache lines.
#[inline]
fn write(to: &mut [[f32; LINE]], lines: &[[f32; LINE]]) {
    assert_eq!(to.len(), lines.len(), "a place a line");
    #[cfg(target_arch = "x86_64")]
    if to.as_ptr().align_offset(LINE * size_of::<f32>()) == 0 {
        return x86::write_past(to, lines);
    }
    to.copy_from_slice(lines);
}

#[cfg(target_arch = "x86_64")]
#[expect(unsafe_code, reason = "the instructions take addresses")]
mod x86 {
    // Miri has no streaming store; the other needs the same place, size and alignment.
    #[cfg(miri)]
    use std::arch::x86_64::_mm_store_ps as _mm_stream_ps;
    use std::arch::x86_64::{__m128, _mm_loadu_ps};
    #[cfg(not(miri))]
    use std::arch::x86_64::{_mm_sfence, _mm_stream_ps};

    use super::LINE;

    /// Writes lines that are aligned to cache lines.
    #[inline]
    pub(super) fn write_past(to: &mut [[f32; LINE]], lines: &[[f32; LINE]]) {
        for (to, line) in to.iter_mut().zip(lines) {
            let quads = line.as_chunks::<4>().0;
            // All loads come before the first store, so that the stores are adjacent. SAFETY: every x86-64 CPU has the
            // instructions; each reads four numbers of `quads`.
            let quads: [__m128; 4] = std::array::from_fn(|k| unsafe { _mm_loadu_ps(quads[k].as_ptr()) });
            for (to, quad) in to.as_chunks_mut::<4>().0.iter_mut().zip(quads) {
                // SAFETY: `to` holds four numbers and is aligned to 16 bytes, as the line is aligned to 64. The caller
                // of `new` has promised to wait for the stores.
                unsafe { _mm_stream_ps(to.as_mut_ptr(), quad) };
            }
        }
    }

    /// Returns when all streaming stores are visible to every thread.
    pub(super) fn wait_for_all() {
        // SAFETY: every x86-64 CPU has the instruction, which has no operand. Miri has neither it nor late stores.
        #[cfg(not(miri))]
        unsafe {
            _mm_sfence();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[expect(unsafe_code, reason = "every test drops its writer before it reads")]
    fn writer(to: &mut [f32]) -> StreamingStore<'_> {
        // SAFETY: as above.
        unsafe { StreamingStore::new(to) }
    }

    #[test]
    fn what_is_pushed_is_written_wherever_lines_begin_and_nothing_else_is() {
        for offset in 0..LINE {
            for lengths in [vec![], vec![1], vec![15, 1, 16], vec![3; 40], vec![80, 5, 80, 5], vec![7, 100, 0, 33]] {
                let n: usize = lengths.iter().sum();
                let mut to = vec![-1.0; offset + n + LINE];
                let mut bypass = writer(&mut to[offset..offset + n]);
                let mut next = 0;
                for length in lengths {
                    let numbers: Vec<f32> = (next..next + length).map(|number| number as f32).collect();
                    bypass.push(&numbers);
                    next += length;
                }
                drop(bypass);
                let expected: Vec<f32> = (0..n).map(|number| number as f32).collect();
                assert_eq!(to[offset..offset + n], expected);
                assert!(to[..offset].iter().chain(&to[offset + n..]).all(|number| *number == -1.0));
            }
        }
    }

    #[test]
    fn what_is_skipped_is_left_as_it_is_wherever_lines_begin() {
        for offset in 0..LINE {
            for (before, skipped, after) in [(0, 5, 20), (7, 1, 9), (16, 16, 16), (33, 40, 1), (3, 0, 70)] {
                let n = before + skipped + after;
                let mut to = vec![-1.0; offset + n];
                let mut bypass = writer(&mut to[offset..]);
                bypass.push(&vec![1.0; before]);
                bypass.skip(skipped);
                bypass.push(&vec![2.0; after]);
                drop(bypass);
                let expected = [vec![-1.0; offset], vec![1.0; before], vec![-1.0; skipped], vec![2.0; after]].concat();
                assert_eq!(to, expected);
            }
        }
    }

    #[test]
    #[should_panic(expected = "an array as long as what is written")]
    fn more_than_there_is_room_for_is_refused() {
        let mut to = [0.0; 20];
        let mut bypass = writer(&mut to);
        bypass.push(&[1.0; 15]);
        bypass.push(&[1.0; 6]);
    }
}
