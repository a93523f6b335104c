//! Runs recomputed from their records.

use openoutcry_contract::Decision;
use openoutcry_contract::record::{DatasetName, Digest, Fault, Fill, RunTrajectory, Seen};
use openoutcry_engine::{ConfigError, CostModel, Dataset, Detail, FillKey, Limits, Rules, StepError, Stepped};
use thiserror::Error;

use crate::episode::single_episode::{Episode, check_lookback};
use crate::replay::capture::Viewer;
use crate::replay::divergence::{self, Difference};

/// What whoever replays a run holds it to, beside the data.
///
/// What is not given is taken from the record.
#[derive(Clone, Copy, Debug, Default)]
pub struct Terms<'a> {
    /// What trading must have cost.
    pub costs: Option<CostModel>,
    /// What a decision may have asked for.
    pub limits: Option<Limits>,
    /// The key behind the commitment of the slippage noise.
    pub fill_key: Option<FillKey>,
    /// What markets are called, and the commitments of their keys.
    ///
    /// Of one that is not among them the record is believed.
    pub markets: &'a [DatasetName],
}

/// A run that was recomputed, and where its record says otherwise.
#[derive(Clone, Debug, PartialEq)]
pub struct Replay {
    /// Digest of the run; none for an unfinished one.
    pub digest: Option<Digest>,
    /// Steps that were carried out.
    pub n_steps: usize,
    /// What differs: of the header first, then the first places of the run.
    pub differences: Vec<Difference>,
}

impl Replay {
    /// Returns whether the record is finished and says what the replay does.
    #[must_use]
    pub fn is_verified(&self) -> bool {
        self.digest.is_some() && self.differences.is_empty()
    }
}

/// A run that could not be replayed.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum ReplayError {
    /// The run has slippage noise of a key that is sealed.
    #[error("a run with slippage noise needs its fill key; received its commitment {commitment} alone")]
    FillKey {
        /// What the record holds of the key.
        commitment: Digest,
    },
    /// The run is not what the record says.
    #[error(
        "a record that replays to the bit is required; received one whose {field} of run {run} is {recorded} where the \
         replay has {replayed}: {cause}"
    )]
    Differs {
        /// The run in its record.
        run: usize,
        /// The field that differs first.
        field: &'static str,
        /// What stands there.
        recorded: String,
        /// What belongs there.
        replayed: String,
        /// The likely cause.
        cause: &'static str,
    },
    /// The record has no end.
    #[error("a finished record is required; received one {problem}")]
    Unfinished {
        /// What it lacks.
        problem: String,
    },
    /// A run that the record is to be held against could not be made.
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

/// What a run comes to when its decisions are carried out again.
#[derive(Clone, Debug, Default)]
pub(crate) struct Walk {
    /// What is shown before each decision and, last, after all of them.
    pub(crate) seen: Vec<Seen>,
    pub(crate) terminated: bool,
    /// Whether the window has ended, or the account.
    pub(crate) done: bool,
    /// The first step that traded.
    pub(crate) first_trade: Option<usize>,
    /// The first answer whose fault, or lack of one, is not that of its text.
    pub(crate) misread: Option<Misread>,
    /// Why no step could be carried out from here on.
    pub(crate) stopped: Option<StepError>,
}

/// An answer that is not what the record takes it for.
#[derive(Clone, Debug)]
pub(crate) struct Misread {
    pub(crate) step: usize,
    pub(crate) recorded: String,
    pub(crate) replayed: String,
}

/// Carries out the decisions of a run.
///
/// Each is shown to `see` with what it was read as.
pub(crate) fn walk(
    data: &Dataset,
    run: &RunTrajectory,
    rules: Rules,
    mut see: impl FnMut(&Decision, &Episode, &Stepped),
) -> Walk {
    let window = run.header.window;
    let mut viewer = Viewer::new(data, window, run.header.lookback);
    // In full, whoever looks on: an observation shows average prices.
    let mut episode = Episode::new(data, window, rules, Detail::Full);
    let mut walk = Walk { seen: Vec::with_capacity(run.steps.len() + 1), ..Walk::default() };
    for (index, step) in run.steps.iter().enumerate() {
        if episode.done() {
            break;
        }
        walk.seen.push(viewer.look(&episode));
        let decision = read(index, &step.decision, step.fault.as_ref(), &mut walk.misread);
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

/// Returns what an answer decides: nothing where the harness found a fault.
fn read(step: usize, text: &str, fault: Option<&Fault>, misread: &mut Option<Misread>) -> Decision {
    if fault.is_some_and(|fault| fault.slug() != Fault::MALFORMED) {
        return Decision::hold();
    }
    let (recorded, replayed) = match (Decision::from_json(text), fault) {
        (Ok(decision), None) => return decision,
        (Err(_), Some(_)) => return Decision::hold(),
        (Ok(_), Some(_)) => (Fault::MALFORMED.to_owned(), "a decision".to_owned()),
        (Err(error), None) => ("a decision".to_owned(), format!("{}: {error}", error.slug())),
    };
    misread.get_or_insert(Misread { step, recorded, replayed });
    Decision::hold()
}

/// Returns the rules that a run is to be replayed by.
///
/// Or what of its header cannot be used.
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
            // Nothing depends on a key without noise.
            None if costs.slippage_jitter == 0.0 => FillKey::from_seed(0),
            None => return Err(ReplayError::FillKey { commitment }),
        },
    };
    let checked = header.window.validate(data.n_bars()).and_then(|()| check_lookback(header.lookback));
    Ok(checked.and_then(|_| Rules::new(costs, limits, key)))
}

/// Replays a run and returns where its record differs.
///
/// It is verified if every link follows from the one before it, and every observation, cash and NAV is that of the
/// replay, to the bit.
///
/// # Errors
///
/// Returns an error if the run has slippage noise of a sealed key that `terms` do not hold.
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
