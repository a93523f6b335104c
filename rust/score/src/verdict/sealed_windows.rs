//! Results on sealed windows, whose prices were secret.

use openoutcry_contract::Submission;

use super::composite_score::CompositeScore;
use super::field_agents::{Agents, restricted};
use super::gates::{Gate, Verdict, verdict};
use super::joint_scores::JointScores;
use super::reason::{Reason, Unknown};
use super::sealed_result::Sealed;
use super::{ScoreConfig, ScoreError};

/// Gates on skill; the other gates apply to all windows.
const OF_SKILL: [&str; 11] = [
    "days",
    "returns",
    "windows",
    "volatility",
    "alpha",
    "dsr",
    "romano_wolf",
    "window_below",
    "window_wins",
    "pooled_windows",
    "without_best",
];

/// Agents scored on the sealed windows only.
pub(super) struct SealedOnly<'a> {
    pub agents: Agents<'a>,
    pub scored: JointScores,
    pub config: ScoreConfig,
}

/// Adds the results on sealed windows, their gate, and the ranking by them.
///
/// Nothing is added unless there are both sealed and other windows.
///
/// The agents are scored on them as on all windows, out of as many trials. The ranking uses the sealed windows only:
/// hindsight on public windows would lift an agent above those without it.
///
/// # Errors
///
/// Returns an error for invalid draws.
pub(super) fn seal<'a>(
    submissions: &'a [Submission],
    config: &ScoreConfig,
    scores: &mut [CompositeScore],
) -> Result<Option<SealedOnly<'a>>, ScoreError> {
    let windows: Vec<_> = config.windows.iter().filter(|window| window.sealed).copied().collect();
    if windows.is_empty() || windows.len() == config.windows.len() {
        return Ok(None);
    }
    let mut config = ScoreConfig { windows, ..config.clone() };
    config.trials.n_trials = config.trials.n_trials.max(scores.len() as u64);
    let agents = restricted(submissions, &config)?;
    let mut scored = JointScores::new(&agents.scored, &config)?;
    for score in scores {
        let alone = scored.scores.iter_mut().find(|each| each.agent_id == score.agent_id);
        add(score, alone);
    }
    Ok(Some(SealedOnly { agents, scored, config }))
}

/// Adds the result on sealed windows to the score of an agent.
///
/// Including the reasons that exclude the agent from ranking.
fn add(score: &mut CompositeScore, alone: Option<&mut CompositeScore>) {
    score.sealed = alone.as_deref().map(Sealed::of);
    score.gates.push(gate(score.sealed.as_ref()));
    (score.z, score.seed_z) = match &alone {
        Some(alone) => (alone.z, alone.seed_z.clone()),
        None => (Err(Unknown::NotInField), vec![Err(Unknown::NotInField)]),
    };
    // An agent with a copied sealed track could hide it behind other windows.
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

/// Returns the gate on the number of skill gates that fail on sealed windows.
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
