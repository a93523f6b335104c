//! Commitments: the record of a submission, and the texts that open it.

use sha2::{Digest, Sha256};

use super::record_fault;
use crate::merkle::Hash;
use crate::wire::canonical_json::{hex_of, push_array, push_string};

/// A decision to commit to; probabilities are decimal texts.
#[derive(Clone, Copy, Debug)]
pub struct Decided<'a> {
    /// The market of the decision.
    pub market_id: &'a str,
    /// The probability of YES.
    pub yes_probability: &'a str,
    /// The stated confidence, if any.
    pub confidence: Option<&'a str>,
    /// The stated reason, if any.
    pub reasoning: Option<&'a str>,
    /// The random salt of the commitment.
    pub salt: Hash,
}

/// The fields of a submission other than its commitments.
#[derive(Clone, Copy, Debug)]
pub struct Head<'a> {
    /// Sequence number in the log.
    pub seq: u64,
    /// The SHA-256 of the previous record, in hexadecimal.
    pub prev_sha256: &'a str,
    /// Its ULID.
    pub submission_id: &'a str,
    /// Slug of the agent.
    pub agent_slug: &'a str,
    /// Time of receipt.
    pub received_at: &'a str,
    /// Time of the snapshot.
    pub snapshot_as_of: &'a str,
    /// The SHA-256 of the snapshot, in hexadecimal.
    pub snapshot_sha256: &'a str,
}

/// A submission with commitments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sealed {
    /// Its record in canonical JSON: the leaf.
    pub record: String,
    /// The SHA-256 of the record, in hexadecimal.
    pub sha256: String,
    /// The texts that open its commitments, in canonical JSON: a list in their order.
    pub opened: String,
}

/// Returns the record of a submission, and the texts that open it.
///
/// # Errors
///
/// Returns the fault of an invalid record.
pub fn seal_submission(head: &Head, decided: &[Decided]) -> Result<Sealed, String> {
    // Sorted by hash, so that positions reveal nothing about markets.
    let mut made: Vec<(Hash, String)> = decided.iter().map(body).map(|text| (digest(&text), text)).collect();
    made.sort_unstable_by_key(|each| each.0);
    let mut record = String::with_capacity(512 + 67 * made.len());
    push_member(&mut record, "{\"agent_slug\":", Some(head.agent_slug));
    record.push_str(",\"commitments\":");
    push_array(&mut record, &made, |text, (digest, _)| push_string(text, &hex_of(digest)));
    push_member(&mut record, ",\"prev_sha256\":", Some(head.prev_sha256));
    push_member(&mut record, ",\"received_at\":", Some(head.received_at));
    record.push_str(",\"seq\":");
    record.push_str(&head.seq.to_string());
    push_member(&mut record, ",\"snapshot_as_of\":", Some(head.snapshot_as_of));
    push_member(&mut record, ",\"snapshot_sha256\":", Some(head.snapshot_sha256));
    push_member(&mut record, ",\"submission_id\":", Some(head.submission_id));
    record.push_str(",\"type\":\"submission\",\"v\":1}");
    if let Some(fault) = record_fault(&record) {
        return Err(fault);
    }
    let mut opened = String::with_capacity(300 * made.len());
    push_array(&mut opened, &made, |text, (_, body)| text.push_str(body));
    Ok(Sealed { sha256: hex_of(&digest(&record)), record, opened })
}

fn digest(text: &str) -> Hash {
    Sha256::digest(text).into()
}

/// Returns the text whose hash is the commitment of a decision.
fn body(decided: &Decided) -> String {
    let mut text = String::with_capacity(256);
    push_member(&mut text, "{\"confidence\":", decided.confidence);
    push_member(&mut text, ",\"market_id\":", Some(decided.market_id));
    push_member(&mut text, ",\"reasoning\":", decided.reasoning);
    push_member(&mut text, ",\"salt\":", Some(&hex_of(&decided.salt)));
    push_member(&mut text, ",\"v\":1,\"yes_probability\":", Some(decided.yes_probability));
    text.push('}');
    text
}

/// Appends a member whose name needs no escape.
fn push_member(text: &mut String, name: &str, value: Option<&str>) {
    text.push_str(name);
    match value {
        Some(value) => push_string(text, value),
        None => text.push_str("null"),
    }
}
