//! Replays: runs recomputed from their records.

use openoutcry_contract::Decision;
use openoutcry_contract::record::{DatasetName, Digest, Fault, Fill, RunTrajectory, Seen};
use openoutcry_engine::{ConfigError, CostModel, Dataset, Detail, FillKey, Limits, Rules, StepError, Stepped};
use thiserror::Error;

use crate::episode::single_episode::{Episode, check_lookback};
use crate::replay::capture::ObservationViewer;
use crate::replay::divergence::{self, Difference};

/// Settings that a replay requires of a run, in addition to the data.
///
/// Absent settings are taken from the record.
#[derive(Clone, Copy, Debug, Default)]
pub struct Terms<'a> {
    /// Required costs.
    pub costs: Option<CostModel>,
    /// Required limits.
    pub limits: Option<Limits>,
    /// The key of the commitment of the slippage noise.
    pub fill_key: Option<FillKey>,
    /// Names of markets, and the commitments of their keys.
    ///
    /// The record is trusted for a market that is not listed.
    pub markets: &'a [DatasetName],
}

/// A replayed run, and its divergences from the record.
#[derive(Clone, Debug, PartialEq)]
pub struct Replay {
    /// Digest of the run; none for an unfinished one.
    pub digest: Option<Digest>,
    /// Replayed steps.
    pub n_steps: usize,
    /// Divergences: those of the header, then the first ones of the run.
    pub differences: Vec<Difference>,
}

impl Replay {
    /// Returns whether the record is finished and has no divergence.
    #[must_use]
    pub fn is_verified(&self) -> bool {
        self.digest.is_some() && self.differences.is_empty()
    }
}

/// A run that could not be replayed, or that diverges.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum ReplayError {
    /// The slippage noise of the run has a sealed key.
    #[error("a run with slippage noise needs its fill key; received only its commitment {commitment}")]
    FillKey {
        /// The commitment of the key in the record.
        commitment: Digest,
    },
    /// The run diverges from its record.
    #[error(
        "a record that replays bit for bit is required; received {field} {recorded} in run {run} where the replay has \
         {replayed}: {cause}"
    )]
    Differs {
        /// Index of the run.
        run: usize,
        /// The first field that differs.
        field: &'static str,
        /// Recorded value.
        recorded: String,
        /// Replayed value.
        replayed: String,
        /// The likely cause.
        cause: &'static str,
    },
    /// The record is unfinished.
    #[error("a finished record is required; received one {problem}")]
    Unfinished {
        /// The missing part.
        problem: String,
    },
    /// A benchmark run of the record failed.
    #[error(transparent)]
    Step(#[from] StepError),
}

impl ReplayError {
    /// Returns the stable name of this error in `contract/errors.json`.
    #[must_use]
    pub fn slug(&self) -> &'static str {
        match self {
            Self::FillKey { .. } => "fill_key_required",
            Self::Differs { .. } => "record_differs",
            Self::Unfinished { .. } => "record_unfinished",
            Self::Step(error) => error.slug(),
        }
    }
}

/// The observations and outcomes of a replayed run.
#[derive(Clone, Debug, Default)]
pub(crate) struct ReplayTrace {
    /// The observation before each decision, and after the last one.
    pub(crate) seen: Vec<Seen>,
    pub(crate) terminated: bool,
    /// Whether the window or the account has ended.
    pub(crate) done: bool,
    /// The first step with a trade.
    pub(crate) first_trade: Option<usize>,
    /// The first answer whose recorded fault does not fit its text.
    pub(crate) mismatch: Option<FaultMismatch>,
    /// The error of the next step, if the replay stopped.
    pub(crate) stopped: Option<StepError>,
}

/// An answer whose recorded fault does not fit its text.
#[derive(Clone, Debug)]
pub(crate) struct FaultMismatch {
    pub(crate) step: usize,
    pub(crate) recorded: String,
    pub(crate) replayed: String,
}

