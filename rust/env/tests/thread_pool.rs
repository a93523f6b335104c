//! The guarantees of the thread pool.
//!
//! Each part runs once, no allocation, no lost panic, no hang after a fork.

#![expect(unsafe_code, reason = "an allocator that counts, and a fork, are unsafe to call")]

#[path = "../src/batch/thread_pool.rs"]
mod thread_pool;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::hint::{black_box, spin_loop};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use thread_pool::ThreadPool;

struct Counting;

static ALLOCATIONS: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    /// Whether the allocations of this thread are counted.
    ///
    /// Parallel tests allocate too.
    static IS_COUNTED: Cell<bool> = const { Cell::new(false) };
}

fn count() {
    if IS_COUNTED.get() {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
    }
}

unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        unsafe { System.alloc(layout) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        unsafe { System.realloc(memory, layout, size) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

fn new_pool(n_threads: usize) -> ThreadPool {
    ThreadPool::new(n_threads).expect("a pool")
}

/// Returns the next number of a xorshift generator.
fn draw(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

/// Takes no time, some polls or occasionally a sleep.
///
/// Each way in which a wait can end.
fn take_time(number: u64) {
    match number % 256 {
        0 => thread::sleep(Duration::from_micros(number >> 8 & 127)),
        1..64 => (0..number >> 8 & 1023).for_each(|_| spin_loop()),
        64..72 => thread::yield_now(),
        _ => {}
    }
}

/// Runs parts of all durations with pauses of all durations between.
fn stress(n_threads: usize, n_runs: u64) {
    let mut pool = new_pool(n_threads);
    let mut random = 0x9E37_79B9_7F4A_7C15 ^ n_threads as u64;
    // The last run of a part, the number of its runs, and the time that it takes.
    let mut parts = vec![(0, 0, 0); n_threads];
    for run in 1..=n_runs {
        let n_parts = draw(&mut random) as usize % (n_threads + 1);
        let before = parts.clone();
        parts[..n_parts].iter_mut().for_each(|part| part.2 = draw(&mut random));
        pool.run(&mut parts[..n_parts], |part| {
            take_time(part.2);
            *part = (run, part.1 + 1, 0);
        });
        for (index, (part, before)) in parts.iter().zip(&before).enumerate() {
            let expected = if index < n_parts { (run, before.1 + 1, 0) } else { *before };
            assert_eq!(*part, expected, "run {run}, part {index} of {n_parts}");
        }
        take_time(draw(&mut random));
    }
}

#[test]
fn each_part_is_worked_on_once_a_run() {
    for n_threads in 1..=4 {
        stress(n_threads, 5_000);
    }
}

#[test]
#[ignore = "takes minutes"]
fn each_part_is_worked_on_once_in_each_of_a_million_runs() {
    for n_threads in 2..=4 {
        stress(n_threads, 1_000_000);
    }
}

#[test]
fn a_run_takes_no_memory() {
    let mut pool = new_pool(3);
    let mut parts = [0_u64; 3];
    pool.run(&mut parts, |_| IS_COUNTED.set(true));
    let before = ALLOCATIONS.load(Ordering::Relaxed);
    for run in 0..2_000 {
        if run % 20 == 0 {
            // Long enough for the workers to sleep before the run, and then the caller within it.
            thread::sleep(Duration::from_micros(300));
            pool.run(&mut parts[..2], |part| {
                *part += 1;
                if thread::current().name().is_some_and(|name| name.starts_with("openoutcry")) {
                    thread::sleep(Duration::from_micros(300));
                }
            });
        }
        pool.run(&mut parts, |part| *part += 1);
    }
    assert_eq!(ALLOCATIONS.load(Ordering::Relaxed) - before, 0);
    assert_eq!(parts, [2_100, 2_100, 2_000]);

    pool.run(&mut parts, |part| *part = *black_box(Box::new(7)));
    assert_eq!(ALLOCATIONS.load(Ordering::Relaxed) - before, 3, "what each thread takes is counted");
    IS_COUNTED.set(false);
}

#[test]
fn a_panic_is_carried_on_once_all_parts_have_been_run() {
    let mut pool = new_pool(3);
    for culprits in [&[0][..], &[1], &[2], &[0, 1], &[0, 1, 2]] {
        let mut parts = [0, 1, 2].map(|index| (index, false));
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            pool.run(&mut parts, |(index, is_run)| {
                if !culprits.contains(index) {
                    // The panics come first, and must not end the run.
                    thread::sleep(Duration::from_millis(5));
                }
                *is_run = true;
                assert!(!culprits.contains(index), "part {index}");
            });
        }));
        let payload = outcome.expect_err("a panic");
        let message = payload.downcast_ref::<String>().expect("a message");
        assert!(culprits.iter().any(|index| *message == format!("part {index}")), "{message}");
        assert!(parts.iter().all(|(_, is_run)| *is_run), "{parts:?}");
        // No panic is left for the next run.
        let mut parts = [0; 3];
        pool.run(&mut parts, |part| *part += 1);
        assert_eq!(parts, [1; 3]);
    }
}

