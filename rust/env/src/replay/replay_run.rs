//! Replays: runs recomputed from their records.

use openoutcry_contract::Decision;
use openoutcry_contract::record::{Digest, Fill, RunTrajectory};
use openoutcry_engine::{ConfigError, Dataset, FillKey, Rules, StepError, Stepped};
use thiserror::Error;

use crate::episode::single_episode::{Episode, check_lookback};
use crate::replay::divergence::Difference;
use crate::replay::replay_terms::Terms;
use crate::replay::replay_trace::walk;
use crate::replay::run_divergences::differences;

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
    let rules = checked.and_then(|_| Rules::new(costs, limits, key));
    Ok(rules.and_then(|rules| rules.check_market(data).map(|()| rules)))
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
    let differences = differences(data, run, terms, walked.as_ref());
    let n_steps = walked.map_or(0, |walk| walk.seen.len().saturating_sub(1));
    Ok(Replay { digest: run.digest(), n_steps, differences })
}
