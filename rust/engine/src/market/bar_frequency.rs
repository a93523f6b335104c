//! Bars per year of a calendar, inferred from its dates.
//!
//! `docs/your-data.md` states the rule.

use std::collections::BTreeMap;

use crate::market::date::instant;

const DAY: i64 = 86_400;
const YEAR: f64 = 365.25 * DAY as f64;
/// Span from which on the bars of the dates are counted.
const COUNTED: i64 = 30 * DAY;
/// Longest gaps that are not counted, if they are longer than this.
const HOLE: i64 = 10 * DAY;
const MOST_HOLES: usize = 3;
/// Factor by which the count may differ from the calendar.
const TOLERANCE: f64 = 1.5;
/// Trading days of a year on a weekday calendar with holidays.
const SESSIONS: f64 = 252.0;
/// Days of a year on a calendar that has weekends.
const CALENDAR_DAYS: f64 = 365.0;
/// Trading days of a year of a market around the clock: 52 weeks of 5 days.
const WEEKDAYS: f64 = 260.0;
/// Days of a year on a calendar of 6 days a week: 52.18 weeks.
const SIX_DAY_WEEKS: f64 = 313.0;
/// From this many seconds a day on, a market trades around the clock.
const AROUND_THE_CLOCK: i64 = 20 * 3600;
/// A closed weekend is at least this long.
const CLOSED_WEEKEND: i64 = 36 * 3600;
/// Bars per year and range of days between bars of sparse calendars.
const SPARSE: [(f64, i64, i64); 5] = [(52.0, 5, 9), (12.0, 26, 35), (4.0, 84, 98), (2.0, 175, 190), (1.0, 355, 375)];
/// Share of the gaps that must be in the range of a sparse calendar.
const IN_RANGE: f64 = 0.8;
const SATURDAY: usize = 5;
const SUNDAY: usize = 6;

/// Returns the number of bars per year that ascending dates imply.
///
/// `None` if the dates fit no calendar: too few, irregular, or intraday bars that do not show whether the market trades
/// at weekends.
#[must_use]
pub fn inferred_periods_per_year(dates: &[String]) -> Option<f64> {
    let times: Option<Vec<i64>> = dates.iter().map(|date| instant(date)).collect();
    let times = times?;
    let is_ascending = times.windows(2).all(|pair| pair[0] < pair[1]);
    if times.len() < 2 || !is_ascending {
        return None;
    }
    let clock = times[0].rem_euclid(DAY);
    let is_daily = times.iter().all(|time| time.rem_euclid(DAY) == clock);
    let inferred = if is_daily { by_days(&times) } else { within_days(&times) };
    inferred.filter(|inferred| is_dense(&times, *inferred))
}

/// Returns whether the dates have about as many bars as a calendar.
///
/// Few bars are missing in a calendar that is recognized by the gaps between its bars. Short dates are not counted.
fn is_dense(times: &[i64], inferred: f64) -> bool {
    let mut holes: Vec<i64> = times.windows(2).map(|pair| pair[1] - pair[0]).filter(|gap| *gap > HOLE).collect();
    holes.sort_unstable();
    // Files of different periods leave holes between them.
    let holes = &holes[holes.len().saturating_sub(MOST_HOLES)..];
    let span = times[times.len() - 1] - times[0] - holes.iter().sum::<i64>();
    let counted = (times.len() - 1 - holes.len()) as f64 * YEAR / span as f64;
    span < COUNTED || (inferred / counted).max(counted / inferred) <= TOLERANCE
}

/// Returns bars per year of bars that are whole days apart.
fn by_days(times: &[i64]) -> Option<f64> {
    let days: Vec<i64> = times.iter().map(|time| time.div_euclid(DAY)).collect();
    let week = Week::of(&days);
    let open = |day: i64| weekday(day) < SATURDAY || week.is_regular(weekday(day));
    let distance = |pair: &[i64]| (pair[0] + 1..=pair[1]).take(10).filter(|day| open(*day)).count();
    if median(days.windows(2).map(distance).collect()) == 1 {
        return Some(week.days_per_year());
    }
    let gaps: Vec<i64> = days.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let typical = median(gaps.clone());
    if gaps.len() >= 2 && gaps.iter().all(|gap| *gap == 28) {
        return Some(13.0);
    }
    let (per_year, least, most) = SPARSE.into_iter().find(|(_, least, most)| (*least..=*most).contains(&typical))?;
    let fitting = gaps.iter().filter(|gap| (least..=most).contains(*gap)).count();
    (gaps.len() >= 2 && fitting as f64 >= IN_RANGE * gaps.len() as f64).then_some(per_year)
}

