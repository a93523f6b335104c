use sha2::{Digest, Sha256};

/// The secret key of a generated market.
///
/// The key and the spec determine every price.
#[derive(Clone, PartialEq, Eq)]
pub struct Key([u8; 32]);

impl Key {
    /// Returns a key of 32 random bytes, drawn by the caller.
    #[must_use]
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// Returns the key of a seed in a split such as `train`.
    ///
    /// Splits are separate domains: no seed of one split gives a key of another. A small seed can be found by
    /// exhaustive search. Only random bytes keep future prices secret.
    #[must_use]
    pub fn from_seed(split: &str, seed: u64) -> Self {
        Self(digest(&[b"openoutcry/scenario/v1", split.as_bytes(), &seed.to_le_bytes()]))
    }

    /// Returns the 32 bytes, which determine the market.
    #[must_use]
    pub fn bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// Returns the commitment to the key, to be published before its market is traded.
    ///
    /// It binds the key to a spec by the digest of the spec, and reveals neither.
    #[must_use]
    pub fn commitment(&self, spec_digest: &[u8; 32]) -> [u8; 32] {
        digest(&[b"openoutcry/scenario-commitment/v1", &self.0, spec_digest])
    }
}

/// The key is not printed.
impl std::fmt::Debug for Key {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Key(..)")
    }
}

/// Returns the SHA-256 of parts, each prefixed by its length.
///
/// Different lists of parts have different inputs of the hash.
fn digest(parts: &[&[u8]]) -> [u8; 32] {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    hash.finalize().into()
}
