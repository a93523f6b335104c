//! Threads that stay.
//!
//! Handing them work takes neither memory nor, while they are awake, the system.

use std::any::Any;
use std::hint::spin_loop;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, Builder, JoinHandle};
use std::{io, mem, process, ptr};

/// Looks at a state before a thread sleeps.
///
/// They last about as long as one going to sleep and being woken.
const SPINS: usize = 300;

/// States of a post. The worker is awake and looks for work.
const IDLE: u32 = 0;
/// It parks, or is about to: whoever changes this state must unpark it.
const ASLEEP: u32 = 1;
/// It has work, which it has not taken yet.
const WORK: u32 = 2;
/// It must end.
const STOP: u32 = 3;

/// Flag of `Gate::running`: the caller sleeps, or is about to.
const AWAITED: usize = 1 << (usize::BITS - 1);

/// What a thread does with the part of an index; it never unwinds.
///
/// Static in name only: it is the caller's, who waits until no worker runs it.
type Task = &'static (dyn Fn(usize) + Sync);

type Payload = Box<dyn Any + Send>;

/// Threads that work for the one that owns them.
///
/// A fork copies the pool but not its threads: in the child the caller does all the work.
#[derive(Debug)]
pub(super) struct Pool {
    n_threads: usize,
    /// One fewer, or none in the child of a fork that has been found out.
    workers: Vec<Worker>,
    gate: Arc<Gate>,
    /// The process that has the threads.
    process: u32,
}

impl Pool {
    /// Returns a pool of `n_threads`: the caller's and as many workers as are left.
    ///
    /// # Errors
    ///
    /// Returns an error, and leaves no thread behind, if the system cannot start as many.
    pub(super) fn new(n_threads: usize) -> io::Result<Self> {
        let mut pool = Self { n_threads, workers: Vec::new(), gate: Arc::default(), process: process::id() };
        for index in 1..n_threads {
            pool.workers.push(Worker::start(index, &pool.gate)?);
        }
        Ok(pool)
    }

