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
    fn weekdays_skip_weekends_and_cross_years() {
        let dates = weekdays(262);
        assert_eq!(dates[..6], ["2000-01-03", "2000-01-04", "2000-01-05", "2000-01-06", "2000-01-07", "2000-01-10"]);
        assert_eq!(dates[260], "2001-01-01");
        assert!(dates.iter().all(|date| is_iso(date)));
    }
}
