//! The dates of bars, as integers of one form.

use std::borrow::Cow;
use std::fmt;
use std::ops::{Deref, Range};

use crate::error::DataError;
use crate::market::date::{DAY, DateForm, DateText, instant};

/// The dates of the bars of a market, oldest first.
///
/// Valid dates of one form are kept as integers, and every text is byte for byte the given one. Other texts are kept as
/// they are, for the message that refuses them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dates(Kept);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Kept {
    /// Seconds since 1970-01-01.
    Times(DateForm, Vec<i64>),
    Texts(Vec<String>),
}

/// The text of a date.
pub struct ShownDate<'a>(Shown<'a>);

enum Shown<'a> {
    Written(DateText),
    Given(&'a str),
}

impl Deref for ShownDate<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        match &self.0 {
            Shown::Written(text) => text.as_str(),
            Shown::Given(text) => text,
        }
    }
}

impl fmt::Display for ShownDate<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&**self, f)
    }
}

impl fmt::Debug for ShownDate<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

impl AsRef<str> for ShownDate<'_> {
    fn as_ref(&self) -> &str {
        self
    }
}

impl Default for Dates {
    fn default() -> Self {
        Self(Kept::Times(DateForm::default(), Vec::new()))
    }
}

impl From<Vec<String>> for Dates {
    fn from(texts: Vec<String>) -> Self {
        let form = texts.first().map(|text| DateForm::of(text)).unwrap_or_default();
        let time = |text: &String| instant(text).filter(|_| DateForm::of(text) == form);
        match texts.iter().map(time).collect() {
            Some(times) => Self(Kept::Times(form, times)),
            None => Self(Kept::Texts(texts)),
        }
    }
}

impl FromIterator<String> for Dates {
    fn from_iter<I: IntoIterator<Item = String>>(texts: I) -> Self {
        texts.into_iter().collect::<Vec<_>>().into()
    }
}

impl Dates {
    /// Returns the dates of seconds since 1970-01-01.
    ///
    /// # Errors
    ///
    /// Returns an error if a time is outside of the years 0 to 9999, or within a day in a form without a time.
    pub fn from_times(form: DateForm, times: Vec<i64>) -> Result<Self, DataError> {
        let is_valid = |time: &i64| DateText::TIMES.contains(time) && (form != DateForm::Day || time % DAY == 0);
        if let Some(row) = times.iter().position(|time| !is_valid(time)) {
            let message = format!("`date` at row {row} must be in the years 0 to 9999; received {} s", times[row]);
            return Err(DataError::new("date_invalid", message));
        }
        Ok(Self(Kept::Times(form, times)))
    }

    /// Returns `n` weekdays from Monday 2000-01-03 on.
    pub(crate) fn weekdays(n: usize) -> Self {
        const MONDAY: i64 = 10_959;
        Self(Kept::Times(DateForm::Day, (0..n as i64).map(|i| (MONDAY + i / 5 * 7 + i % 5) * DAY).collect()))
    }

    /// Returns the number of dates.
    #[must_use]
    pub fn len(&self) -> usize {
        match &self.0 {
            Kept::Times(_, times) => times.len(),
            Kept::Texts(texts) => texts.len(),
        }
    }

