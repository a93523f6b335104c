//! The writer of records in canonical JSON.

use openoutcry_engine::{CostModel, Limits};

use super::RECORD_VERSION;
use super::digest::Digest;
use super::harness::Harness;
use super::header::{Fill, Header};
use super::signature::Signature;
use super::trajectory::{AgentTrajectory, End, RunTrajectory, Step};
use crate::wire::canonical_json::{push_array, push_hex, push_key, push_number, push_string};

impl AgentTrajectory {
    /// Returns the canonical JSON of this record.
    ///
    /// # Panics
    ///
    /// Panics if a number is not finite. Neither a run nor a reader creates one.
    #[must_use]
    pub fn to_json(&self) -> String {
        let mut text = String::from("{");
        push_agent(&mut text, &self.agent_id);
        if let Some(digest) = &self.digest {
            push_digest(&mut text, "digest", digest);
        }
        push_trials(&mut text, self.in_sample_trials);
        push_key(&mut text, "runs");
        push_array(&mut text, &self.runs, push_run);
        if let Some(signature) = &self.signature {
            push_signature(&mut text, signature);
        }
        text.push('}');
        text
    }

    /// Returns the record as lines of canonical JSON, each with a line end.
    ///
    /// # Panics
    ///
    /// As [`AgentTrajectory::to_json`].
    #[must_use]
    pub fn to_lines(&self) -> String {
        let mut text = String::new();
        push_first_line(&mut text, &self.agent_id, self.in_sample_trials);
        for run in &self.runs {
            push_header_line(&mut text, run);
            for step in &run.steps {
                push_step_line(&mut text, step);
            }
            if let Some(end) = &run.end {
                push_end_line(&mut text, end);
            }
        }
        if let Some(digest) = &self.digest {
            push_last_line(&mut text, digest, self.signature.as_ref());
        }
        text
    }
}

impl RunTrajectory {
    /// Returns the canonical JSON of this run.
    ///
    /// # Panics
    ///
    /// As [`AgentTrajectory::to_json`].
    #[must_use]
    pub fn to_json(&self) -> String {
        let mut text = String::new();
        push_run(&mut text, self);
        text
    }
}

pub(super) fn push_first_line(text: &mut String, agent_id: &str, in_sample_trials: u64) {
    text.push('{');
    push_agent(text, agent_id);
    push_trials(text, in_sample_trials);
    text.push_str("}\n");
}

pub(super) fn push_header_line(text: &mut String, run: &RunTrajectory) {
    text.push('{');
    push_beginning(text, run);
    text.push_str("}\n");
}

pub(super) fn push_step_line(text: &mut String, step: &Step) {
    text.push('{');
    push_step(text, step, Some(&step.link));
    text.push_str("}\n");
}

pub(super) fn push_end_line(text: &mut String, end: &End) {
    text.push('{');
    push_key(text, "end");
    push_end(text, end);
    text.push_str("}\n");
}

pub(super) fn push_last_line(text: &mut String, digest: &Digest, signature: Option<&Signature>) {
    text.push('{');
    push_digest(text, "digest", digest);
    if let Some(signature) = signature {
        push_signature(text, signature);
    }
    text.push_str("}\n");
}

fn push_agent(text: &mut String, agent_id: &str) {
    push_key(text, "agent_id");
    push_string(text, agent_id);
}

fn push_trials(text: &mut String, in_sample_trials: u64) {
    push_key(text, "in_sample_trials");
    text.push_str(&in_sample_trials.to_string());
    push_key(text, "record_version");
    push_string(text, RECORD_VERSION);
}

fn push_signature(text: &mut String, signature: &Signature) {
    push_key(text, "signature");
    text.push_str("{\"algorithm\":\"ed25519\"");
    push_key(text, "public_key");
    push_quoted_hex(text, &signature.public_key);
    push_key(text, "signature");
    push_quoted_hex(text, &signature.signature);
    text.push('}');
}

fn push_quoted_hex(text: &mut String, bytes: &[u8]) {
    text.push('"');
    push_hex(text, bytes);
    text.push('"');
}

/// Appends a field that is a digest.
pub(super) fn push_digest(text: &mut String, name: &str, digest: &Digest) {
    push_key(text, name);
    push_quoted_hex(text, &digest.0);
}

fn push_beginning(text: &mut String, run: &RunTrajectory) {
    if let Some(harness) = run.harness {
        push_key(text, "harness");
        push_harness(text, harness);
    }
    push_key(text, "header");
    push_header(text, &run.header);
    push_digest(text, "link", &run.link);
}

