use ed25519_dalek::{Signature as Bytes, Signer, SigningKey, VerifyingKey};
use serde::Deserialize;

use super::digest::{Digest, hex_field};
use super::error::RecordError;

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

impl Signature {
    /// Returns the signature of the digest of a record.
    pub(super) fn of(digest: &Digest, private_key: &[u8; 32]) -> Self {
        let key = SigningKey::from_bytes(private_key);
        Self {
            _algorithm: Algorithm::Ed25519,
            public_key: key.verifying_key().to_bytes(),
            signature: key.sign(&message(DOMAIN, digest)).to_bytes(),
        }
    }

    /// Returns whether the holder of the public key signed a digest.
    pub(super) fn signs(&self, digest: &Digest) -> bool {
        VerifyingKey::from_bytes(&self.public_key)
            .is_ok_and(|key| key.verify_strict(&message(DOMAIN, digest), &Bytes::from_bytes(&self.signature)).is_ok())
    }
}

/// Refuses bytes that are not a public key.
pub(super) fn check_key(key: &[u8; 32]) -> Result<(), RecordError> {
    let problem = || "bytes that do not encode a point of the curve".to_owned();
    VerifyingKey::from_bytes(key).map(|_| ()).map_err(|_| RecordError::Key { problem: problem() })
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
