//! What the windows say whose prices nobody could know.

use openoutcry_contract::Submission;

use super::gates::{Gate, verdict};
use super::judge::Judged;
use super::prepare::restricted;
use super::reason::{Known, Reason, Unknown};
use super::score::{CompositeScore, Verdict};
use super::{ScoreConfig, ScoreError};

/// Gates that say whether it is skill; the others hold for all windows or for none.
const OF_SKILL: [&str; 8] =
    ["days", "windows", "volatility", "alpha", "dsr", "romano_wolf", "window_below", "window_wins"];

/// What the sealed windows alone say of an agent.
#[derive(Clone, Debug, PartialEq)]
pub struct Sealed {
    /// What it is judged to be by them.
    pub verdict: Verdict,
    /// Why, each reason once.
    pub reasons: Vec<Reason>,
    /// The gates of skill.
    pub gates: Vec<Gate>,
    /// Standard errors above the luck of trials.
    pub z: Known,
    /// Windows.
    pub n_windows: usize,
    /// Returns of them.
    pub n_days: usize,
}

/// Adds what the sealed windows say, and the gate on it.
///
/// Nothing is added where there are no others beside them, or no sealed ones.
///
/// The agents are judged on them as on all windows, out of as many trials.
///
/// # Errors
///
/// Returns an error if the draws make no sense.
pub(super) fn seal(
    submissions: &[Submission],
    config: &ScoreConfig,
    scores: &mut [CompositeScore],
) -> Result<(), ScoreError> {
    let windows: Vec<_> = config.windows.iter().filter(|window| window.sealed).copied().collect();
    if windows.is_empty() || windows.len() == config.windows.len() {
        return Ok(());
    }
    let mut narrow = ScoreConfig { windows, ..config.clone() };
    narrow.trials.n_trials = narrow.trials.n_trials.max(scores.len() as u64);
    let in_no_test = |each: &&Submission| !config.luck_floor.contains(&each.agent_id);
    let submissions: Vec<&Submission> = submissions.iter().filter(in_no_test).collect();
    let agents = restricted(&submissions, &narrow)?;
    let judged = Judged::new(&agents, &narrow)?.scores;
    for score in scores {
        score.sealed = judged.iter().find(|each| each.agent_id == score.agent_id).map(Sealed::of);
        score.gates.push(gate(score.sealed.as_ref()));
        // Hindsight on public windows leads no board.
        if let Some(sealed) = &score.sealed {
            score.z = score.z.and_then(|z| Ok(z.min(sealed.z?)));
        }
        (score.verdict, score.reasons) = verdict(&score.gates);
    }
    Ok(())
}

impl Sealed {
    fn of(score: &CompositeScore) -> Self {
        let gates: Vec<Gate> = score.gates.iter().filter(|gate| OF_SKILL.contains(&gate.slug)).copied().collect();
        let (verdict, reasons) = verdict(&gates);
        Self { verdict, reasons, gates, z: score.z, n_windows: score.windows.len(), n_days: score.n_days }
    }
}

/// Returns the gate on how many gates of skill do not hold on sealed windows.
fn gate(sealed: Option<&Sealed>) -> Gate {
    let not_held = |of: &Sealed| of.gates.iter().filter(|gate| gate.passed != Some(true)).count();
    let count = sealed.map(|of| not_held(of) as f64).ok_or(Unknown::NotInField);
    let gate = Gate::at_most("sealed", count, 0.0, Reason::NotOnSealed);
    let failed = |reason| Gate { passed: Some(false), reason: Some(reason), ..gate };
    match sealed {
        None => failed(Reason::WindowsMissing),
        Some(Sealed { verdict: Verdict::Insufficient, .. }) => failed(Reason::Insufficient),
        Some(Sealed { verdict: Verdict::Unknown, .. }) => {
            Gate { passed: None, reason: Some(Reason::Undefined), ..gate }
        }
        Some(_) => gate,
    }
}
