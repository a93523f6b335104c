//! Digests and counts among the values of a line.

/// Above it a float skips integers, and a number is read as a float.
pub(super) const MOST: f64 = 9_007_199_254_740_992.0;

pub(super) fn is_hash(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

pub(super) fn is_count(value: f64) -> bool {
    value.fract() == 0.0 && (0.0..=MOST).contains(&value)
}

#[expect(clippy::cast_sign_loss, reason = "checked by `is_count`")]
pub(super) fn count(value: f64) -> u64 {
    value as u64
}
