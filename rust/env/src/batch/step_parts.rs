//! Division of a step among threads.

use openoutcry_engine::lane_sums::LANES;

use crate::batch::BatchError;
use crate::batch::batch_settings::MAX_THREADS;
use crate::batch::thread_pool::ThreadPool;
use crate::batch::thread_share::ThreadShare;
use crate::batch::thread_workspace::ThreadWorkspace;

/// The share of a thread, and its result.
struct ThreadPart<'a> {
    share: Option<ThreadShare<'a>>,
    thread: &'a mut ThreadWorkspace,
    result: Result<(), BatchError>,
}

impl<'a> ThreadPart<'a> {
    fn new(share: ThreadShare<'a>, thread: &'a mut ThreadWorkspace) -> Self {
        Self { share: Some(share), thread, result: Ok(()) }
    }

    fn run(&mut self) {
        // Taken, so that the share is dropped on this thread in every case: see `StreamingStore::new`.
        if let Some(mut share) = self.share.take() {
            self.result = share.advance(self.thread);
        }
    }

    /// Returns the result of the thread.
    fn result(self) -> Result<(), BatchError> {
        self.result
    }
}

/// Runs a share on several threads.
///
/// A separate function: its parts need stack that a step on one thread would touch.
#[inline(never)]
#[expect(clippy::large_stack_arrays, reason = "a step takes no memory of the heap")]
pub(super) fn share_out(
    share: ThreadShare<'_>,
    n_threads: usize,
    threads: &mut [ThreadWorkspace],
    pool: &mut ThreadPool,
) -> Result<(), BatchError> {
    // Whole blocks per thread; the last thread has the rest.
    let n = share.n_lanes().div_ceil(n_threads).next_multiple_of(LANES);
    let n_parts = share.n_lanes().div_ceil(n);
    let mut parts = [const { None }; MAX_THREADS];
    let mut rest = share;
    for (part, thread) in parts[..n_parts].iter_mut().zip(threads) {
        let n = n.min(rest.n_lanes());
        let (first, others) = rest.split(n);
        *part = Some(ThreadPart::new(first, thread));
        rest = others;
    }
    pool.run(&mut parts[..n_parts], |part| {
        if let Some(part) = part {
            part.run();
        }
    });
    parts.into_iter().flatten().try_for_each(ThreadPart::result)
}
