use ed25519_dalek::{Signature as Bytes, Signer, SigningKey, VerifyingKey};
use serde::Deserialize;

use super::digest::{Digest, hex_field};
use super::error::RecordError;
use super::trajectory::AgentTrajectory;

/// The signed message is a domain followed by the bytes of the digest.
const DOMAIN: &[u8] = b"openoutcry/record/1/signature\0";
const CONFORMANCE: &[u8] = b"openoutcry/conformance/1/signature\0";

/// An Ed25519 signature of the digest of a record.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Signature {
    #[serde(rename = "algorithm")]
    _algorithm: Algorithm,
    /// The public key of the signature.
    #[serde(deserialize_with = "hex_field")]
    pub public_key: [u8; 32],
    /// The signature.
    #[serde(deserialize_with = "hex_field")]
    pub signature: [u8; 64],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
enum Algorithm {
    #[serde(rename = "ed25519")]
    Ed25519,
}

fn message(domain: &[u8], digest: &Digest) -> Vec<u8> {
    [domain, &digest.0].concat()
}

/// Returns the signature of a conformance report, by its digest.
#[must_use]
pub fn sign_conformance(digest: &Digest, private_key: &[u8; 32]) -> [u8; 64] {
    SigningKey::from_bytes(private_key).sign(&message(CONFORMANCE, digest)).to_bytes()
}

/// Returns whether the signature of a conformance report is valid for a key.
#[must_use]
pub fn conformance_is_signed(digest: &Digest, public_key: &[u8; 32], signature: &[u8; 64]) -> bool {
    VerifyingKey::from_bytes(public_key)
        .is_ok_and(|key| key.verify_strict(&message(CONFORMANCE, digest), &Bytes::from_bytes(signature)).is_ok())
}

/// Returns the public key of a private key.
#[must_use]
pub fn public_key(private_key: &[u8; 32]) -> [u8; 32] {
    SigningKey::from_bytes(private_key).verifying_key().to_bytes()
}

impl AgentTrajectory {
    /// Returns this record signed with a private Ed25519 key.
    ///
    /// # Errors
    ///
    /// Returns an error if the record is unfinished and has no digest.
    pub fn signed(mut self, private_key: &[u8; 32]) -> Result<Self, RecordError> {
        let unfinished = |problem: String| RecordError::Unfinished { problem };
        let digest = self.computed_digest().filter(|digest| self.digest == Some(*digest)).ok_or_else(|| {
            unfinished(self.unfinished().unwrap_or_else(|| "with a digest that does not match its runs".to_owned()))
        })?;
        let key = SigningKey::from_bytes(private_key);
        self.signature = Some(Signature {
            _algorithm: Algorithm::Ed25519,
            public_key: key.verifying_key().to_bytes(),
            signature: key.sign(&message(DOMAIN, &digest)).to_bytes(),
        });
        Ok(self)
    }

    /// Returns whether the signature of this record is valid for a key.
    ///
    /// Without a key, the public key in the record is used. A valid signature then shows that the holder of that key
    /// signed this record.
    ///
    /// # Errors
    ///
    /// Returns an error if the record has no signature, or the given key is invalid.
    pub fn verify_signature(&self, key: Option<&[u8; 32]>) -> Result<bool, RecordError> {
        let signature = self.signature.as_ref().ok_or(RecordError::Unsigned)?;
        if let Some(key) = key {
            VerifyingKey::from_bytes(key).map_err(|_| RecordError::Key {
                problem: "bytes that do not encode a point of the curve".to_owned(),
            })?;
            if *key != signature.public_key {
                return Ok(false);
            }
        }
        let (Ok(verifying), Some(digest)) = (VerifyingKey::from_bytes(&signature.public_key), self.computed_digest())
        else {
            return Ok(false);
        };
        Ok(verifying.verify_strict(&message(DOMAIN, &digest), &Bytes::from_bytes(&signature.signature)).is_ok())
    }
}
