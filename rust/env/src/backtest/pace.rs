/// Fewest steps with which a run on the fast path pays for its start.
const SHORT: usize = 16;

/// Chooses between runs on the fast path and single steps.
#[derive(Default)]
pub(crate) struct Pace {
    /// Single steps until the next run on the fast path.
    wait: usize,
}

impl Pace {
    /// Returns the number of steps of `run`, and 0 for a single step.
    ///
    /// `run` is not called for a while after a short run.
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
