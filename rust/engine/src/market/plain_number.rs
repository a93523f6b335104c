//! Numbers in the usual form of files: digits with an optional point.

/// The most digits that an integer of 64 bits always holds.
const MOST_DIGITS: usize = 18;
/// The largest integer up to which each is a float, as these powers of ten are.
const LARGEST: u64 = 1 << 53;
const POWERS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20,
    1e21, 1e22,
];
const TENS: [u64; 9] = [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000];

/// Returns the number that starts at `start`, and its end.
///
/// NaN for an empty field, `None` for a form that `f64::from_str` must read. Both operands of the division are exact, so that its result is the
/// nearest float, as that of `f64::from_str` is.
#[inline]
pub(crate) fn plain_number(bytes: &[u8], start: usize) -> Option<(f64, usize)> {
    let is_negative = bytes.get(start) == Some(&b'-');
    let first = start + usize::from(is_negative);
    let (whole, mut end) = digits(bytes, first, 0);
    let (mut number, mut n_digits, mut n_decimals) = (whole, end - first, 0);
    if n_digits > 0 && bytes.get(end) == Some(&b'.') {
        let point = end;
        (number, end) = digits(bytes, point + 1, whole);
        n_decimals = end - point - 1;
        n_digits += n_decimals;
    }
    if n_digits == 0 {
        return (!is_negative).then_some((f64::NAN, end));
    }
    if n_digits > MOST_DIGITS || number > LARGEST {
        return None;
    }
    let value = number as f64 / POWERS[n_decimals];
    Some((if is_negative { -value } else { value }, end))
}

/// Returns the digits from `start` on after those of `number`, and their end.
///
/// The number is wrong if the digits are too many.
#[inline]
fn digits(bytes: &[u8], start: usize, mut number: u64) -> (u64, usize) {
    let mut end = start;
    while let Some(word) = bytes.get(end..).and_then(<[u8]>::first_chunk::<8>) {
        let (value, n_digits) = leading_digits(u64::from_le_bytes(*word));
        number = number.wrapping_mul(TENS[n_digits]).wrapping_add(value);
        end += n_digits;
        if n_digits < 8 {
            return (number, end);
        }
    }
    while let Some(digit) = bytes.get(end).map(|byte| byte.wrapping_sub(b'0'))
        && digit < 10
    {
        number = number.wrapping_mul(10).wrapping_add(u64::from(digit));
        end += 1;
    }
    (number, end)
}

/// Returns the number of the first digits of 8 characters, and their count.
///
/// The first character is in the lowest byte.
#[inline]
fn leading_digits(word: u64) -> (u64, usize) {
    const ONES: u64 = u64::from_le_bytes([1; 8]);
    let values = word ^ (ONES * u64::from(b'0'));
    // The high bit of a byte above 9 is set. A carry changes later bytes only.
    let others = (values.wrapping_add(ONES * 0x76) | values) & (ONES << 7);
    let n_digits = others.trailing_zeros() as usize / 8;
    if n_digits == 0 {
        return (0, 0);
    }
    // Zeros come before the digits. Then neighbours are joined: digits, pairs, groups of four.
    let values = values << (64 - 8 * n_digits);
    let pairs = (values.wrapping_mul(10).wrapping_add(values >> 8)) & 0x00ff_00ff_00ff_00ff;
    let fours = (pairs.wrapping_mul(100).wrapping_add(pairs >> 16)) & 0x0000_ffff_0000_ffff;
    (fours.wrapping_mul(10_000).wrapping_add(fours >> 32) & 0xffff_ffff, n_digits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usual_forms_are_the_nearest_floats() {
        let texts = [
            "0",
            "-0",
            "1",
            "7.",
            "-12.5",
            "0.1",
            "0.30000000000000004",
            "9007199254740992",
            "9007199254740993",
            "123456789012345678",
            "1234567890123456789",
            "0.000000000000000001",
            "179.18",
            "1e5",
            "+1",
            ".5",
            "nan",
        ];
        for text in texts {
            let line = format!("{text},2");
            match plain_number(line.as_bytes(), 0) {
                Some((value, end)) if end == text.len() => {
                    assert_eq!(value.to_bits(), text.parse::<f64>().unwrap().to_bits(), "{text}");
                }
                found => assert!(found.is_none_or(|(_, end)| line.as_bytes()[end] != b','), "{text}: {found:?}"),
            }
        }
    }

    #[test]
    fn digits_end_at_any_other_byte_of_a_word() {
        for n_digits in 0..=20 {
            for other in 0..=255_u8 {
                let text: Vec<u8> = (0..n_digits).map(|at| b'1' + at % 9).chain([other]).chain(*b"12345678").collect();
                let expected = text.iter().take_while(|byte| byte.is_ascii_digit());
                let number = expected
                    .clone()
                    .fold(0_u64, |number, byte| number.wrapping_mul(10).wrapping_add(u64::from(byte - b'0')));
                assert_eq!(digits(&text, 0, 0), (number, expected.count()), "{text:?}");
            }
        }
    }

    #[test]
    fn an_empty_field_is_missing_and_a_lone_sign_is_not_read() {
        assert!(plain_number(b",1", 0).is_some_and(|(value, end)| value.is_nan() && end == 0));
        assert_eq!(plain_number(b"-,1", 0), None);
        assert_eq!(plain_number(b"12", 2).map(|(_, end)| end), Some(2));
    }
}
