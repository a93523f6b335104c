use sha2::{Digest, Sha256};

/// 2^-53, the spacing of the draws.
const UNIT: f64 = 1.0 / 9_007_199_254_740_992.0;

/// The key of the slippage noise of one market.
///
/// A draw is a function of key, bar and symbol name. It depends neither on the order of symbols nor on earlier trades,
/// and cannot be computed from earlier draws without the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FillKey([u8; 32]);

impl FillKey {
    /// Returns the key of a seed.
    ///
    /// It is the SHA-256 of `openoutcry/fill-key/v1`, a zero byte and the seed, little endian.
    #[must_use]
    pub fn from_seed(seed: u64) -> Self {
        let mut hash = Sha256::new();
        hash.update(b"openoutcry/fill-key/v1\0");
        hash.update(seed.to_le_bytes());
        Self(hash.finalize().into())
    }

    /// Returns the key of 32 bytes; their entropy is the secrecy of the noise.
    #[must_use]
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// Returns the commitment to the key, to be published before the key is revealed.
    ///
    /// It is the SHA-256 of `openoutcry/fill-commitment/v1`, a zero byte and the key.
    #[must_use]
    pub fn commitment(&self) -> [u8; 32] {
        let mut hash = Sha256::new();
        hash.update(b"openoutcry/fill-commitment/v1\0");
        hash.update(self.0);
        hash.finalize().into()
    }

    /// Returns the draw of a symbol at a fill bar, uniform in [0, 1).
    #[must_use]
    pub fn uniform(&self, bar: usize, symbol: &str) -> f64 {
        let mut hash = Sha256::new();
        hash.update(b"openoutcry/fill/v1\0");
        hash.update(self.0);
        hash.update((bar as u64).to_le_bytes());
        hash.update(symbol.as_bytes());
        let digest: [u8; 32] = hash.finalize().into();
        let mut word = [0; 8];
        word.copy_from_slice(&digest[..8]);
        (u64::from_le_bytes(word) >> 11) as f64 * UNIT
    }
}
