//! Texts of the numbers, dates and durations of a workbook.

use std::borrow::Cow;
use std::fmt::Write;
use std::str;

/// Milliseconds of a day.
const DAY: i64 = 86_400_000;
/// Days from 1970-01-01 to the first date of Python; below, to the last one.
const FIRST_DAY: i64 = -719_162;
const LAST_DAY: i64 = 2_932_896;
/// Days from 1970-01-01 to day 0 of a workbook.
const DAY_ZERO: i64 = -25_569;
const DAY_ZERO_1904: i64 = -24_107;

/// Adds a number in full, as Python shows it; `None` if it is not a number.
pub(crate) fn push_number(bytes: &[u8], found: &mut String) -> Option<()> {
    let text = str::from_utf8(bytes).ok()?.trim_ascii();
    if !text.contains(['.', 'e', 'E']) {
        return push_integer(text, found);
    }
    let start = found.len();
    if is_shortest(text.as_bytes()) {
        found.push_str(text);
    } else {
        push_float(text.parse().ok()?, found);
    }
    // The point of a number is a decimal mark, also in `50.092`, which a text may have for thousands.
    let shown = found[start..].trim_start_matches('-').as_bytes();
    let point = shown.iter().position(|byte| *byte == b'.');
    if point.is_some_and(|point| (1..=3).contains(&point) && shown[0] != b'0' && shown.len() == point + 4) {
        found.push('0');
    }
    Some(())
}

fn push_integer(text: &str, found: &mut String) -> Option<()> {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let shown = digits.trim_start_matches('0');
    if text.starts_with('-') && !shown.is_empty() {
        found.push('-');
    }
    found.push_str(if shown.is_empty() { "0" } else { shown });
    Some(())
}

/// Returns whether a decimal is the shortest text of its number already.
fn is_shortest(text: &[u8]) -> bool {
    let text = text.strip_prefix(b"-").unwrap_or(text);
    let Some(point) = text.iter().position(|byte| *byte == b'.') else { return false };
    let (whole, fraction) = (&text[..point], &text[point + 1..]);
    let are_digits = whole.iter().chain(fraction).all(u8::is_ascii_digit);
    // A smaller number has an exponent.
    let is_large = whole != b"0" || fraction == b"0" || fraction.iter().take(4).any(|digit| *digit != b'0');
    are_digits
        && is_large
        && text.len() <= 16
        && (whole == b"0" || whole.first().is_some_and(|digit| *digit != b'0'))
        && (fraction == b"0" || fraction.last().is_some_and(|digit| *digit != b'0'))
}

fn push_float(value: f64, found: &mut String) {
    let shortest = format!("{value:e}");
    let Some((digits, exponent)) = shortest.split_once('e') else {
        return found.push_str(&shortest.to_ascii_lowercase());
    };
    let digits = even_digits(value, digits);
    match exponent.parse::<i32>() {
        Ok(exponent @ -4..16) => push_plain(&digits, exponent, found),
        Ok(exponent) => {
            let sign = if exponent < 0 { '-' } else { '+' };
            let _ = write!(found, "{digits}e{sign}{:02}", exponent.abs());
        }
        Err(_) => found.push_str(&shortest),
    }
}

/// Returns the shortest digits of a number; of two equally near, the even ones.
///
/// The formatter of Rust rounds such a tie up, Python and JavaScript to even.
fn even_digits(value: f64, digits: &str) -> Cow<'_, str> {
    let is_odd = digits.bytes().last().is_some_and(|digit| digit % 2 == 1);
    // A tie needs nearly all digits of a float.
    if digits.len() < 15 || !is_odd {
        return digits.into();
    }
    let decimals = digits.split_once('.').map_or(0, |(_, decimals)| decimals.len());
    // A tie has one more digit, a 5. What comes before it is the other text: the odd one was rounded up.
    let exact = format!("{value:.*e}", decimals + 40);
    let exact = exact.split_once('e').map_or("", |(exact, _)| exact);
    match exact.split_at_checked(digits.len()) {
        Some((even, rest)) if rest.strip_prefix('5').is_some_and(|rest| rest.bytes().all(|digit| digit == b'0')) => {
            even.to_owned().into()
        }
        _ => digits.into(),
    }
}

