//! What stands in a record beside its runs, and whether it belongs to them.

use openoutcry_contract::record::{AgentTrajectory, Digest, Place, RecordError};

use crate::replay::divergence::{Cause, Difference};

/// Returns what beside the runs was changed: the digest, or what was signed.
///
/// A signature that is there is checked; with a key it must be one by that key.
///
/// # Errors
///
/// Returns an error if a key is given and the record holds no signature, or the key is none.
pub fn edited(record: &AgentTrajectory, public_key: Option<&[u8; 32]>) -> Result<Vec<Difference>, RecordError> {
    let mut found = Vec::new();
    let computed = record.computed_digest();
    if let Some(recorded) = record.digest.filter(|digest| Some(*digest) != computed) {
        let replayed = computed.map_or_else(|| "none".to_owned(), |digest| digest.to_string());
        found.push(beside("digest", recorded.to_string(), replayed, Cause::DigestEdited));
    }
    if (public_key.is_some() || record.signature.is_some()) && !record.verify_signature(public_key)? {
        let key = record.signature.as_ref().map(|signature| Digest(signature.public_key).to_string());
        let wanted = public_key.map_or_else(|| "that key".to_owned(), |key| Digest(*key).to_string());
        let (recorded, replayed) = (key.unwrap_or_default(), format!("none by {wanted} of this digest"));
        found.push(beside("signature", format!("by {recorded}"), replayed, Cause::SignatureEdited));
    }
    Ok(found)
}

fn beside(field: &'static str, recorded: String, replayed: String, cause: Cause) -> Difference {
    Difference { place: Place::Record, bar: None, field, recorded, replayed, ulps: None, cause }
}
