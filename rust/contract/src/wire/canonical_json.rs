//! Canonical JSON (RFC 8785): numbers, strings, arrays and keys.
//!
//! Each value has one text, so that bytes can be compared and hashed.

/// Appends a finite number in the format of `ECMAScript`.
///
/// It is the shortest form that reads back to the same bits.
///
/// # Panics
///
/// Panics if `value` is not finite. NaN and infinities do not occur on the wire.
pub fn push_number(text: &mut String, value: f64) {
    assert!(value.is_finite(), "a JSON number must be finite; received {value}");
    if value == 0.0 {
        text.push('0');
        return;
    }
    let mut buffer = zmij::Buffer::new();
    let shortest = buffer.format_finite(value);
    let Some(place) = shortest.bytes().rposition(|byte| byte == b'e') else {
        return text.push_str(shortest.strip_suffix(".0").unwrap_or(shortest));
    };
    match (&shortest[..place], &shortest[place + 1..]) {
        (digits, "-6") => push_millionth(text, digits),
        (digits, exponent) => match exponent.parse() {
            Ok(exponent @ 0..=20) => push_shifted(text, digits, exponent),
            _ => text.push_str(shortest),
        },
    }
}

/// Appends the whole number `digits` times ten to the `exponent`, in full.
fn push_shifted(text: &mut String, digits: &str, exponent: usize) {
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    text.push_str(whole);
    text.push_str(fraction);
    text.extend(std::iter::repeat_n('0', exponent - fraction.len()));
}

fn push_millionth(text: &mut String, digits: &str) {
    let size = digits.trim_start_matches('-');
    text.push_str(&digits[..digits.len() - size.len()]);
    text.push_str("0.00000");
    text.extend(size.chars().filter(char::is_ascii_digit));
}

/// Appends a string with quotes and only the required escapes.
pub fn push_string(text: &mut String, value: &str) {
    text.reserve(value.len() + 2);
    text.push('"');
    let mut rest = value;
    while let Some(place) = rest.bytes().position(must_escape) {
        text.push_str(&rest[..place]);
        push_escape(text, rest.as_bytes()[place]);
        rest = &rest[place + 1..];
    }
    text.push_str(rest);
    text.push('"');
}

fn must_escape(byte: u8) -> bool {
    byte < 0x20 || byte == b'"' || byte == b'\\'
}

fn push_escape(text: &mut String, byte: u8) {
    text.push_str(match byte {
        b'"' => "\\\"",
        b'\\' => "\\\\",
        0x08 => "\\b",
        0x09 => "\\t",
        0x0A => "\\n",
        0x0C => "\\f",
        0x0D => "\\r",
        _ => {
            text.push_str("\\u00");
            return push_hex(text, &[byte]);
        }
    });
}

/// Returns bytes as lower-case hexadecimal digits.
pub(crate) fn hex_of(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(2 * bytes.len());
    push_hex(&mut text, bytes);
    text
}

/// Appends bytes as lower-case hexadecimal digits.
pub(crate) fn push_hex(text: &mut String, bytes: &[u8]) {
    let digit = |nibble: u8| nibble + if nibble < 10 { b'0' } else { b'a' - 10 };
    for bytes in bytes.chunks(32) {
        // Digits are collected on the stack, to append one text instead of 64.
        let mut digits = [0; 64];
        for (pair, byte) in digits.chunks_exact_mut(2).zip(bytes) {
            pair.copy_from_slice(&[digit(byte >> 4), digit(byte & 15)]);
        }
        text.push_str(str::from_utf8(&digits[..2 * bytes.len()]).unwrap_or_default());
    }
}

/// Appends `items` as an array, each with `push`.
pub fn push_array<T>(text: &mut String, items: impl IntoIterator<Item = T>, mut push: impl FnMut(&mut String, T)) {
    text.push('[');
    let empty = text.len();
    for item in items {
        if text.len() > empty {
            text.push(',');
        }
        push(text, item);
    }
    text.push(']');
}

/// Appends `,"key":` or, at the start of an object, `"key":`.
///
/// The key must not need an escape.
pub fn push_key(text: &mut String, key: &str) {
    if !text.ends_with('{') {
        text.push(',');
    }
    text.push('"');
    text.push_str(key);
    text.push_str("\":");
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn number(value: f64) -> String {
        let mut text = String::new();
        push_number(&mut text, value);
        text
    }

    /// RFC 8785, appendix B.
    #[test]
    fn numbers_are_laid_out_as_in_the_appendix_of_rfc_8785() {
        let samples: [(u64, &str); 22] = [
            (0x0000_0000_0000_0000, "0"),
            (0x8000_0000_0000_0000, "0"),
            (0x0000_0000_0000_0001, "5e-324"),
            (0x8000_0000_0000_0001, "-5e-324"),
            (0x7fef_ffff_ffff_ffff, "1.7976931348623157e+308"),
            (0xffef_ffff_ffff_ffff, "-1.7976931348623157e+308"),
            (0x4340_0000_0000_0000, "9007199254740992"),
            (0xc340_0000_0000_0000, "-9007199254740992"),
            (0x4430_0000_0000_0000, "295147905179352830000"),
            (0x44b5_2d02_c7e1_4af5, "9.999999999999997e+22"),
            (0x44b5_2d02_c7e1_4af6, "1e+23"),
            (0x44b5_2d02_c7e1_4af7, "1.0000000000000001e+23"),
            (0x444b_1ae4_d6e2_ef4e, "999999999999999700000"),
            (0x444b_1ae4_d6e2_ef4f, "999999999999999900000"),
            (0x444b_1ae4_d6e2_ef50, "1e+21"),
            (0x3eb0_c6f7_a0b5_ed8c, "9.999999999999997e-7"),
            (0x3eb0_c6f7_a0b5_ed8d, "0.000001"),
            (0x41b3_de43_5555_5553, "333333333.3333332"),
            (0x41b3_de43_5555_5554, "333333333.33333325"),
            (0x41b3_de43_5555_5555, "333333333.3333333"),
            (0xbecb_f647_612f_3696, "-0.0000033333333333333333"),
            (0x4314_3ff3_c1cb_0959, "1424953923781206.2"),
        ];
        for (bits, expected) in samples {
            assert_eq!(number(f64::from_bits(bits)), expected);
        }
    }

    #[test]
    fn strings_escape_only_what_must_be() {
        let mut text = String::new();
        push_string(&mut text, "a\"\\\u{8}\t\n\u{c}\r\u{1f}\u{7f}\u{2028}/é😂");
        assert_eq!(text, "\"a\\\"\\\\\\b\\t\\n\\f\\r\\u001f\u{7f}\u{2028}/é😂\"");
    }

    proptest! {
        #[test]
        fn every_finite_number_reads_back_to_its_bits(bits in any::<u64>()) {
            let value = f64::from_bits(bits);
            prop_assume!(value.is_finite() && value != 0.0);
            let back: f64 = serde_json::from_str(&number(value)).unwrap();
            prop_assert_eq!(back.to_bits(), bits);
        }
    }
}
