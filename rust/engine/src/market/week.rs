//! Days of the week that a calendar has, and its days per year.

/// Trading days of a year on a weekday calendar with holidays.
const SESSIONS: f64 = 252.0;
/// Days of a year on a calendar that has weekends.
pub(crate) const CALENDAR_DAYS: f64 = 365.0;
/// Days of a year on a calendar of 6 days a week: 52.18 weeks.
const SIX_DAY_WEEKS: f64 = 313.0;
/// Days a week of a calendar with one closed weekday.
const FOUR_DAYS: usize = 4;
/// A weekday without a bar in this many weeks is closed.
const CLOSED_WEEKS: usize = 8;
pub(crate) const SATURDAY: usize = 5;
pub(crate) const SUNDAY: usize = 6;

/// Number of times each day of the week occurs, and has a bar.
pub(crate) struct Week {
    possible: [usize; 7],
    present: [usize; 7],
}

impl Week {
    pub(crate) fn of(days: &[i64]) -> Self {
        let mut week = Self { possible: [0; 7], present: [0; 7] };
        let (first, last) = (days[0], days[days.len() - 1]);
        let (n_weeks, rest) = ((last - first + 1) / 7, (last - first + 1) % 7);
        week.possible = [usize::try_from(n_weeks).unwrap_or(0); 7];
        for day in first..first + rest {
            week.possible[weekday(day)] += 1;
        }
        for day in days {
            week.present[weekday(*day)] += 1;
        }
        week
    }

    /// Whether a day of the week has a bar in at least half of the weeks.
    pub(crate) fn is_regular(&self, weekday: usize) -> bool {
        self.possible[weekday] > 0 && 2 * self.present[weekday] >= self.possible[weekday]
    }

    fn is_closed(&self, weekday: usize) -> bool {
        self.possible[weekday] > 0 && !self.is_regular(weekday)
    }

    /// Whether no bar is on this day of the week, over more weeks than holidays last.
    fn is_never_open(&self, weekday: usize) -> bool {
        self.present[weekday] == 0 && self.possible[weekday] >= CLOSED_WEEKS
    }

    pub(crate) fn days_per_year(&self) -> f64 {
        let weekend = [SATURDAY, SUNDAY];
        if !weekend.into_iter().any(|day| self.is_regular(day)) {
            let closed = (0..SATURDAY).filter(|day| self.is_never_open(*day)).count();
            return if closed == 1 { SESSIONS * FOUR_DAYS as f64 / SATURDAY as f64 } else { SESSIONS };
        }
        match (0..7).filter(|day| self.is_closed(*day)).count() {
            0 => CALENDAR_DAYS,
            1 => SIX_DAY_WEEKS,
            _ => SESSIONS,
        }
    }
}

/// Returns the day of the week of a day since 1970-01-01, Monday is 0.
pub(crate) fn weekday(day: i64) -> usize {
    usize::try_from((day + 3).rem_euclid(7)).unwrap_or(0)
}
