use serde::Deserialize;

use super::agent_fault::Fault;
use super::digest::Digest;
use super::error::RecordError;
use super::harness::Harness;
use super::header::Header;
use super::signature::Signature;

/// Characters that the name of an agent has at most, by code points.
pub const MAX_AGENT_ID: usize = 200;

/// Refuses a name that no board could show.
///
/// # Errors
///
/// Returns an error for a name of more than [`MAX_AGENT_ID`] characters.
pub fn check_agent_id(agent_id: &str) -> Result<(), RecordError> {
    match agent_id.chars().count() {
        0..=MAX_AGENT_ID => Ok(()),
        received => Err(RecordError::AgentId { received }),
    }
}

/// The record of an agent: all runs it is to be judged by.
#[derive(Clone, Debug, PartialEq)]
pub struct AgentTrajectory {
    /// What the agent is called, in at most [`MAX_AGENT_ID`] characters.
    ///
    /// A longer name can be written, and is refused when it is read.
    pub agent_id: String,
    /// Trials that its maker declares to have made before.
    ///
    /// They can only add to those that are counted.
    pub in_sample_trials: u64,
    /// The runs.
    pub runs: Vec<RunTrajectory>,
    /// Digest of the record as it was finished; none for one that was not.
    pub digest: Option<Digest>,
    /// Signature of the digest, if whoever ran it signed.
    pub signature: Option<Signature>,
}

/// The record of one run: what it was told, what it decided, and the chain.
#[derive(Clone, Debug, PartialEq)]
pub struct RunTrajectory {
    /// How the agent was run; none where it ran inside the harness's own process.
    ///
    /// The digest of the record binds it and not the chain: whoever is asked, the same decisions are the same run.
    pub harness: Option<Harness>,
    /// What the run was told.
    pub header: Header,
    /// SHA-256 over the header, with which the chain begins.
    pub link: Digest,
    /// One entry a decision.
    pub steps: Vec<Step>,
    /// What was shown after the last decision; none for a run that was not finished.
    pub end: Option<End>,
}

/// One decision, and digests of what it was taken on.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// Cash that the observation showed.
    pub cash: f64,
    /// The answer of the agent, byte for byte.
    pub decision: String,
    /// What was wrong with the answer, if the harness took it for a hold.
    pub fault: Option<Fault>,
    /// SHA-256 over this step and the link before it.
    pub link: Digest,
    /// NAV at the close that was shown.
    pub nav: f64,
    /// SHA-256 of the canonical JSON of the observation.
    pub observation: Digest,
}

/// What was shown after the last decision.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct End {
    /// Cash that the observation showed.
    pub cash: f64,
    /// SHA-256 over this end and the link before it: the digest of the run.
    pub link: Digest,
    /// NAV at the close that was shown.
    pub nav: f64,
    /// SHA-256 of the canonical JSON of the observation.
    pub observation: Digest,
    /// Whether the account was liquidated or ruined.
    pub terminated: bool,
}

impl RunTrajectory {
    /// Returns the digest of the run: its last link, none for an unfinished one.
    #[must_use]
    pub fn digest(&self) -> Option<Digest> {
        self.end.as_ref().map(|end| end.link)
    }

    /// Returns every field of the header and of the harness by its path.
    #[must_use]
    pub fn fields(&self) -> Vec<(&'static str, String)> {
        let mut fields = self.header.fields();
        fields.extend(self.harness.into_iter().flat_map(Harness::fields));
        fields.sort_by_key(|(name, _)| *name);
        fields
    }

    /// Returns the bar at whose close a step was decided.
    #[must_use]
    pub fn bar_of(&self, step: usize) -> usize {
        self.header.window.start + step
    }
}

impl AgentTrajectory {
    /// Returns the record of an agent's runs, unsigned.
    ///
    /// Its digest is none while a run is unfinished.
    #[must_use]
    pub fn new(agent_id: &str, runs: Vec<RunTrajectory>, in_sample_trials: u64) -> Self {
        let mut made = Self { agent_id: agent_id.to_owned(), in_sample_trials, runs, digest: None, signature: None };
        made.digest = made.computed_digest();
        made
    }

    /// Returns what the record lacks to be finished, in words; none if nothing.
    #[must_use]
    pub fn unfinished(&self) -> Option<String> {
        if let Some(run) = self.runs.iter().position(|run| run.end.is_none()) {
            return Some(format!("whose run {run} has no end, after {} steps", self.runs[run].steps.len()));
        }
        self.digest.is_none().then(|| "without its digest".to_owned())
    }
}
