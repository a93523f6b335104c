use std::fmt;
use std::str::FromStr;

use serde::de::{Deserialize, Deserializer, Error};
use sha2::{Digest as _, Sha256};

use crate::wire::canonical_json;

/// A SHA-256; in JSON 64 lower-case hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest(pub [u8; 32]);

impl Digest {
    /// Returns the digest of bytes.
    #[must_use]
    pub fn of(bytes: impl AsRef<[u8]>) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// Appends the hexadecimal digits.
    pub fn push_hex(&self, text: &mut String) {
        canonical_json::push_hex(text, &self.0);
    }
}

/// Returns the bytes of lower-case hexadecimal digits, else `None`.
pub(super) fn from_hex<const N: usize>(text: &str) -> Option<[u8; N]> {
    let value = |digit: u8| match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        _ => None,
    };
    let mut bytes = [0; N];
    if text.len() != 2 * N {
        return None;
    }
    for (byte, pair) in bytes.iter_mut().zip(text.as_bytes().chunks_exact(2)) {
        *byte = value(pair[0])? << 4 | value(pair[1])?;
    }
    Some(bytes)
}

/// Reads `N` bytes of hexadecimal digits from JSON.
pub(super) fn hex_field<'de, D: Deserializer<'de>, const N: usize>(deserializer: D) -> Result<[u8; N], D::Error> {
    let text = String::deserialize(deserializer)?;
    from_hex(&text).ok_or_else(|| D::Error::custom(format_args!("{text:?}, expected {} lower-case hex digits", 2 * N)))
}

impl fmt::Display for Digest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::with_capacity(64);
        self.push_hex(&mut text);
        formatter.write_str(&text)
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Digest({self})")
    }
}

impl FromStr for Digest {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        from_hex(text).map(Self).ok_or_else(|| format!("64 lower-case hex digits are required; received {text:?}"))
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        hex_field(deserializer).map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_reads_back_from_its_digits_and_from_no_others() {
        let digest = Digest::of("abc");
        let text = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(digest.to_string(), text);
        assert_eq!(text.parse(), Ok(digest));
        for other in [&text[1..], &text.to_uppercase(), &format!("{text}0"), &text.replace('b', "g"), ""] {
            assert!(other.parse::<Digest>().is_err(), "{other}");
        }
    }
}