    /// Runs `work` on each part.
    ///
    /// The first runs on the caller's thread, each other one on a worker of its own.
    ///
    /// # Panics
    ///
    /// Panics if there are more parts than threads. If `work` panics, the first panic is carried on once all parts
    /// have been run; the pool remains fit for use.
    #[expect(unsafe_code, reason = "each thread writes to its own element of one slice")]
    pub(super) fn run<P: Send>(&mut self, parts: &mut [P], work: impl Fn(&mut P) + Sync) {
        let (n_parts, n_threads) = (parts.len(), self.n_threads);
        assert!(n_parts <= n_threads, "expected at most {n_threads} parts, one per thread; received {n_parts}");
        let panic = Mutex::new(None);
        let first = AtomicPtr::new(parts.as_mut_ptr());
        self.run_each(n_parts, &|index| {
            // SAFETY: `run_each` calls this once for each index below `n_parts`, so the element exists and is no
            // other call's, and returns only after the last call has, so `parts` is borrowed for longer. `P: Send`.
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
    /// It returns when all calls have.
    fn run_each(&mut self, n_parts: usize, task: &(dyn Fn(usize) + Sync)) {
        let n_workers = n_parts.saturating_sub(1);
        // Whether the process has forked costs a call of the system: it is asked where a slower one would follow, to
        // wake a worker or to sleep.
        if self.workers.iter().take(n_workers).any(Worker::is_asleep) {
            self.give_up_if_forked();
        }
        if n_workers == 0 || self.workers.len() < n_workers {
            return (0..n_parts).for_each(task);
        }
        // A worker sees it with its state, which is posted after it.
        self.gate.running.store(n_workers, Ordering::Relaxed);
        for worker in &self.workers[..n_workers] {
            worker.post.task.store((&raw const task).cast_mut().cast::<Task>(), Ordering::Relaxed);
            worker.tell(WORK);
        }
        task(0);
        if self.gate.is_left_soon() {
            return;
        }
        if self.give_up_if_forked() {
            // The workers were awake when the process forked: what they were told now, none has heard.
            (1..n_parts).for_each(task);
        } else {
            self.gate.sleep_until_left();
        }
    }

    /// Gives the workers up if this is the child of a fork, and returns whether it is.
    fn give_up_if_forked(&mut self) -> bool {
        let is_forked = process::id() != self.process;
        if is_forked {
            // Their threads are not of this process: they can be neither joined nor detached.
            mem::forget(mem::take(&mut self.workers));
        }
        is_forked
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.give_up_if_forked();
        for worker in &self.workers {
            worker.tell(STOP);
        }
        for worker in self.workers.drain(..) {
            // No worker panics: a task does not unwind.
            let _ = worker.thread.join();
        }
    }
}

/// A thread and where it is told what to do.
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

    /// Gives the idle worker a state, and wakes it if it sleeps.
    fn tell(&self, state: u32) {
        // `Release`: the worker sees what was written before. One that is found idle looks again before it sleeps, so
        // it needs no call of the system.
        if self.post.state.swap(state, Ordering::Release) == ASLEEP {
            self.thread.thread().unpark();
        }
    }
}

/// Where a worker looks for work, on a cache line of its own.
///
/// On a pair of them: some processors fetch two.
#[derive(Debug)]
#[repr(align(128))]
struct Post {
    state: AtomicU32,
    /// What the last `WORK` was about.
    task: AtomicPtr<Task>,
}

impl Post {
    /// Waits until the worker is told something and returns it.
    fn next(&self) -> u32 {
        for _ in 0..SPINS {
            let state = self.state.load(Ordering::Acquire);
            if state != IDLE {
                return state;
            }
            spin_loop();
        }
        // From here on whoever tells the worker something finds it asleep and unparks it: before it parks, too, for
        // then its next `park` returns at once. If it has been told already, the exchange fails.
        if self.state.compare_exchange(IDLE, ASLEEP, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
            while self.state.load(Ordering::Relaxed) == ASLEEP {
                thread::park();
            }
        }
        self.state.load(Ordering::Acquire)
    }

    /// Does the work that the worker was told to.
    #[expect(unsafe_code, reason = "the work borrows from the caller, which outlives it")]
    fn call(&self, index: usize) {
        // Nobody tells the worker anything before it has left the gate, which makes this known.
        self.state.store(IDLE, Ordering::Relaxed);
        // SAFETY: `run_each` stored a pointer to its argument before it posted `WORK`, which `next` acquired, and
        // cannot return, nor unwind, before this worker has left the gate, which it does after this call.
        let task = unsafe { *self.task.load(Ordering::Relaxed) };
        task(index);
    }
}

/// Where the caller waits for its workers.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Gate {
    /// The number of workers that have not finished, and `AWAITED`.
    running: AtomicUsize,
    sleep: Mutex<()>,
    left: Condvar,
}

impl Gate {
    /// Tells that a worker has finished.
    ///
    /// Wakes the caller if it was the last and the caller sleeps.
    fn leave(&self) {
        // Once this is done the caller may be gone: what follows touches only the gate, which the worker owns too.
        if self.running.fetch_sub(1, Ordering::AcqRel) == AWAITED | 1 {
            // The caller looks at `running` under this lock: it has yet to look, or waits already.
            drop(self.lock());
            self.left.notify_one();
        }
    }

    /// Returns whether all workers finish while the caller stays awake.
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

/// Keeps the payload of a panic, unless there is one already.
fn keep_first(kept: &Mutex<Option<Payload>>, payload: Payload) {
    let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
    if kept.is_none() {
        *kept = Some(payload);
    } else {
        // Not dropped: a payload's own code could panic, and a task must not unwind.
        mem::forget(payload);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a pool as a forked child has it.
    ///
    /// Its process is another, and no thread is behind its workers.
    fn forked(state: u32) -> Pool {
        let post = || Arc::new(Post { state: AtomicU32::new(state), task: AtomicPtr::new(ptr::null_mut()) });
        let workers = (0..2).map(|_| Worker { thread: thread::spawn(|| ()), post: post() }).collect();
        Pool { n_threads: 3, workers, gate: Arc::default(), process: process::id() ^ 1 }
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