/// Returns bars per year of intraday bars.
fn within_days(times: &[i64]) -> Option<f64> {
    let mut by_day: BTreeMap<i64, Vec<i64>> = BTreeMap::new();
    for time in times {
        by_day.entry(time.div_euclid(DAY)).or_default().push(time.rem_euclid(DAY));
    }
    let spacing = spacing(times)?;
    let mut slots: Vec<i64> = by_day.values().flatten().map(|clock| clock / spacing).collect();
    slots.sort_unstable();
    slots.dedup();
    if slots.len() as i64 * spacing >= AROUND_THE_CLOCK {
        let open = weekend(times)?;
        return Some(if open { CALENDAR_DAYS * DAY as f64 / spacing as f64 } else { WEEKDAYS * slots.len() as f64 });
    }
    // One stretch of bars across midnight shows no session.
    let longest = times.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap_or(0);
    if by_day.len() < 2 || longest <= DAY - AROUND_THE_CLOCK {
        return None;
    }
    let typical = median(by_day.values().map(Vec::len).collect());
    // A session that crosses midnight leaves few bars on a day that is not one of its own.
    let own = by_day.iter().filter(|(_, clocks)| 2 * clocks.len() >= typical);
    let (days, mut counts): (Vec<i64>, Vec<usize>) = own.map(|(day, clocks)| (*day, clocks.len())).unzip();
    // The first and the last day may be cut off.
    if counts.len() > 2 {
        counts = counts[1..counts.len() - 1].to_vec();
    }
    let bars = if days.len() > 2 { median(counts) } else { counts.into_iter().max()? };
    Some(Week::of(&days).days_per_year() * bars as f64)
}

/// Returns the spacing of at least half of the gaps within a day, in seconds.
fn spacing(times: &[i64]) -> Option<i64> {
    let same_day = |pair: &&[i64]| pair[0].div_euclid(DAY) == pair[1].div_euclid(DAY);
    let mut counts: BTreeMap<i64, usize> = BTreeMap::new();
    for pair in times.windows(2).filter(same_day) {
        *counts.entry(pair[1] - pair[0]).or_default() += 1;
    }
    let total: usize = counts.values().sum();
    // Of equally frequent spacings, the shortest.
    let (spacing, count) = counts.into_iter().rev().max_by_key(|(_, count)| *count)?;
    (2 * count >= total).then_some(spacing)
}

/// Returns whether a market around the clock is open on most Saturdays.
///
/// `None` without a Saturday.
fn weekend(times: &[i64]) -> Option<bool> {
    let (first, last) = (times[0], times[times.len() - 1]);
    let noons: Vec<i64> = (first.div_euclid(DAY)..=last.div_euclid(DAY))
        .filter(|day| weekday(*day) == SATURDAY)
        .map(|day| day * DAY + DAY / 2)
        .filter(|noon| (first..last).contains(noon))
        .collect();
    let is_closed = |noon: &&i64| {
        let next = times.partition_point(|time| time <= noon);
        times[next] - times[next - 1] >= CLOSED_WEEKEND
    };
    let closed = noons.iter().filter(is_closed).count();
    (!noons.is_empty()).then_some(2 * closed < noons.len())
}

/// Number of times each day of the week occurs, and has a bar.
struct Week {
    possible: [usize; 7],
    present: [usize; 7],
}

