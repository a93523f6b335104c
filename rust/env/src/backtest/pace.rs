/// Number of steps below which a run on the fast path costs more to begin than it saves.
const SHORT: usize = 16;

/// Chooses between runs on the fast path and single steps.
#[derive(Default)]
pub(crate) struct Pace {
    /// Single steps until the next run on the fast path.
    wait: usize,
}

impl Pace {
    /// Returns the number of steps of `run`, which is called unless its last call was short.
    ///
    /// Take a single step if it is 0.
    pub(crate) fn run(&mut self, run: impl FnOnce() -> usize) -> usize {
        if self.wait > 0 {
            self.wait -= 1;
            return 0;
        }
        let n_steps = run();
        if n_steps < SHORT {
            self.wait = SHORT;
        }
        n_steps
    }
}
