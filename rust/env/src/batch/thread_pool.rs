//! A pool of worker threads.
//!
//! Posting work allocates no memory, and makes no system call while the workers are awake.

use std::any::Any;
use std::hint::spin_loop;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, Builder, JoinHandle};
use std::{io, mem, process, ptr};

/// Polls of a state before a thread sleeps.
///
/// They take about as long as sleeping and waking.
const SPINS: usize = 300;

/// States of a post. The worker is awake and polls for work.
const IDLE: u32 = 0;
/// The worker parks, or is about to. A change of this state must unpark it.
const ASLEEP: u32 = 1;
/// The post has work that the worker has not taken yet.
const WORK: u32 = 2;
/// The worker must end.
const STOP: u32 = 3;

/// Flag of `Gate::running`: the caller sleeps, or is about to.
const AWAITED: usize = 1 << (usize::BITS - 1);

/// The function of a thread, called with the index of its part; it never unwinds.
///
/// Its real lifetime is that of the caller, who waits until no worker runs it.
type Task = &'static (dyn Fn(usize) + Sync);

type Payload = Box<dyn Any + Send>;

/// A pool of worker threads owned by one caller.
///
/// A fork copies the pool without its threads. In the child the caller does all work.
#[derive(Debug)]
pub(super) struct ThreadPool {
    n_threads: usize,
    /// One per thread except the caller; empty in the child of a fork.
    workers: Vec<Worker>,
    gate: Arc<Gate>,
    /// The process of the threads.
    process: u32,
}

impl ThreadPool {
    /// Returns a pool of `n_threads`: the thread of the caller and workers.
    ///
    /// # Errors
    ///
    /// Returns an error, and leaves no thread behind, if the system cannot start that many.
    pub(super) fn new(n_threads: usize) -> io::Result<Self> {
        let mut pool = Self { n_threads, workers: Vec::new(), gate: Arc::default(), process: process::id() };
        for index in 1..n_threads {
            pool.workers.push(Worker::start(index, &pool.gate)?);
        }
        Ok(pool)
    }

    /// Runs `work` on each part.
    ///
    /// The first part runs on the thread of the caller, each other part on its own worker.
    ///
    /// # Panics
    ///
    /// Panics if there are more parts than threads. If `work` panics, all parts are run before the first panic resumes.
    /// The pool stays usable.
    #[expect(unsafe_code, reason = "each thread writes to its own element of one slice")]
    pub(super) fn run<P: Send>(&mut self, parts: &mut [P], work: impl Fn(&mut P) + Sync) {
        let (n_parts, n_threads) = (parts.len(), self.n_threads);
        assert!(n_parts <= n_threads, "expected at most {n_threads} parts, one per thread; received {n_parts}");
        let panic = Mutex::new(None);
        let first = AtomicPtr::new(parts.as_mut_ptr());
        self.run_each(n_parts, &|index| {
            // SAFETY: `run_each` calls this once for each index below `n_parts`, so the element exists and has one
            // user. It returns only after the last call, so the borrow of `parts` is long enough. `P: Send`.
            let part = unsafe { &mut *first.load(Ordering::Relaxed).add(index) };
            if let Err(payload) = catch_unwind(AssertUnwindSafe(|| work(part))) {
                keep_first(&panic, payload);
            }
        });
        if let Some(payload) = panic.into_inner().unwrap_or_else(PoisonError::into_inner) {
            resume_unwind(payload);
        }
    }

    /// Calls `task`, which never unwinds, once for each index below `n_parts`.
    ///
    /// It returns after all calls.
    fn run_each(&mut self, n_parts: usize, task: &(dyn Fn(usize) + Sync)) {
        let n_workers = n_parts.saturating_sub(1);
        // The check for a fork costs a system call. It is made only before a slower one, to wake a worker or to sleep.
        if self.workers.iter().take(n_workers).any(Worker::is_asleep) {
            self.give_up_if_forked();
        }
        if n_workers == 0 || self.workers.len() < n_workers {
            return (0..n_parts).for_each(task);
        }
        // A worker sees this with its state, which is posted later.
        self.gate.running.store(n_workers, Ordering::Relaxed);
        for worker in &self.workers[..n_workers] {
            worker.post.task.store((&raw const task).cast_mut().cast::<Task>(), Ordering::Relaxed);
            worker.write_outcome(WORK);
        }
        task(0);
        if self.gate.is_left_soon() {
            return;
        }
        if self.give_up_if_forked() {
            // The workers were awake at the fork, and none of them in this process received the work.
            (1..n_parts).for_each(task);
        } else {
            self.gate.sleep_until_left();
        }
    }

    /// Drops the workers in the child of a fork, and returns whether it is one.
    fn give_up_if_forked(&mut self) -> bool {
        let is_forked = process::id() != self.process;
        if is_forked {
            // The threads belong to another process: they can be neither joined nor detached.
            mem::forget(mem::take(&mut self.workers));
        }
        is_forked
    }
}

impl Drop for ThreadPool {
    fn drop(&mut self) {
        self.give_up_if_forked();
        for worker in &self.workers {
            worker.write_outcome(STOP);
        }
        for worker in self.workers.drain(..) {
            // No worker panics: a task does not unwind.
            let _ = worker.thread.join();
        }
    }
}

