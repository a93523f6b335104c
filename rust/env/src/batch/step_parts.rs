//! A step that threads share.

use openoutcry_engine::lane_sums::LANES;

use crate::batch::BatchError;
use crate::batch::lane_batch::MAX_THREADS;
use crate::batch::thread_pool::Pool;
use crate::batch::thread_share::{Seat, Share};

/// What a thread is to do, and what came of it.
struct Part<'a> {
    share: Option<Share<'a>>,
    seat: &'a mut Seat,
    result: Result<(), BatchError>,
}

impl<'a> Part<'a> {
    fn new(share: Share<'a>, seat: &'a mut Seat) -> Self {
        Self { share: Some(share), seat, result: Ok(()) }
    }

    fn run(&mut self) {
        // Taken, so that it is dropped here, whatever becomes of it: see `StreamingStore::new`.
        if let Some(mut share) = self.share.take() {
            self.result = share.advance(self.seat);
        }
    }

    /// Returns what came of it.
    fn result(self) -> Result<(), BatchError> {
        self.result
    }
}

/// Carries a share out on some threads.
///
/// Apart, for its parts take a stack that a step on one thread would have to touch.
#[inline(never)]
#[expect(clippy::large_stack_arrays, reason = "a step takes no memory of the heap")]
pub(super) fn share_out(
    share: Share<'_>,
    n_threads: usize,
    seats: &mut [Seat],
    pool: &mut Pool,
) -> Result<(), BatchError> {
    // Whole packs a thread, the last what is left.
    let n = share.n_lanes().div_ceil(n_threads).next_multiple_of(LANES);
    let n_parts = share.n_lanes().div_ceil(n);
    let mut parts = [const { None }; MAX_THREADS];
    let mut rest = share;
    for (part, seat) in parts[..n_parts].iter_mut().zip(seats) {
        let n = n.min(rest.n_lanes());
        let (first, others) = rest.split(n);
        *part = Some(Part::new(first, seat));
        rest = others;
    }
    pool.run(&mut parts[..n_parts], |part| {
        if let Some(part) = part {
            part.run();
        }
    });
    parts.into_iter().flatten().try_for_each(Part::result)
}