    /// Returns whether there are no dates.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the text of a date.
    ///
    /// # Panics
    ///
    /// Panics if there is no such bar.
    #[must_use]
    #[inline]
    pub fn get(&self, bar: usize) -> ShownDate<'_> {
        ShownDate(match &self.0 {
            Kept::Times(form, times) => Shown::Written(DateText::of(times[bar], *form)),
            Kept::Texts(texts) => Shown::Given(&texts[bar]),
        })
    }

    /// Returns the texts of all dates.
    #[must_use]
    pub fn iter(&self) -> impl ExactSizeIterator<Item = ShownDate<'_>> {
        (0..self.len()).map(|bar| self.get(bar))
    }

    /// Returns the texts of some bars.
    ///
    /// # Panics
    ///
    /// Panics if there are no such bars.
    #[must_use]
    pub fn texts(&self, bars: Range<usize>) -> Vec<String> {
        bars.map(|bar| self.get(bar).to_owned()).collect()
    }

    /// Returns the dates of some bars.
    ///
    /// # Panics
    ///
    /// Panics if there are no such bars.
    #[must_use]
    pub fn part(&self, bars: Range<usize>) -> Self {
        Self(match &self.0 {
            Kept::Times(form, times) => Kept::Times(*form, times[bars].to_vec()),
            Kept::Texts(texts) => Kept::Texts(texts[bars].to_vec()),
        })
    }

    /// Returns the seconds since 1970-01-01 of each date, `None` if one is invalid.
    #[must_use]
    pub fn times(&self) -> Option<Cow<'_, [i64]>> {
        match &self.0 {
            Kept::Times(_, times) => Some(Cow::Borrowed(times)),
            Kept::Texts(texts) => texts.iter().map(|text| instant(text)).collect::<Option<Vec<_>>>().map(Cow::Owned),
        }
    }

    /// Returns the form of all dates, `None` if one is invalid or of another form.
    #[must_use]
    pub fn form(&self) -> Option<DateForm> {
        match &self.0 {
            Kept::Times(form, _) => Some(*form),
            Kept::Texts(_) => None,
        }
    }

    /// Returns the first bar with a text of at least `text`, of ascending dates.
    pub(crate) fn first_at_or_after(&self, text: &str) -> usize {
        let (mut first, mut end) = (0, self.len());
        while first < end {
            let middle = first.midpoint(end);
            if *self.get(middle) < *text {
                first = middle + 1;
            } else {
                end = middle;
            }
        }
        first
    }

    /// Returns the bar with a text, of ascending dates.
    #[must_use]
    pub fn bar_of(&self, text: &str) -> Option<usize> {
        Some(self.first_at_or_after(text)).filter(|bar| *bar < self.len() && *self.get(*bar) == *text)
    }

    /// Returns whether all dates are times at midnight.
    pub(crate) fn are_midnights(&self) -> bool {
        matches!(&self.0, Kept::Times(form, times)
            if (*form != DateForm::Day || times.is_empty()) && times.iter().all(|time| time % DAY == 0))
    }

    /// Removes the times of midnights.
    pub(crate) fn become_days(&mut self) {
        if let Kept::Times(form, _) = &mut self.0 {
            *form = DateForm::Day;
        }
    }

    /// Keeps the dates of some bars.
    pub(crate) fn retain(&mut self, kept: &[bool]) {
        let mut is_kept = kept.iter();
        let mut next = || is_kept.next().copied().unwrap_or(true);
        match &mut self.0 {
            Kept::Times(_, times) => times.retain(|_| next()),
            Kept::Texts(texts) => texts.retain(|_| next()),
        }
    }

    /// Returns the row of the first date that is refused, and why.
    pub(crate) fn fault(&self) -> Option<(usize, DateFault)> {
        match &self.0 {
            Kept::Times(_, times) => {
                let pair = times.windows(2).position(|pair| pair[0] >= pair[1]);
                pair.map(|row| (row + 1, DateFault::Order))
            }
            Kept::Texts(texts) => texts.iter().enumerate().find_map(|(row, text)| {
                let is_next = |row: usize| text.len() == texts[0].len() && *text > texts[row - 1];
                if instant(text).is_none() {
                    Some((row, DateFault::Invalid))
                } else {
                    (row > 0 && !is_next(row)).then_some((row, DateFault::Order))
                }
            }),
        }
    }
}

/// Why a date is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DateFault {
    /// Not ISO 8601.
    Invalid,
    /// Not after the date before it, or in another form.
    Order,
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_accepted_text_is_read_back_byte_for_byte(
            times in proptest::collection::btree_set(DateText::TIMES, 1..20),
            form in prop_oneof![Just(DateForm::Day), Just(DateForm::Second), Just(DateForm::UtcSecond)],
        ) {
            let mut texts: Vec<String> = times.iter().map(|time| DateText::of(*time, form).as_str().to_owned()).collect();
            texts.dedup();
            let dates = Dates::from(texts.clone());
            prop_assert_eq!(dates.form(), Some(form));
            prop_assert_eq!(dates.fault(), None);
            prop_assert_eq!(dates.texts(0..texts.len()), texts.clone());
            for (bar, text) in texts.iter().enumerate() {
                prop_assert_eq!(instant(text), Some(dates.times().unwrap()[bar]));
                prop_assert_eq!(dates.bar_of(text), Some(bar));
            }
        }
    }

    #[test]
    fn other_texts_are_kept_for_the_message() {
        let texts = |texts: &[&str]| Dates::from(texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>());
        for (given, fault) in [
            (["2024-01-02", "2024-01-03T00:00:00"], (1, DateFault::Order)),
            (["2024-01-02", "2024-01-02"], (1, DateFault::Order)),
            (["2024-1-2", "2024-01-02"], (0, DateFault::Invalid)),
            (["2024-01-02", "2024-01-03T00:00:60"], (1, DateFault::Invalid)),
            (["2024-01-02T00:00:00", "2024-01-02T00:00:01Z"], (1, DateFault::Order)),
        ] {
            let dates = texts(&given);
            assert_eq!(dates.texts(0..2), given);
            assert_eq!(dates.fault(), Some(fault));
        }
    }

    #[test]
    fn times_outside_of_the_years_and_within_a_day_are_refused() {
        assert!(Dates::from_times(DateForm::Day, vec![0, 86_400]).is_ok());
        for (form, time) in [(DateForm::Day, 1), (DateForm::Second, i64::MIN), (DateForm::Second, 253_402_300_800)] {
            assert_eq!(Dates::from_times(form, vec![time]).unwrap_err().slug(), "date_invalid");
        }
    }

    #[test]
    fn a_day_on_the_axis_is_before_its_times() {
        let dates = Dates::weekdays(6);
        assert_eq!(dates.texts(4..6), ["2000-01-07", "2000-01-10"]);
        assert_eq!(dates.first_at_or_after("2000-01-04"), 1);
        assert_eq!(dates.first_at_or_after("2000-01-04T00:00:00"), 2);
        assert_eq!(dates.first_at_or_after("2001-01-01"), 6);
    }
}