/// Replays the decisions of a run.
///
/// `see` receives each step with its decision.
pub(crate) fn walk(
    data: &Dataset,
    run: &RunTrajectory,
    rules: Rules,
    mut see: impl FnMut(&Decision, &Episode, &Stepped),
) -> ReplayTrace {
    let window = run.header.window;
    let mut viewer = ObservationViewer::new(data, window, run.header.lookback);
    // Full detail in every case: observations have average prices.
    let mut episode = Episode::new(data, window, rules, Detail::Full);
    let mut walk = ReplayTrace { seen: Vec::with_capacity(run.steps.len() + 1), ..ReplayTrace::default() };
    for (index, step) in run.steps.iter().enumerate() {
        if episode.done() {
            break;
        }
        walk.seen.push(viewer.look(&episode));
        let decision = read(index, &step.decision, step.fault.as_ref(), &mut walk.mismatch);
        match episode.decide(data, &decision) {
            Ok(stepped) => {
                if stepped.turnover != 0.0 {
                    walk.first_trade.get_or_insert(index);
                }
                see(&decision, &episode, &stepped);
            }
            Err(error) => {
                walk.stopped = Some(error);
                return walk;
            }
        }
    }
    walk.seen.push(viewer.look(&episode));
    (walk.terminated, walk.done) = (episode.terminated, episode.done());
    walk
}

/// Returns the decision of an answer: a hold for a recorded fault.
fn read(step: usize, text: &str, fault: Option<&Fault>, mismatch: &mut Option<FaultMismatch>) -> Decision {
    if fault.is_some_and(|fault| fault.slug() != Fault::MALFORMED) {
        return Decision::hold();
    }
    let (recorded, replayed) = match (Decision::from_json(text), fault) {
        (Ok(decision), None) => return decision,
        (Err(_), Some(_)) => return Decision::hold(),
        (Ok(_), Some(_)) => (Fault::MALFORMED.to_owned(), "a decision".to_owned()),
        (Err(error), None) => ("a decision".to_owned(), format!("{}: {error}", error.slug())),
    };
    mismatch.get_or_insert(FaultMismatch { step, recorded, replayed });
    Decision::hold()
}

/// Returns the rules of the replay of a run.
///
/// Or the invalid setting of its header.
pub(crate) fn rules_of(
    data: &Dataset,
    run: &RunTrajectory,
    terms: &Terms<'_>,
) -> Result<Result<Rules, ConfigError>, ReplayError> {
    let header = &run.header;
    let (costs, limits) = (terms.costs.unwrap_or(header.costs), terms.limits.unwrap_or(header.limits));
    let key = match header.fill {
        Fill::Seed(seed) => FillKey::from_seed(seed),
        Fill::Commitment(commitment) => match terms.fill_key {
            Some(key) => key,
            // Without noise no number depends on the key.
            None if costs.slippage_jitter == 0.0 => FillKey::from_seed(0),
            None => return Err(ReplayError::FillKey { commitment }),
        },
    };
    let checked = header.window.validate(data.n_bars()).and_then(|()| check_lookback(header.lookback));
    Ok(checked.and_then(|_| Rules::new(costs, limits, key)))
}

/// Replays a run and returns its divergences.
///
/// A run is verified if every link follows from its predecessor, and every observation, cash and NAV equals the replay
/// to the bit.
///
/// # Errors
///
/// Returns an error if the slippage noise of the run has a sealed key that `terms` do not hold.
pub fn replay_run(data: &Dataset, run: &RunTrajectory, terms: &Terms<'_>) -> Result<Replay, ReplayError> {
    replay_with(data, run, terms, |_, _, _| ())
}

/// Replays a run as [`replay_run`] does, and shows each step to `see`.
pub(crate) fn replay_with(
    data: &Dataset,
    run: &RunTrajectory,
    terms: &Terms<'_>,
    see: impl FnMut(&Decision, &Episode, &Stepped),
) -> Result<Replay, ReplayError> {
    let walked = rules_of(data, run, terms)?.map(|rules| walk(data, run, rules, see));
    let differences = divergence::differences(data, run, terms, walked.as_ref());
    let n_steps = walked.map_or(0, |walk| walk.seen.len().saturating_sub(1));
    Ok(Replay { digest: run.digest(), n_steps, differences })
}
