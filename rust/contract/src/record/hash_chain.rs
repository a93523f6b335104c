//! The hash chain: each link is the hash of a step and of the link before it.

use std::fmt;

use super::digest::Digest;
use super::header::Header;
use super::trajectory::{AgentTrajectory, End, RunTrajectory, Step};
use super::{RECORD_VERSION, writer};
use crate::wire::canonical_json;

/// A place in a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// The fields outside of the runs.
    Record,
    /// The header of a run.
    Header,
    /// A decision, counted from 0.
    Step(usize),
    /// The observation after the last decision.
    End,
}

impl Place {
    /// Returns the index of the decision, if the place is one.
    #[must_use]
    pub fn step(self) -> Option<usize> {
        if let Self::Step(index) = self { Some(index) } else { None }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Record => formatter.write_str("record"),
            Self::Header => formatter.write_str("header"),
            Self::Step(index) => write!(formatter, "step {index}"),
            Self::End => formatter.write_str("end"),
        }
    }
}

/// A link that is not the hash of its place and of the link before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Break {
    /// The place.
    pub place: Place,
    /// The recorded link.
    pub recorded: Digest,
    /// The computed link.
    pub computed: Digest,
}

/// Hashes links in a reused buffer.
#[derive(Clone, Debug, Default)]
pub(crate) struct Chain {
    text: String,
}

impl Chain {
    /// Returns the link of a header.
    pub(crate) fn header(&mut self, header: &Header) -> Digest {
        self.text.clear();
        self.text.push_str("{\"domain\":\"openoutcry/record/1\",\"header\":");
        writer::push_header(&mut self.text, header);
        self.text.push('}');
        Digest::of(&self.text)
    }

    /// Returns the link of a step after the link before it.
    pub(crate) fn step(&mut self, step: &Step, previous: &Digest) -> Digest {
        self.text.clear();
        self.text.push('{');
        writer::push_step(&mut self.text, step, None);
        writer::push_digest(&mut self.text, "previous", previous);
        self.text.push('}');
        Digest::of(&self.text)
    }

    /// Returns the link of an end after the link before it.
    pub(crate) fn end(&mut self, end: &End, previous: &Digest) -> Digest {
        self.text.clear();
        self.text.push('{');
        canonical_json::push_key(&mut self.text, "cash");
        canonical_json::push_number(&mut self.text, end.cash);
        canonical_json::push_key(&mut self.text, "nav");
        canonical_json::push_number(&mut self.text, end.nav);
        writer::push_digest(&mut self.text, "observation", &end.observation);
        writer::push_digest(&mut self.text, "previous", previous);
        canonical_json::push_key(&mut self.text, "terminated");
        self.text.push_str(if end.terminated { "true" } else { "false" });
        self.text.push('}');
        Digest::of(&self.text)
    }
}

impl RunTrajectory {
    /// Returns every place whose link does not follow from the recorded one before it.
    ///
    /// A changed field breaks its own place. A changed link also breaks the next place.
    #[must_use]
    pub fn breaks(&self) -> Vec<Break> {
        let mut chain = Chain::default();
        let mut found = Vec::new();
        let computed = chain.header(&self.header);
        if computed != self.link {
            found.push(Break { place: Place::Header, recorded: self.link, computed });
        }
        let mut previous = self.link;
        for (index, step) in self.steps.iter().enumerate() {
            let computed = chain.step(step, &previous);
            if computed != step.link {
                found.push(Break { place: Place::Step(index), recorded: step.link, computed });
            }
            previous = step.link;
        }
        if let Some(end) = &self.end {
            let computed = chain.end(end, &previous);
            if computed != end.link {
                found.push(Break { place: Place::End, recorded: end.link, computed });
            }
        }
        found
    }
}

impl AgentTrajectory {
    /// Returns the digest if it and every link follow from the contents.
    ///
    /// `None` for an unfinished or changed record. It needs no market: whether cash, NAV and observations follow from
    /// the decisions is what a replay finds.
    #[must_use]
    pub fn intact_digest(&self) -> Option<Digest> {
        let is_chained = self.runs.iter().all(|run| run.breaks().is_empty());
        self.computed_digest().filter(|computed| is_chained && self.digest == Some(*computed))
    }

    /// Returns the digest of this agent and the recorded last link of each run.
    ///
    /// The links are not recomputed: [`AgentTrajectory::intact_digest`] does that.
    ///
    /// `None` if a run is unfinished.
    #[must_use]
    pub fn computed_digest(&self) -> Option<Digest> {
        let ends: Vec<Digest> = self.runs.iter().map(RunTrajectory::digest).collect::<Option<_>>()?;
        let mut text = String::from("{");
        canonical_json::push_key(&mut text, "agent_id");
        canonical_json::push_string(&mut text, &self.agent_id);
        text.push_str(",\"domain\":\"openoutcry/record/1/agent\"");
        // Omitted if empty: the digest of a record without harness does not change.
        if self.runs.iter().any(|run| run.harness.is_some()) {
            canonical_json::push_key(&mut text, "harness");
            canonical_json::push_array(&mut text, &self.runs, |text, run| match run.harness {
                Some(harness) => writer::push_harness(text, harness),
                None => text.push_str("null"),
            });
        }
        canonical_json::push_key(&mut text, "in_sample_trials");
        text.push_str(&self.in_sample_trials.to_string());
        canonical_json::push_key(&mut text, "record_version");
        canonical_json::push_string(&mut text, RECORD_VERSION);
        canonical_json::push_key(&mut text, "runs");
        canonical_json::push_array(&mut text, &ends, |text, end| {
            text.push('"');
            end.push_hex(text);
            text.push('"');
        });
        text.push('}');
        Some(Digest::of(&text))
    }
}
