use super::gates::{Gate, Verdict};
use super::reason::{Known, Reason};

/// The result of an agent on the sealed windows only.
#[derive(Clone, Debug, PartialEq)]
pub struct Sealed {
    /// The verdict on them.
    pub verdict: Verdict,
    /// Reasons, each once.
    pub reasons: Vec<Reason>,
    /// The gates of skill.
    pub gates: Vec<Gate>,
    /// Ranking value.
    pub z: Known,
    /// Number of windows.
    pub n_windows: usize,
    /// Number of returns.
    pub n_days: usize,
}
