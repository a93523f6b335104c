use std::ops::RangeInclusive;

/// Seconds of a day.
pub(crate) const DAY: i64 = 86_400;

/// The form of all dates of a market.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DateForm {
    /// `YYYY-MM-DD`.
    #[default]
    Day,
    /// `YYYY-MM-DDTHH:MM:SS`.
    Second,
    /// `YYYY-MM-DDTHH:MM:SSZ`.
    UtcSecond,
}

impl DateForm {
    /// Returns the form of an ISO 8601 date, by its length.
    pub(crate) fn of(text: &str) -> Self {
        match text.len() {
            10 => Self::Day,
            19 => Self::Second,
            _ => Self::UtcSecond,
        }
    }

    /// Returns the length of a text.
    pub(crate) fn length(self) -> usize {
        match self {
            Self::Day => 10,
            Self::Second => 19,
            Self::UtcSecond => 20,
        }
    }
}

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
    Some(day * DAY + seconds)
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

/// The text of a valid date, without an allocation.
#[derive(Clone, Copy)]
pub(crate) struct DateText {
    bytes: [u8; 20],
    length: usize,
}

impl DateText {
    /// Seconds from 1970-01-01 to the years 0 to 9999.
    pub(crate) const TIMES: RangeInclusive<i64> = -62_167_219_200..=253_402_300_799;

    /// Returns the text of a time in [`DateText::TIMES`].
    pub(crate) fn of(time: i64, form: DateForm) -> Self {
        let (day, clock) = (time.div_euclid(DAY), time.rem_euclid(DAY));
        let (year, month, day) = civil(day);
        let mut bytes = *b"0000-00-00T00:00:00Z";
        #[expect(clippy::cast_sign_loss, reason = "a digit")]
        let mut put = |at: usize, value: i64| {
            bytes[at] += (value / 10 % 10) as u8;
            bytes[at + 1] += (value % 10) as u8;
        };
        put(0, year / 100);
        put(2, year);
        put(5, month);
        put(8, day);
        if form != DateForm::Day {
            put(11, clock / 3600);
            put(14, clock / 60 % 60);
            put(17, clock % 60);
        }
        Self { bytes, length: form.length() }
    }

    pub(crate) fn as_str(&self) -> &str {
        // All bytes are ASCII.
        std::str::from_utf8(&self.bytes[..self.length]).unwrap_or_default()
    }
}

/// Returns year, month and day of a day since 1970-01-01.
fn civil(day: i64) -> (i64, i64, i64) {
    // Years start in March, as in `days_since_epoch`.
    let (era, of_era) = ((day + 719_468).div_euclid(146_097), (day + 719_468).rem_euclid(146_097));
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let (day, month) = (of_year - (153 * month + 2) / 5 + 1, if month < 10 { month + 3 } else { month - 9 });
    (era * 400 + year + i64::from(month <= 2), month, day)
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
    fn a_time_has_the_text_whose_instant_it_is() {
        for day in (*DateText::TIMES.start()..=*DateText::TIMES.end()).step_by(86_400) {
            assert_eq!(instant(DateText::of(day, DateForm::Day).as_str()), Some(day));
        }
        for clock in 0..86_400 {
            assert_eq!(instant(DateText::of(clock, DateForm::Second).as_str()), Some(clock));
        }
        let [first, last] = [DateText::TIMES.start(), DateText::TIMES.end()];
        assert_eq!(DateText::of(*first, DateForm::UtcSecond).as_str(), "0000-01-01T00:00:00Z");
        assert_eq!(DateText::of(*last, DateForm::UtcSecond).as_str(), "9999-12-31T23:59:59Z");
    }
}