/// A worker thread and its post.
#[derive(Debug)]
struct Worker {
    thread: JoinHandle<()>,
    post: Arc<Post>,
}

impl Worker {
    fn start(index: usize, gate: &Arc<Gate>) -> io::Result<Self> {
        let post = Arc::new(Post { state: AtomicU32::new(IDLE), task: AtomicPtr::new(ptr::null_mut()) });
        let (its_post, gate) = (Arc::clone(&post), Arc::clone(gate));
        let serve = move || {
            while its_post.next() == WORK {
                its_post.call(index);
                gate.leave();
            }
        };
        let thread = Builder::new().name(format!("openoutcry-{index}")).spawn(serve)?;
        Ok(Self { thread, post })
    }

    fn is_asleep(&self) -> bool {
        self.post.state.load(Ordering::Relaxed) == ASLEEP
    }

    /// Posts a state to the idle worker, and wakes it if it sleeps.
    fn write_outcome(&self, state: u32) {
        // `Release`: the worker sees all earlier writes. An idle worker polls again before it sleeps, so it needs no
        // system call.
        if self.post.state.swap(state, Ordering::Release) == ASLEEP {
            self.thread.thread().unpark();
        }
    }
}

/// The post of a worker, on its own pair of cache lines.
///
/// Some processors fetch two lines at a time.
#[derive(Debug)]
#[repr(align(128))]
struct Post {
    state: AtomicU32,
    /// The task of the last `WORK`.
    task: AtomicPtr<Task>,
}

impl Post {
    /// Waits until a state is posted and returns it.
    fn next(&self) -> u32 {
        for _ in 0..SPINS {
            let state = self.state.load(Ordering::Acquire);
            if state != IDLE {
                return state;
            }
            spin_loop();
        }
        // From here on, a thread that posts a state finds the worker asleep and unparks it. An unpark before the park
        // makes the park return at once. If a state was posted already, the exchange fails.
        if self.state.compare_exchange(IDLE, ASLEEP, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
            while self.state.load(Ordering::Relaxed) == ASLEEP {
                thread::park();
            }
        }
        self.state.load(Ordering::Acquire)
    }

    /// Runs the posted task.
    #[expect(unsafe_code, reason = "the work borrows from the caller, which outlives it")]
    fn call(&self, index: usize) {
        // The next state is posted after the worker has left the gate, which publishes this store.
        self.state.store(IDLE, Ordering::Relaxed);
        // SAFETY: `run_each` stored a pointer to its argument before it posted `WORK`, which `next` acquired. It does
        // not return or unwind before this worker has left the gate, after this call.
        let task = unsafe { *self.task.load(Ordering::Relaxed) };
        task(index);
    }
}

/// The gate at which the caller waits for its workers.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Gate {
    /// The number of workers that have not finished, and `AWAITED`.
    running: AtomicUsize,
    sleep: Mutex<()>,
    left: Condvar,
}

impl Gate {
    /// Counts a finished worker.
    ///
    /// Wakes the caller if it was the last worker and the caller sleeps.
    fn leave(&self) {
        // The caller may return after this: later code uses only the gate, which the worker co-owns.
        if self.running.fetch_sub(1, Ordering::AcqRel) == AWAITED | 1 {
            // The caller reads `running` under this lock: it has not read it yet, or it is waiting.
            drop(self.lock());
            self.left.notify_one();
        }
    }

    /// Returns whether all workers finish while the caller polls.
    fn is_left_soon(&self) -> bool {
        for _ in 0..SPINS {
            if self.running.load(Ordering::Acquire) == 0 {
                return true;
            }
            spin_loop();
        }
        false
    }

    /// Sleeps until all workers have finished.
    fn sleep_until_left(&self) {
        let mut lock = self.lock();
        let mut running = self.running.fetch_or(AWAITED, Ordering::Acquire);
        while running & !AWAITED != 0 {
            lock = self.left.wait(lock).unwrap_or_else(PoisonError::into_inner);
            running = self.running.load(Ordering::Acquire);
        }
    }

    fn lock(&self) -> MutexGuard<'_, ()> {
        self.sleep.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Keeps the payload of the first panic.
fn keep_first(kept: &Mutex<Option<Payload>>, payload: Payload) {
    let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
    if kept.is_none() {
        *kept = Some(payload);
    } else {
        // Not dropped: the drop of a payload could panic, and a task must not unwind.
        mem::forget(payload);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a pool in the state of a forked child.
    ///
    /// It has another process, and its workers have no threads.
    fn forked(state: u32) -> ThreadPool {
        let post = || Arc::new(Post { state: AtomicU32::new(state), task: AtomicPtr::new(ptr::null_mut()) });
        let workers = (0..2).map(|_| Worker { thread: thread::spawn(|| ()), post: post() }).collect();
        ThreadPool { n_threads: 3, workers, gate: Arc::default(), process: process::id() ^ 1 }
    }

    #[test]
    fn work_that_no_worker_can_hear_of_is_the_callers() {
        for state in [IDLE, ASLEEP] {
            let mut pool = forked(state);
            let mut parts = [(0, None); 3];
            for _ in 0..2 {
                pool.run(&mut parts, |(n, thread)| (*n, *thread) = (*n + 1, Some(thread::current().id())));
            }
            assert_eq!(parts, [(2, Some(thread::current().id())); 3]);
        }
        drop(forked(ASLEEP));
    }
}