#[test]
fn the_first_part_is_the_callers_and_each_other_a_workers_own() {
    let mut pool = new_pool(4);
    let mut names = [const { None }; 4];
    pool.run(&mut names, |name| *name = thread::current().name().map(str::to_owned));
    assert_eq!(names[0].as_deref(), thread::current().name());
    assert_eq!(names[1..].iter().flatten().collect::<Vec<_>>(), ["openoutcry-1", "openoutcry-2", "openoutcry-3"]);
}

#[test]
fn the_caller_may_be_another_thread_each_run() {
    let mut pool = new_pool(2);
    for _ in 0..50 {
        let run = move || {
            let mut parts = [0; 2];
            pool.run(&mut parts, |part| {
                thread::sleep(Duration::from_micros(200));
                *part += 1;
            });
            (pool, parts)
        };
        let parts;
        (pool, parts) = thread::spawn(run).join().expect("no panic");
        assert_eq!(parts, [1; 2]);
    }
}

#[test]
fn more_parts_than_threads_are_refused_before_any_is_worked_on() {
    let mut pool = new_pool(2);
    let mut parts = [0; 3];
    let outcome = catch_unwind(AssertUnwindSafe(|| pool.run(&mut parts, |part| *part += 1)));
    let payload = outcome.expect_err("a panic");
    let message = payload.downcast_ref::<String>().expect("a message");
    assert_eq!(message, "expected at most 2 parts, one per thread; received 3");
    assert_eq!(parts, [0; 3]);
}

#[test]
fn a_dropped_pool_has_ended_its_threads() {
    /// Reports the end of its thread.
    struct EndSignal(mpsc::Sender<()>);
    impl Drop for EndSignal {
        fn drop(&mut self) {
            let _ = self.0.send(());
        }
    }
    thread_local! { static FAREWELL: Cell<Option<EndSignal>> = const { Cell::new(None) } }

    let (sender, receiver) = mpsc::channel();
    let mut pool = new_pool(3);
    let mut parts = [None, Some(sender.clone()), Some(sender)];
    pool.run(&mut parts, |part| FAREWELL.set(part.take().map(EndSignal)));
    assert!(receiver.try_recv().is_err());
    drop(pool);
    assert_eq!(receiver.try_iter().count(), 2);
}

#[cfg(unix)]
#[test]
fn a_forked_child_does_all_the_work_itself() {
    unsafe extern "C" {
        fn fork() -> i32;
        fn alarm(seconds: u32) -> u32;
        fn waitpid(process: i32, status: *mut i32, options: i32) -> i32;
        fn _exit(status: i32) -> !;
    }
    let mut pool = new_pool(3);
    let mut parts = [None; 3];
    pool.run(&mut parts, |part| *part = Some(thread::current().id()));
    let child = unsafe { fork() };
    if child == 0 {
        // A child that hangs is ended by its alarm, and distinguished from one that exits.
        unsafe { alarm(10) };
        let is_well = catch_unwind(AssertUnwindSafe(|| {
            pool.run(&mut parts, |part| *part = Some(thread::current().id()));
            drop(pool);
            parts == [Some(thread::current().id()); 3]
        }));
        unsafe { _exit(i32::from(!is_well.unwrap_or(false))) };
    }
    let mut status = -1;
    assert_eq!(unsafe { waitpid(child, &raw mut status, 0) }, child);
    assert_eq!(status, 0);
    // The threads of the parent are unchanged.
    let before = parts;
    pool.run(&mut parts, |part| *part = Some(thread::current().id()));
    assert_eq!(parts, before);
}