impl Week {
    fn of(days: &[i64]) -> Self {
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
    fn is_regular(&self, weekday: usize) -> bool {
        self.possible[weekday] > 0 && 2 * self.present[weekday] >= self.possible[weekday]
    }

    fn is_closed(&self, weekday: usize) -> bool {
        self.possible[weekday] > 0 && !self.is_regular(weekday)
    }

    fn days_per_year(&self) -> f64 {
        let weekend = [SATURDAY, SUNDAY];
        if !weekend.into_iter().any(|day| self.is_regular(day)) {
            return SESSIONS;
        }
        match (0..7).filter(|day| self.is_closed(*day)).count() {
            0 => CALENDAR_DAYS,
            1 => SIX_DAY_WEEKS,
            _ => SESSIONS,
        }
    }
}

/// Returns the day of the week of a day since 1970-01-01, Monday is 0.
fn weekday(day: i64) -> usize {
    usize::try_from((day + 3).rem_euclid(7)).unwrap_or(0)
}

/// Returns the lower median.
fn median<T: Copy + Ord>(mut values: Vec<T>) -> T {
    let middle = (values.len() - 1) / 2;
    *values.select_nth_unstable(middle).1
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the ISO 8601 texts of times, days if all are at midnight.
    fn texts(times: &[i64]) -> Vec<String> {
        let days_only = times.iter().all(|time| time.rem_euclid(DAY) == 0);
        let text = |time: &i64| {
            let (day, clock) = (time.div_euclid(DAY), time.rem_euclid(DAY));
            let date = civil(day);
            if days_only {
                date
            } else {
                format!("{date}T{:02}:{:02}:{:02}", clock / 3600, clock / 60 % 60, clock % 60)
            }
        };
        times.iter().map(text).collect()
    }

    /// Returns the date of a day, by search.
    fn civil(day: i64) -> String {
        let year = (1970..3000).find(|year| start(*year + 1) > day).unwrap();
        let month = (1..=12).rev().find(|month| of(year, *month, 1) <= day).unwrap();
        format!("{year:04}-{month:02}-{:02}", day - of(year, month, 1) + 1)
    }

    fn start(year: i64) -> i64 {
        of(year, 1, 1)
    }

    fn of(year: i64, month: i64, day: i64) -> i64 {
        instant(&format!("{year:04}-{month:02}-{day:02}")).unwrap() / DAY
    }

    fn inferred(times: &[i64]) -> Option<f64> {
        inferred_periods_per_year(&texts(times))
    }

    /// Returns bars every `spacing` seconds within `hours` of the open weekdays.
    fn bars(open: &[usize], hours: std::ops::Range<i64>, spacing: i64, n_days: i64) -> Vec<i64> {
        // 2024-01-01 is a Monday.
        let days = (of(2024, 1, 1)..of(2024, 1, 1) + n_days).filter(|day| open.contains(&weekday(*day)));
        days.flat_map(|day| {
            (hours.start * 3600..hours.end * 3600)
                .step_by(spacing.try_into().unwrap())
                .map(move |clock| day * DAY + clock)
        })
        .collect()
    }

    const ALL: [usize; 7] = [0, 1, 2, 3, 4, 5, 6];

    #[test]
    fn days_are_weekdays_or_the_whole_week() {
        assert_eq!(inferred(&bars(&ALL[..5], 0..1, 3600, 400)), Some(252.0));
        assert_eq!(inferred(&bars(&ALL, 0..1, 3600, 400)), Some(365.0));
        assert_eq!(inferred(&bars(&[0, 1, 2, 3, 4, 6], 0..1, 3600, 100)), Some(313.0));
        assert_eq!(inferred(&bars(&[6, 0, 1, 2, 3], 0..1, 3600, 100)), Some(252.0));
        // Every day at 21:00.
        assert_eq!(inferred(&bars(&ALL[..5], 21..22, 3600, 30)), Some(252.0));
        // Two bars: Friday and Monday; Tuesday and Wednesday; Friday and Saturday.
        let day = |offset: i64| (of(2024, 1, 1) + offset) * DAY;
        assert_eq!(inferred(&[day(4), day(7)]), Some(252.0));
        assert_eq!(inferred(&[day(1), day(2)]), Some(252.0));
        assert_eq!(inferred(&[day(4), day(5)]), Some(365.0));
    }

    #[test]
    fn holidays_gaps_and_a_special_saturday_change_no_daily_number() {
        let mut days = bars(&ALL[..5], 0..1, 3600, 700);
        let mut draw = 1_u64;
        days.retain(|_| {
            draw = draw.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (draw >> 33) % 100 >= 8
        });
        days.push((of(2024, 1, 1) + 5) * DAY);
        days.sort_unstable();
        assert_eq!(inferred(&days), Some(252.0));
    }

    #[test]
    fn sparse_calendars_are_weekly_monthly_quarterly_half_yearly_and_yearly() {
        let ends = |step: i64| -> Vec<i64> {
            (1..=8)
                .map(|i| (2010 + (i * step) / 12, (i * step) % 12 + 1))
                .map(|(y, m)| (of(y, m, 1) - 1) * DAY)
                .collect()
        };
        for (months, expected) in [(1, 12.0), (3, 4.0), (6, 2.0), (12, 1.0)] {
            assert_eq!(inferred(&ends(months)), Some(expected), "{months} months");
        }
        let fridays: Vec<i64> = (0..60).map(|week| (of(2024, 1, 5) + 7 * week) * DAY).collect();
        assert_eq!(inferred(&fridays), Some(52.0));
        assert_eq!(inferred(&(0..20).map(|k| (of(2024, 1, 5) + 28 * k) * DAY).collect::<Vec<_>>()), Some(13.0));
        // A Thursday before Good Friday.
        let shifted: Vec<i64> = fridays.iter().enumerate().map(|(i, time)| time - i64::from(i == 12) * DAY).collect();
        assert_eq!(inferred(&shifted), Some(52.0));
    }

    #[test]
    fn intraday_bars_follow_sessions_weeks_or_the_clock() {
        assert_eq!(inferred(&bars(&ALL, 0..24, 3600, 10)), Some(8760.0));
        assert_eq!(inferred(&bars(&ALL, 0..24, 60, 10)), Some(525_600.0));
        assert_eq!(inferred(&bars(&ALL, 0..24, 14_400, 10)), Some(2190.0));
        assert_eq!(inferred(&bars(&ALL[..5], 0..24, 3600, 10)), Some(6240.0));
        assert_eq!(inferred(&bars(&ALL[..5], 9..16, 3600, 30)), Some(252.0 * 7.0));
        assert_eq!(inferred(&bars(&ALL[..5], 9..16, 300, 4)), Some(252.0 * 84.0));
        assert_eq!(inferred(&bars(&ALL, 9..16, 3600, 30)), Some(365.0 * 7.0));
        // Sessions that cross midnight in UTC: 04:00 to 20:00 in New York, 10:00 to 16:00 in Sydney.
        let shifted =
            |hours, by: i64| bars(&ALL[..5], hours, 3600, 60).into_iter().map(|time| time + by * 3600).collect();
        let (new_york, sydney): (Vec<i64>, Vec<i64>) = (shifted(4..20, 5), shifted(10..16, -11));
        assert_eq!(inferred(&new_york), Some(252.0 * 16.0));
        assert_eq!(inferred(&sydney), Some(252.0 * 6.0));
    }

    #[test]
    fn dates_that_fit_no_calendar_are_not_guessed() {
        // One hour of minutes, one session, and two days around the clock without a Saturday.
        assert_eq!(inferred(&bars(&ALL, 9..10, 60, 1)), None);
        assert_eq!(inferred(&bars(&ALL, 9..16, 3600, 1)), None);
        assert_eq!(inferred(&bars(&ALL, 0..24, 3600, 2)), None);
        // One stretch of minutes across midnight.
        let stretch: Vec<i64> = (0..900).map(|k| of(2024, 1, 2) * DAY + 52_200 + 60 * k).collect();
        assert_eq!([571, 640, 900].map(|n| inferred(&stretch[..n])), [None; 3]);
        // Every other day, every tenth day, two monthly dates, and volume bars.
        let every = |days: i64, n: i64| (0..n).map(|i| (of(2024, 1, 1) + i * days) * DAY).collect::<Vec<_>>();
        assert_eq!(inferred(&every(2, 40)), None);
        assert_eq!(inferred(&every(10, 40)), None);
        assert_eq!(inferred(&every(31, 2)), None);
        // Weekdays with 2 in 5 missing, three days a week, and months followed by days.
        let thinned = bars(&ALL[..5], 0..1, 3600, 700).into_iter().enumerate().filter(|(i, _)| i % 5 < 3);
        assert_eq!(inferred(&thinned.map(|(_, time)| time).collect::<Vec<_>>()), None);
        assert_eq!(inferred(&bars(&ALL[..3], 0..1, 3600, 400)), None);
        let months = (0..240).map(|i| (of(2004 + i / 12, i % 12 + 1, 1)) * DAY);
        assert_eq!(inferred(&months.chain(bars(&ALL[..5], 0..1, 3600, 427)).skip(1).collect::<Vec<_>>()), None);
        let ticks: Vec<i64> = (0..400).map(|i| of(2024, 1, 1) * DAY + i * 997 + (i * i * 31) % 977).collect();
        assert_eq!(inferred(&ticks), None);
        assert_eq!(inferred(&every(1, 1)), None);
        assert_eq!(inferred_periods_per_year(&["2024-01-02".to_owned(), "2024-01-01".to_owned()]), None);
        assert_eq!(inferred_periods_per_year(&["today".to_owned(), "tomorrow".to_owned()]), None);
    }
}
