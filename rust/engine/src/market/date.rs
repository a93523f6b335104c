/// Returns whether a text is an ISO 8601 date.
///
/// Forms: `YYYY-MM-DD`, or `YYYY-MM-DDTHH:MM:SS` with an optional `Z`.
///
/// Dates of one form sort as text in the order of time.
pub(crate) fn is_iso(text: &str) -> bool {
    let bytes = text.as_bytes();
    match bytes.len() {
        10 => is_day(bytes),
        19 => is_day(&bytes[..10]) && is_time(&bytes[10..]),
        20 => is_day(&bytes[..10]) && is_time(&bytes[10..19]) && bytes[19] == b'Z',
        _ => false,
    }
}

/// Returns the seconds since 1970-01-01 of an ISO 8601 date.
///
/// `None` if it is not one.
///
/// A date without a time is midnight.
pub(crate) fn instant(text: &str) -> Option<i64> {
    if !is_iso(text) {
        return None;
    }
    let number = |from: usize, to: usize| text[from..to].parse::<i64>().ok();
    let day = days_since_epoch(number(0, 4)?, number(5, 7)?, number(8, 10)?);
    let seconds = if text.len() == 10 { 0 } else { number(11, 13)? * 3600 + number(14, 16)? * 60 + number(17, 19)? };
    Some(day * 86_400 + seconds)
}

/// Returns the days since 1970-01-01 of a date of the Gregorian calendar.
fn days_since_epoch(year: i64, month: i64, day: i64) -> i64 {
    // Years start in March, so that the leap day is the last day of a year.
    let year = if month > 2 { year } else { year - 1 };
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + day_of_year - 719_468
}

fn is_day(text: &[u8]) -> bool {
    let (Some(year), Some(month), Some(day)) = (number(&text[..4]), number(&text[5..7]), number(&text[8..10])) else {
        return false;
    };
    text[4] == b'-' && text[7] == b'-' && (1..=12).contains(&month) && (1..=days_in_month(year, month)).contains(&day)
}

fn is_time(text: &[u8]) -> bool {
    let (Some(hour), Some(minute), Some(second)) = (number(&text[1..3]), number(&text[4..6]), number(&text[7..9]))
    else {
        return false;
    };
    text[0] == b'T' && text[3] == b':' && text[6] == b':' && hour < 24 && minute < 60 && second < 60
}

fn number(text: &[u8]) -> Option<u32> {
    text.iter().try_fold(0, |value, digit| digit.is_ascii_digit().then(|| value * 10 + u32::from(digit - b'0')))
}

fn days_in_month(year: u32, month: u32) -> u32 {
    match month {
        2 if year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400)) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Returns `n` weekdays from Monday 2000-01-03 on.
pub(crate) fn weekdays(n: usize) -> Vec<String> {
    let (mut year, mut month, mut day) = (2000, 1, 3);
    let mut dates = Vec::with_capacity(n);
    for i in 0..n {
        dates.push(text(year, month, day));
        let days_on = if i % 5 == 4 { 3 } else { 1 };
        for _ in 0..days_on {
            day += 1;
            if day > days_in_month(year, month) {
                (day, month) = (1, month + 1);
            }
            if month > 12 {
                (month, year) = (1, year + 1);
            }
        }
    }
    dates
}

/// Returns the ISO 8601 text of a date in the years 0 to 9999.
fn text(year: u32, month: u32, day: u32) -> String {
    // `format!` takes ten times as long.
    let digits = [year / 1000, year / 100, year / 10, year, 10, month / 10, month, 10, day / 10, day];
    let digit = |(place, digit): (usize, &u32)| {
        if place == 4 || place == 7 { '-' } else { char::from(b'0' + (digit % 10) as u8) }
    };
    let mut text = String::with_capacity(digits.len());
    text.extend(digits.iter().enumerate().map(digit));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn real_days_pass_and_impossible_ones_do_not() {
        for good in ["2000-02-29", "1999-12-31", "2024-01-01T23:59:59", "2024-01-01T00:00:00Z"] {
            assert!(is_iso(good), "{good}");
        }
        for bad in [
            "1900-02-29",
            "2001-13-01",
            "2001-00-10",
            "2001-1-1",
            "01/02/2003",
            "2024-01-01 00:00:00",
            "",
            "2001-04-31",
        ] {
            assert!(!is_iso(bad), "{bad}");
        }
    }

    #[test]
    fn instants_count_seconds_since_1970() {
        // Expected values: `date --utc --date=TEXT +%s`.
        let expected = [
            ("1970-01-01", 0),
            ("2000-02-29", 951_782_400),
            ("2024-03-01T12:34:56", 1_709_296_496),
            ("1969-12-31T23:59:59Z", -1),
            ("0001-01-01", -62_135_596_800),
        ];
        for (text, seconds) in expected {
            assert_eq!(instant(text), Some(seconds), "{text}");
        }
        assert_eq!(instant("2023-02-29"), None);
    }

    #[test]
    fn weekdays_skip_weekends_and_cross_years() {
        let dates = weekdays(262);
        assert_eq!(dates[..6], ["2000-01-03", "2000-01-04", "2000-01-05", "2000-01-06", "2000-01-07", "2000-01-10"]);
        assert_eq!(dates[260], "2001-01-01");
        assert!(dates.iter().all(|date| is_iso(date)));
    }
}
