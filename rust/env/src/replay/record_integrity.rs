//! Integrity of the fields of a record outside its runs: digest and signature.

use openoutcry_contract::record::{AgentTrajectory, Digest, Place, RecordError};

use crate::replay::divergence::{Cause, Difference};

/// Returns the divergences of the digest and the signature of a record.
///
/// A signature is verified if present, over the recomputed chain. With a key, it must be by that key.
///
/// # Errors
///
/// Returns an error if a key is given and the record has no signature, or the key is invalid.
pub fn integrity_differences(
    record: &AgentTrajectory,
    public_key: Option<&[u8; 32]>,
) -> Result<Vec<Difference>, RecordError> {
    let mut found = Vec::new();
    let computed = record.computed_digest();
    if let Some(recorded) = record.digest.filter(|digest| Some(*digest) != computed) {
        let replayed = computed.map_or_else(|| "none".to_owned(), |digest| digest.to_string());
        found.push(record_divergence("digest", recorded.to_string(), replayed, Cause::DigestEdited));
    }
    if (public_key.is_some() || record.signature.is_some()) && !record.verify_signature(public_key)? {
        let key = record.signature.as_ref().map(|signature| Digest(signature.public_key).to_string());
        let wanted = public_key.map_or_else(|| "that key".to_owned(), |key| Digest(*key).to_string());
        let (recorded, replayed) = (key.unwrap_or_default(), format!("no signature by {wanted} for these contents"));
        found.push(record_divergence("signature", format!("by {recorded}"), replayed, Cause::SignatureEdited));
    }
    Ok(found)
}

fn record_divergence(field: &'static str, recorded: String, replayed: String, cause: Cause) -> Difference {
    Difference { place: Place::Record, bar: None, field, recorded, replayed, ulps: None, cause }
}
