use openoutcry_engine::counted;
use serde::Deserialize;

use super::MAX_AGENT_ID;
use super::agent_fault::Fault;
use super::digest::Digest;
use super::error::RecordError;
use super::harness::Harness;
use super::header::Header;
use super::signature::{Signature, check_key};

/// Refuses a name that is too long for a board.
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

/// The record of an agent: all runs of its score.
#[derive(Clone, Debug, PartialEq)]
pub struct AgentTrajectory {
    /// Name of the agent, at most [`MAX_AGENT_ID`] characters.
    ///
    /// A longer name can be written, but is refused by the reader.
    pub agent_id: String,
    /// Number of earlier trials that its author declares.
    ///
    /// They are added to the counted trials.
    pub in_sample_trials: u64,
    /// The runs.
    pub runs: Vec<RunTrajectory>,
    /// Digest of the finished record; absent for an unfinished one.
    pub digest: Option<Digest>,
    /// Signature of the digest, if any.
    pub signature: Option<Signature>,
}

/// The record of one run: settings, decisions and the hash chain.
#[derive(Clone, Debug, PartialEq)]
pub struct RunTrajectory {
    /// The harness of the agent; absent for an agent in the process of the harness.
    ///
    /// It is bound by the digest of the record, not by the chain: equal decisions are equal runs in any harness.
    pub harness: Option<Harness>,
    /// The settings of the run.
    pub header: Header,
    /// SHA-256 of the header, the first link of the chain.
    pub link: Digest,
    /// One entry per decision.
    pub steps: Vec<Step>,
    /// The observation after the last decision; absent for an unfinished run.
    pub end: Option<End>,
}

/// One decision, and the digest of its observation.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// Cash in the observation.
    pub cash: f64,
    /// The version of the contract, at the first decision that needs it.
    ///
    /// Absent where the version of the header has every field.
    pub contract_version: Option<String>,
    /// The answer of the agent, byte for byte.
    pub decision: String,
    /// The fault of the answer, if the harness replaced it by a hold.
    pub fault: Option<Fault>,
    /// SHA-256 of this step and the link before it.
    pub link: Digest,
    /// NAV at the close of the observation.
    pub nav: f64,
    /// SHA-256 of the canonical JSON of the observation.
    pub observation: Digest,
}

/// The observation after the last decision.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct End {
    /// Cash in the observation.
    pub cash: f64,
    /// SHA-256 of this end and the link before it: the digest of the run.
    pub link: Digest,
    /// NAV at the close of the observation.
    pub nav: f64,
    /// SHA-256 of the canonical JSON of the observation.
    pub observation: Digest,
    /// Whether the account was liquidated or ruined.
    pub terminated: bool,
}

impl RunTrajectory {
    /// Returns the digest of the run, its last link; `None` for an unfinished run.
    #[must_use]
    pub fn digest(&self) -> Option<Digest> {
        self.end.as_ref().map(|end| end.link)
    }

    /// Returns the version of the contract that the run needs.
    ///
    /// It is the latest that its header or a step states.
    #[must_use]
    pub fn contract_version(&self) -> &str {
        let stated = self.steps.iter().find_map(|step| step.contract_version.as_deref());
        stated.unwrap_or(&self.header.contract_version)
    }

    /// Returns every field of the header and the harness by its path.
    ///
    /// `contract_version` is the one that the run needs.
    #[must_use]
    pub fn fields(&self) -> Vec<(&'static str, String)> {
        let mut fields = self.header.fields();
        if let Some((_, version)) = fields.iter_mut().find(|(name, _)| *name == "contract_version") {
            self.contract_version().clone_into(version);
        }
        fields.extend(self.harness.into_iter().flat_map(Harness::fields));
        fields.sort_by_key(|(name, _)| *name);
        fields
    }

    /// Returns the bar of the close at which a step was decided.
    #[must_use]
    pub fn bar_of(&self, step: usize) -> usize {
        self.header.window.start + step
    }
}

impl AgentTrajectory {
    /// Returns the unsigned record of the runs of an agent.
    ///
    /// It has no digest if a run is unfinished.
    #[must_use]
    pub fn new(agent_id: &str, runs: Vec<RunTrajectory>, in_sample_trials: u64) -> Self {
        let mut made = Self { agent_id: agent_id.to_owned(), in_sample_trials, runs, digest: None, signature: None };
        made.digest = made.computed_digest();
        made
    }

    /// Returns the missing part of an unfinished record, in words.
    #[must_use]
    pub fn unfinished(&self) -> Option<String> {
        if let Some(run) = self.runs.iter().position(|run| run.end.is_none()) {
            return Some(format!("with run {run} unfinished after {}", counted(self.runs[run].steps.len(), "step")));
        }
        self.digest.is_none().then(|| "without a digest".to_owned())
    }

    /// Returns this record signed with a private Ed25519 key.
    ///
    /// # Errors
    ///
    /// Returns an error if the record is unfinished, or its hashes do not follow from its contents.
    pub fn signed(mut self, private_key: &[u8; 32]) -> Result<Self, RecordError> {
        let digest = self.intact_digest().ok_or_else(|| {
            let edited = || "with a digest or a link that does not follow from its contents".to_owned();
            RecordError::Unfinished { problem: self.unfinished().unwrap_or_else(edited) }
        })?;
        self.signature = Some(Signature::of(&digest, private_key));
        Ok(self)
    }

    /// Returns whether the signature is valid for the contents and a key.
    ///
    /// The chain is recomputed from the contents: a signature signs the digest only, and the digest only the last link
    /// of each run. Without a key, the public key in the record is used. A valid signature then shows that the holder
    /// of that key signed this record.
    ///
    /// # Errors
    ///
    /// Returns an error if the record has no signature, or the given key is invalid.
    pub fn verify_signature(&self, key: Option<&[u8; 32]>) -> Result<bool, RecordError> {
        let signature = self.signature.as_ref().ok_or(RecordError::Unsigned)?;
        if let Some(key) = key {
            check_key(key)?;
            if *key != signature.public_key {
                return Ok(false);
            }
        }
        Ok(self.intact_digest().is_some_and(|digest| signature.signs(&digest)))
    }
}