/// Adds digits, `d.dd`, times a power of ten, without an exponent.
fn push_plain(digits: &str, exponent: i32, found: &mut String) {
    let (sign, digits) = digits.strip_prefix('-').map_or(("", digits), |digits| ("-", digits));
    let digits = digits.replace('.', "");
    found.push_str(sign);
    match usize::try_from(exponent) {
        Ok(exponent) if exponent + 1 < digits.len() => {
            let (whole, fraction) = digits.split_at(exponent + 1);
            let _ = write!(found, "{whole}.{fraction}");
        }
        Ok(exponent) => {
            let _ = write!(found, "{digits:0<width$}.0", width = exponent + 1);
        }
        Err(_) => {
            let _ = write!(found, "0.{}{digits}", "0".repeat(exponent.unsigned_abs() as usize - 1));
        }
    }
}

/// Adds a date, or a time below one day, in ISO 8601; `None` if it is not a number.
pub(crate) fn push_date(bytes: &[u8], is_1904: bool, found: &mut String) -> Option<()> {
    let value: f64 = str::from_utf8(bytes).ok()?.trim_ascii().parse().ok()?;
    let time = ((value - value.floor()) * DAY as f64).round_ties_even() as i64;
    if (0.0..1.0).contains(&value) && time < DAY {
        push_time(time * 1000, found);
        return Some(());
    }
    // Excel counts a 29 February 1900.
    let early = i64::from(0.0 < value && value < 60.0 && !is_1904);
    let day = value.floor() as i64;
    let day = day.saturating_add(early + if is_1904 { DAY_ZERO_1904 } else { DAY_ZERO } + time / DAY);
    if !value.is_finite() || !(FIRST_DAY..=LAST_DAY).contains(&day) {
        found.push_str("#VALUE!");
        return Some(());
    }
    let (year, month, day) = civil(day);
    push_digits(year, 4, found);
    found.push('-');
    push_digits(month, 2, found);
    found.push('-');
    push_digits(day, 2, found);
    found.push('T');
    push_time(time % DAY * 1000, found);
    Some(())
}

/// Adds a duration, as Python shows it; `None` if it is not a number.
pub(crate) fn push_duration(bytes: &[u8], found: &mut String) -> Option<()> {
    let value: f64 = str::from_utf8(bytes).ok()?.trim_ascii().parse().ok()?;
    let micros = (value * DAY as f64 * 1000.0).round_ties_even();
    if !micros.is_finite() || micros.abs() >= 8.64e19 {
        found.push_str("#VALUE!");
        return Some(());
    }
    let millis = (micros / 1000.0).round_ties_even() as i64;
    let (days, time) = (millis.div_euclid(DAY), millis.rem_euclid(DAY));
    if days != 0 {
        let _ = write!(found, "{days} day{}, ", if days.abs() == 1 { "" } else { "s" });
    }
    let start = found.len();
    push_time(time * 1000, found);
    // Hours of a duration have no zero before them.
    if found[start..].starts_with('0') {
        found.remove(start);
    }
    Some(())
}

/// Adds a time of day, from its microseconds.
fn push_time(micros: i64, found: &mut String) {
    let seconds = micros / 1_000_000;
    for (place, number) in [seconds / 3600, seconds / 60 % 60, seconds % 60].into_iter().enumerate() {
        if place > 0 {
            found.push(':');
        }
        push_digits(number, 2, found);
    }
    if micros % 1_000_000 > 0 {
        found.push('.');
        push_digits(micros % 1_000_000, 6, found);
    }
}

fn push_digits(number: i64, n_digits: u32, found: &mut String) {
    for place in (0..n_digits).rev() {
        let digit = u8::try_from(number / 10_i64.pow(place) % 10).unwrap_or_default();
        found.push(char::from(b'0' + digit));
    }
}

