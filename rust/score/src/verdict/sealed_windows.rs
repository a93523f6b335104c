//! What the windows say whose prices nobody could know.

use openoutcry_contract::Submission;

use super::composite_score::{CompositeScore, Verdict};
use super::field_agents::{Agents, restricted};
use super::gates::{Gate, verdict};
use super::joint_scores::Judged;
use super::reason::{Known, Reason, Unknown};
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

/// Agents judged on the sealed windows alone.
pub(super) struct Alone<'a> {
    pub agents: Agents<'a>,
    pub judged: Judged,
    pub config: ScoreConfig,
}

/// Adds what the sealed windows say, the gate on it, and what ranks by them.
///
/// Nothing is added where there are no others beside them, or no sealed ones.
///
/// The agents are judged on them as on all windows, out of as many trials. What ranks is theirs alone: hindsight on the
/// other windows would lift whoever has it above those who have none.
///
/// # Errors
///
/// Returns an error if the draws make no sense.
pub(super) fn seal<'a>(
    submissions: &'a [Submission],
    config: &ScoreConfig,
    scores: &mut [CompositeScore],
) -> Result<Option<Alone<'a>>, ScoreError> {
    let windows: Vec<_> = config.windows.iter().filter(|window| window.sealed).copied().collect();
    if windows.is_empty() || windows.len() == config.windows.len() {
        return Ok(None);
    }
    let mut config = ScoreConfig { windows, ..config.clone() };
    config.trials.n_trials = config.trials.n_trials.max(scores.len() as u64);
    let agents = restricted(submissions, &config)?;
    let mut judged = Judged::new(&agents.judged, &config)?;
    for score in scores {
        let alone = judged.scores.iter_mut().find(|each| each.agent_id == score.agent_id);
        add(score, alone);
    }
    Ok(Some(Alone { agents, judged, config }))
}

/// Adds to a score what the sealed windows say of its agent.
///
/// To that is added what bars the agent from a rank.
fn add(score: &mut CompositeScore, alone: Option<&mut CompositeScore>) {
    score.sealed = alone.as_deref().map(Sealed::of);
    score.gates.push(gate(score.sealed.as_ref()));
    (score.z, score.seed_z) = match &alone {
        Some(alone) => (alone.z, alone.seed_z.clone()),
        None => (Err(Unknown::NotInField), vec![Err(Unknown::NotInField)]),
    };
    // Who has stolen a sealed track would hide it behind other windows.
    if let (None, Some(of)) = (&score.copy_of, alone.as_deref().and_then(|alone| alone.copy_of.as_ref())) {
        score.copy_of = Some(of.clone());
        let own = score.gates.iter_mut().filter(|gate| gate.slug == "original");
        own.for_each(|gate| *gate = Gate::at_most("original", Ok(1.0), 0.0, Reason::Copy));
    }
    (score.verdict, score.reasons) = verdict(&score.gates);
    if let Some(alone) = alone {
        alone.reasons.extend(&score.reasons);
    }
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
