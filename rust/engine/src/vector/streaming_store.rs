//! Numbers that are written past the caches, for memory that nobody reads soon.

/// An array that is written from its beginning to its end, past the caches.
///
/// It is written line by line of theirs. A line that is written whole need not be read first, and drives nothing out of
/// them: of arrays that do not fit there this halves the traffic with memory. Where the machine at hand has no such
/// stores, it is written as any other.
#[derive(Debug)]
pub struct Bypass<'a> {
    /// What is still to be written, the numbers in `line` first.
    rest: &'a mut [f32],
    /// What waits for its line to be whole.
    line: [f32; Bypass::LINE],
    n_waiting: usize,
    /// Numbers up to the first whole line.
    n_before: usize,
}

/// See [`Bypass::LINE`].
const LINE: usize = Bypass::LINE;

impl<'a> Bypass<'a> {
    /// Numbers in a line of the caches.
    pub const LINE: usize = 16;

    /// Returns a way to an array.
    ///
    /// # Safety
    ///
    /// It must be dropped, by the thread that pushes, before anybody looks at the array again: what went past the
    /// caches comes in no order until then.
    #[must_use]
    #[expect(unsafe_code, reason = "a way that is forgotten leaves stores that nobody waits for")]
    pub unsafe fn new(to: &'a mut [f32]) -> Self {
        Self { n_before: before_line(to), rest: to, line: [0.0; LINE], n_waiting: 0 }
    }

    /// Writes what comes next.
    ///
    /// # Panics
    ///
    /// Panics if the array has no room for it.
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

    /// Leaves the next `n` numbers as they are.
    ///
    /// # Panics
    ///
    /// Panics if the array has not as many.
    #[inline]
    pub fn skip(&mut self, n: usize) {
        self.write_waiting();
        self.take(n);
        self.n_before = before_line(self.rest);
    }

    /// Writes what waits, though its line is not whole.
    #[inline]
    fn write_waiting(&mut self) {
        if self.n_waiting > 0 {
            let (line, n) = (self.line, self.n_waiting);
            self.take(n).copy_from_slice(&line[..n]);
            self.n_waiting = 0;
        }
    }

    /// Fills up the line that waits, and returns what is left of `from`.
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
        // Number by number: there are fewer than a call of `memcpy` is worth.
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

impl Drop for Bypass<'_> {
    /// Writes what still waits, and lets nobody read before all is written.
    fn drop(&mut self) {
        self.write_waiting();
        #[cfg(target_arch = "x86_64")]
        x86::wait_for_all();
    }
}

/// Returns how many numbers there are before the first line that an array begins.
#[inline]
fn before_line(array: &[f32]) -> usize {
    array.as_ptr().align_offset(LINE * size_of::<f32>()).min(array.len())
}

/// Writes whole lines, past the caches where they are lines of those.
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
    use std::arch::x86_64::{__m128, _mm_loadu_ps, _mm_sfence, _mm_stream_ps};

    use super::LINE;

    /// Writes lines that begin where lines of the caches do.
    #[inline]
    pub(super) fn write_past(to: &mut [[f32; LINE]], lines: &[[f32; LINE]]) {
        for (to, line) in to.iter_mut().zip(lines) {
            let quads = line.as_chunks::<4>().0;
            // All are read before the first is written, so that they are written one right after the other.
            // SAFETY: every x86-64 has the instructions; each reads four numbers of `quads`.
            let quads: [__m128; 4] = std::array::from_fn(|k| unsafe { _mm_loadu_ps(quads[k].as_ptr()) });
            for (to, quad) in to.as_chunks_mut::<4>().0.iter_mut().zip(quads) {
                // SAFETY: there are four numbers at `to`, a multiple of 16 bytes as the line is one of 64; who made the
                // way has promised to wait for them.
                unsafe { _mm_stream_ps(to.as_mut_ptr(), quad) };
            }
        }
    }

    /// Returns when all that was written past the caches can be read by everybody.
    pub(super) fn wait_for_all() {
        // SAFETY: every x86-64 has the instruction, which takes nothing.
        unsafe { _mm_sfence() };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[expect(unsafe_code, reason = "every test drops its way before it looks")]
    fn way(to: &mut [f32]) -> Bypass<'_> {
        // SAFETY: as above.
        unsafe { Bypass::new(to) }
    }

    #[test]
    fn what_is_pushed_is_written_wherever_lines_begin_and_nothing_else_is() {
        for offset in 0..LINE {
            for lengths in [vec![], vec![1], vec![15, 1, 16], vec![3; 40], vec![80, 5, 80, 5], vec![7, 100, 0, 33]] {
                let n: usize = lengths.iter().sum();
                let mut to = vec![-1.0; offset + n + LINE];
                let mut bypass = way(&mut to[offset..offset + n]);
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
                let mut bypass = way(&mut to[offset..]);
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
        let mut bypass = way(&mut to);
        bypass.push(&[1.0; 15]);
        bypass.push(&[1.0; 6]);
    }
}