/// Returns the year, month and day of a number of days from 1970-01-01.
fn civil(days: i64) -> (i64, i64, i64) {
    // Years begin in March, so that a leap day is the last one.
    let days = days + 719_468;
    let (era, day) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let of_month = day - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (year + 400 * era + i64::from(month <= 2), month, of_month)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(text: &str) -> Option<String> {
        let mut found = String::new();
        push_number(text.as_bytes(), &mut found).map(|()| found)
    }

    fn date(text: &str, is_1904: bool) -> String {
        let mut found = String::new();
        push_date(text.as_bytes(), is_1904, &mut found).unwrap();
        found
    }

    #[test]
    fn numbers_are_shown_in_full_as_python_shows_them() {
        let shown = [
            ("5", "5"),
            ("007", "7"),
            (" -12 ", "-12"),
            ("-0", "0"),
            ("20240102093000123456", "20240102093000123456"),
            ("5.0", "5.0"),
            ("5.00", "5.0"),
            ("100.05", "100.05"),
            ("0.10000000000000001", "0.1"),
            ("1E+16", "1e+16"),
            ("1e15", "1000000000000000.0"),
            ("0.0001", "0.0001"),
            ("0.00001", "1e-05"),
            ("1.5e-7", "1.5e-07"),
            ("0.000000", "0.0"),
            ("-0.0", "-0.0"),
            (".5", "0.5"),
            ("5.", "5.0"),
            ("1e999", "inf"),
            ("49.091999999999999", "49.0920"),
            ("50.092", "50.0920"),
            ("-1.500", "-1.5"),
            ("0.125", "0.125"),
            ("1000.125", "1000.125"),
            ("123456789.1234567", "123456789.1234567"),
            ("0.012", "0.012"),
            ("-0.00012345", "-0.00012345"),
            ("864421097491219.25", "864421097491219.2"),
            ("864421097491218.75", "864421097491218.8"),
            ("-864421097491219.25", "-864421097491219.2"),
        ];
        for (text, wanted) in shown {
            assert_eq!(number(text).as_deref(), Some(wanted), "{text}");
        }
        for text in ["", "-", "x", "1,5", "nan", "inf", "1 2", "1.5x"] {
            assert_eq!(number(text), None, "{text}");
        }
    }

    #[test]
    fn dates_are_shown_in_iso_8601() {
        let shown = [
            ("45293", "2024-01-02T00:00:00"),
            ("45293.395833333336", "2024-01-02T09:30:00"),
            ("1", "1900-01-01T00:00:00"),
            ("59", "1900-02-28T00:00:00"),
            ("60", "1900-02-28T00:00:00"),
            ("61", "1900-03-01T00:00:00"),
            ("0.5", "12:00:00"),
            ("0.99999999999", "1900-01-01T00:00:00"),
            ("45293.0000057870370", "2024-01-02T00:00:00.500000"),
            ("2958465", "9999-12-31T00:00:00"),
            ("2958466", "#VALUE!"),
            ("-700000", "#VALUE!"),
            ("1e300", "#VALUE!"),
            ("-1", "1899-12-29T00:00:00"),
        ];
        for (text, wanted) in shown {
            assert_eq!(date(text, false), wanted, "{text}");
        }
        assert_eq!(date("43831", true), "2024-01-02T00:00:00");
        assert_eq!(push_date(b"x", false, &mut String::new()), None);
    }

    #[test]
    fn durations_are_shown_as_python_shows_them() {
        for (text, wanted) in
            [("1.5", "1 day, 12:00:00"), ("0.0625", "1:30:00"), ("-0.5", "-1 day, 12:00:00"), ("1e300", "#VALUE!")]
        {
            let mut found = String::new();
            push_duration(text.as_bytes(), &mut found).unwrap();
            assert_eq!(found, wanted);
        }
    }
}
