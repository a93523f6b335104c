//! A divergence of a record from its replay, and its likely cause.

use openoutcry_contract::record::Place;

/// A divergence: a place at which a record differs from its replay.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// The place.
    pub place: Place,
    /// The bar of the place; none for the record and the header.
    pub bar: Option<usize>,
    /// The field that differs.
    pub field: &'static str,
    /// Recorded value.
    pub recorded: String,
    /// Replayed value.
    pub replayed: String,
    /// Distance of two numbers in doubles (units in the last place).
    pub ulps: Option<u64>,
    /// The likely cause.
    pub cause: Cause,
}

impl Difference {
    /// Returns the likely cause in words.
    ///
    /// A cause arises in more than one way; the field tells which of them are left.
    #[must_use]
    pub fn because(&self) -> &'static str {
        match (self.cause, self.field) {
            (Cause::Data, "dataset.commitment") => "the market was sealed under another key, or the header was edited",
            (Cause::Data, "dataset.fingerprint") => "the data differ from those of the run, or the header was edited",
            (Cause::MarketName, "dataset.name") => "the header was edited, or the market was loaded under another name",
            (Cause::MarketName, _) => "the header was edited, or the market was loaded without its key",
            (Cause::HeaderEdited, "link") => "the header or its link was edited after the run",
            (Cause::HeaderEdited, "nav" | "cash" | "observation") => {
                "the header or the first step was edited, and the chain was rebuilt"
            }
            (Cause::Rules, "nav" | "cash" | "observation") => {
                "costs, limits or the fill key differ from those of the run, or its first trade was edited"
            }
            (Cause::DecisionEdited, "nav" | "cash" | "observation") => {
                "an earlier decision, or numbers of several steps, were edited after the run"
            }
            (Cause::WitnessEdited, "terminated") => "the ending was edited after the run",
            (Cause::StepsMoved, "steps") => "steps are missing or added, or the window of the header was edited",
            (Cause::StepsMoved, _) => {
                "steps are missing, added, reordered or from another run, or several numbers of a step were edited"
            }
            (cause, _) => cause.words(),
        }
    }
}

/// The likely cause of a divergence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// The data differ from those of the run.
    Data,
    /// Costs, limits or the fill key differ from those of the run.
    Rules,
    /// The run was made by another version of the engine or the contract.
    EngineVersion,
    /// The record names an unknown version of engine or contract.
    VersionUnknown,
    /// The record has another name of the market, or another commitment of its key.
    MarketName,
    /// The header was changed after the run.
    HeaderEdited,
    /// A decision, or its fault, was changed after the run.
    DecisionEdited,
    /// A digest or number of an observation was changed after the run.
    WitnessEdited,
    /// Steps are missing, added, reordered, or taken from another run.
    StepsMoved,
    /// A link was changed after the run.
    LinkEdited,
    /// The engine refuses a recorded step.
    StepRefused,
    /// The agent, the trials or the digest of the record was changed.
    DigestEdited,
    /// The record was changed after its signature, or another key signed it.
    SignatureEdited,
}

impl Cause {
    /// Returns the stable name of the cause.
    #[must_use]
    pub fn slug(self) -> &'static str {
        match self {
            Self::Data => "data",
            Self::Rules => "rules",
            Self::EngineVersion => "engine_version",
            Self::VersionUnknown => "version_unknown",
            Self::MarketName => "market_name",
            Self::HeaderEdited => "header_edited",
            Self::DecisionEdited => "decision_edited",
            Self::WitnessEdited => "witness_edited",
            Self::StepsMoved => "steps_moved",
            Self::LinkEdited => "link_edited",
            Self::StepRefused => "step_refused",
            Self::DigestEdited => "digest_edited",
            Self::SignatureEdited => "signature_edited",
        }
    }

    /// Returns the cause in words.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Data => "the data differ from those of the run",
            Self::Rules => "costs, limits or the fill key differ from those of the run",
            Self::EngineVersion => "the run used another version of the engine or of the contract",
            Self::VersionUnknown => "the version is newer than this engine, or it does not exist",
            Self::MarketName => "the header was edited, or the market was loaded under another name or without its key",
            Self::HeaderEdited => "the header was edited after the run",
            Self::DecisionEdited => "a decision or its fault was edited after the run",
            Self::WitnessEdited => "an observation, NAV or cash was edited after the run",
            Self::StepsMoved => "steps are missing, added, reordered or from another run",
            Self::LinkEdited => "a link of the chain was edited after the run",
            Self::StepRefused => "the engine refuses a recorded step",
            Self::DigestEdited => "the agent, its trials, harness, list of runs or the digest itself was edited",
            Self::SignatureEdited => "the record or its signature was edited after signing, or another key signed it",
        }
    }
}