fn push_run(text: &mut String, run: &RunTrajectory) {
    text.push('{');
    if let Some(end) = &run.end {
        push_key(text, "end");
        push_end(text, end);
    }
    push_beginning(text, run);
    push_key(text, "steps");
    push_array(text, &run.steps, |text, step| {
        text.push('{');
        push_step(text, step, Some(&step.link));
        text.push('}');
    });
    text.push('}');
}

/// Appends the fields of a step, without the braces of the object.
///
/// The hash of a link does not include the link.
pub(super) fn push_step(text: &mut String, step: &Step, link: Option<&Digest>) {
    push_key(text, "cash");
    push_number(text, step.cash);
    if let Some(version) = &step.contract_version {
        push_key(text, "contract_version");
        push_string(text, version);
    }
    push_key(text, "decision");
    push_string(text, &step.decision);
    if let Some(fault) = &step.fault {
        push_key(text, "fault");
        push_string(text, fault.slug());
    }
    if let Some(link) = link {
        push_digest(text, "link", link);
    }
    push_key(text, "nav");
    push_number(text, step.nav);
    push_digest(text, "observation", &step.observation);
}

fn push_end(text: &mut String, end: &End) {
    text.push('{');
    push_key(text, "cash");
    push_number(text, end.cash);
    push_digest(text, "link", &end.link);
    push_key(text, "nav");
    push_number(text, end.nav);
    push_digest(text, "observation", &end.observation);
    push_truth(text, "terminated", end.terminated);
    text.push('}');
}

fn push_truth(text: &mut String, name: &str, value: bool) {
    push_key(text, name);
    text.push_str(if value { "true" } else { "false" });
}

fn push_field(text: &mut String, name: &str, value: f64) {
    push_key(text, name);
    push_number(text, value);
}

/// Appends a header as an object.
pub(super) fn push_header(text: &mut String, header: &Header) {
    text.push('{');
    push_key(text, "contract_version");
    push_string(text, &header.contract_version);
    push_key(text, "costs");
    push_costs(text, &header.costs);
    push_key(text, "dataset");
    text.push('{');
    if let Some(commitment) = &header.dataset.commitment {
        push_digest(text, "commitment", commitment);
    }
    push_digest(text, "fingerprint", &header.dataset.fingerprint);
    push_key(text, "name");
    push_string(text, &header.dataset.name);
    text.push('}');
    push_key(text, "engine_version");
    push_string(text, &header.engine_version);
    push_key(text, "fill");
    text.push('{');
    match &header.fill {
        Fill::Seed(seed) => {
            push_key(text, "seed");
            push_string(text, &seed.to_string());
        }
        Fill::Commitment(digest) => push_digest(text, "commitment", digest),
    }
    text.push('}');
    push_key(text, "limits");
    push_limits(text, &header.limits);
    push_key(text, "lookback");
    text.push_str(&header.lookback.to_string());
    push_key(text, "window");
    text.push('{');
    push_key(text, "end");
    text.push_str(&header.window.end.to_string());
    push_key(text, "start");
    text.push_str(&header.window.start.to_string());
    text.push_str("}}");
}

/// Appends a harness as an object.
pub(super) fn push_harness(text: &mut String, harness: Harness) {
    text.push('{');
    push_truth(text, "allow_net", harness.allow_net);
    push_key(text, "tier");
    push_string(text, harness.tier.name());
    push_key(text, "transport");
    push_string(text, harness.transport.name());
    text.push('}');
}

fn push_costs(text: &mut String, costs: &CostModel) {
    text.push('{');
    push_field(text, "borrow_bps", costs.borrow_bps);
    push_field(text, "capital", costs.capital);
    push_field(text, "cash_bps", costs.cash_bps);
    push_field(text, "fee_bps", costs.fee_bps);
    push_field(text, "financing_bps", costs.financing_bps);
    push_field(text, "impact_bps", costs.impact_bps);
    push_field(text, "slippage_bps", costs.slippage_bps);
    push_field(text, "slippage_jitter", costs.slippage_jitter);
    // Left out at 0, so that a record of contract 1.0 keeps its bytes. The same is true of `cash_account`.
    if costs.stop_gap != 0.0 {
        push_field(text, "stop_gap", costs.stop_gap);
    }
    text.push('}');
}

/// Appends limits. JSON has no infinity, so an infinite limit is left out.
fn push_limits(text: &mut String, limits: &Limits) {
    text.push('{');
    push_truth(text, "allow_short", limits.allow_short);
    if limits.cash_account {
        push_truth(text, "cash_account", true);
    }
    push_field(text, "maintenance_margin", limits.maintenance_margin);
    for (name, value) in [
        ("max_gross", Some(limits.max_gross)),
        ("max_participation", limits.max_participation),
        ("max_weight", Some(limits.max_weight)),
    ] {
        if let Some(value) = value.filter(|value| value.is_finite()) {
            push_field(text, name, value);
        }
    }
    text.push('}');
}
