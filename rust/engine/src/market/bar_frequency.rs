//! Bars per year of a calendar, inferred from its dates.
//!
//! `docs/your-data.md` states the rule.

use std::collections::BTreeMap;

use crate::market::dates::Dates;
use crate::market::day_numbers::day_numbers;
use crate::market::week::{CALENDAR_DAYS, SATURDAY, Week, weekday};

const DAY: i64 = 86_400;
const YEAR: f64 = 365.25 * DAY as f64;
/// Span from which on the bars of the dates are counted.
const COUNTED: i64 = 30 * DAY;
/// Longest gaps that are not counted, if they are longer than this.
const HOLE: i64 = 10 * DAY;
const MOST_HOLES: usize = 3;
/// Factor by which the count may differ from the calendar.
const TOLERANCE: f64 = 1.5;
/// Trading days of a year of a market around the clock: 52 weeks of 5 days.
const WEEKDAYS: f64 = 260.0;
/// Daylight saving time moves bars by this many seconds.
const CLOCK_CHANGE: i64 = 3600;
/// From this many seconds a day on, a market trades around the clock.
const AROUND_THE_CLOCK: i64 = 20 * 3600;
/// A closed weekend is at least this long.
const CLOSED_WEEKEND: i64 = 36 * 3600;
/// Bars per year and range of days between bars of sparse calendars.
const SPARSE: [(f64, i64, i64); 5] = [(52.0, 5, 9), (12.0, 26, 35), (4.0, 84, 98), (2.0, 175, 190), (1.0, 355, 375)];
/// Share of the gaps that must be in the range of a sparse calendar.
const IN_RANGE: f64 = 0.8;
/// Days from a Sunday to 1970-01-01.
const SUNDAY_FIRST: i64 = 4;

/// Returns the number of bars per year that ascending dates imply.
///
/// `None` if the dates fit no calendar: too few, irregular, or intraday bars that do not show whether the market trades
/// at weekends.
#[must_use]
pub fn inferred_periods_per_year(dates: &Dates) -> Option<f64> {
    let times = dates.times()?;
    let is_ascending = times.windows(2).all(|pair| pair[0] < pair[1]);
    if times.len() < 2 || !is_ascending {
        return None;
    }
    let inferred = day_numbers(&times).map_or_else(|| within_days(&times), |days| by_days(&days));
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

/// Returns bars per year of bars on ascending days.
fn by_days(days: &[i64]) -> Option<f64> {
    let week = Week::of(days);
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
    if n_slots(times, spacing) as i64 * spacing >= AROUND_THE_CLOCK {
        let open = weekend(times)?;
        let per_day = if open { DAY as f64 / spacing as f64 } else { slots_per_day(times, spacing) as f64 };
        return Some(if open { CALENDAR_DAYS * per_day } else { WEEKDAYS * per_day });
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

/// Returns the number of distinct times of day, in units of the spacing.
fn n_slots(times: &[i64], spacing: i64) -> usize {
    let mut slots: Vec<i64> = times.iter().map(|time| time.rem_euclid(DAY) / spacing).collect();
    slots.sort_unstable();
    slots.dedup();
    slots.len()
}

/// Returns the bars of a day of a market around the clock that closes at weekends.
///
/// The clock changes while the market is closed, so each week from Sunday to Saturday has one set of times. All weeks
/// have more: an hour that is closed in winter is open in summer.
fn slots_per_day(times: &[i64], spacing: i64) -> usize {
    let week = |time: &i64| (time.div_euclid(DAY) + SUNDAY_FIRST).div_euclid(7);
    let weeks: Vec<usize> =
        times.chunk_by(|one, next| week(one) == week(next)).map(|times| n_slots(times, spacing)).collect();
    let all = n_slots(times, spacing);
    let typical = if weeks.len() > 2 { median(weeks) } else { weeks.into_iter().max().unwrap_or(all) };
    // A larger difference shows missing bars.
    if (all - typical) as i64 * spacing <= CLOCK_CHANGE.max(spacing) { typical } else { all }
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

/// Returns the lower median.
fn median<T: Copy + Ord>(mut values: Vec<T>) -> T {
    let middle = (values.len() - 1) / 2;
    *values.select_nth_unstable(middle).1
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::market::date::instant;
    use crate::market::week::SUNDAY;

    /// Returns the ISO 8601 texts of times, days if all are at midnight.
    fn texts(times: &[i64]) -> Dates {
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
        let year = (1970 + day / 366..3000).find(|year| start(*year + 1) > day).unwrap();
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
        // Every day at 21:00, or an hour later after a change of clocks.
        let late = bars(&ALL[..5], 21..22, 3600, 400);
        assert_eq!(inferred(&late), Some(252.0));
        let changed = |place: usize| late[place] + 3600 * i64::from(place % 200 > 100);
        assert_eq!(inferred(&(0..late.len()).map(changed).collect::<Vec<_>>()), Some(252.0));
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

    /// Returns the bars of futures in Chicago, in UTC.
    ///
    /// From Sunday 17:00 to Friday 16:00, without 16:00 to 17:00.
    fn futures(first: i64, n_days: i64, spacing: i64) -> Vec<i64> {
        let summer = of(2024, 3, 10) * DAY..of(2024, 11, 3) * DAY;
        let to_utc = |time: i64| time + if summer.contains(&time) { 5 } else { 6 } * 3600;
        let is_open = |time: &i64| match (weekday(time.div_euclid(DAY)), time.rem_euclid(DAY) / 3600) {
            (SATURDAY, _) | (_, 16) => false,
            (SUNDAY, hour) => hour > 16,
            (4, hour) => hour < 16,
            _ => true,
        };
        let times = (first * DAY..(first + n_days) * DAY).step_by(spacing.try_into().unwrap());
        times.filter(is_open).map(to_utc).collect()
    }

    #[test]
    fn a_clock_change_adds_no_bars_to_the_days_of_a_market() {
        for (spacing, per_day) in [(3600, 23.0), (900, 92.0)] {
            let expected = Some(260.0 * per_day);
            // Winter, summer, both, and two weeks around the change.
            for (first, n_days) in
                [(of(2024, 1, 1), 60), (of(2024, 4, 1), 60), (of(2024, 1, 1), 150), (of(2024, 3, 4), 12)]
            {
                assert_eq!(inferred(&futures(first, n_days, spacing)), expected, "{spacing} s, {n_days} days");
            }
            let mut draw = 1_u64;
            let mut thinned = futures(of(2024, 1, 1), 150, spacing);
            thinned.retain(|_| {
                draw = draw.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (draw >> 33) % 100 >= 5
            });
            assert_eq!(inferred(&thinned), expected, "{spacing} s, 5 % missing");
        }
    }

    #[test]
    fn a_weekday_that_is_never_open_has_no_days_in_the_year() {
        for closed in 0..5 {
            let open: Vec<usize> = (0..5).filter(|day| *day != closed).collect();
            assert_eq!(inferred(&bars(&open, 0..1, 3600, 400)), Some(201.6), "without day {closed} of the week");
            assert_eq!(inferred(&bars(&open, 9..16, 3600, 400)), Some(201.6 * 7.0), "without day {closed} of the week");
        }
        // Holidays on the Fridays of a month.
        let fridays = |time: &i64| weekday(time / DAY) == 4 && time / DAY < of(2024, 1, 28);
        let days: Vec<i64> = bars(&ALL[..5], 0..1, 3600, 90).into_iter().filter(|time| !fridays(time)).collect();
        assert_eq!([25, 60, 90].map(|n| inferred(&days[..n.min(days.len())])), [Some(252.0); 3]);
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
        assert_eq!(inferred_periods_per_year(&vec!["2024-01-02".to_owned(), "2024-01-01".to_owned()].into()), None);
        assert_eq!(inferred_periods_per_year(&vec!["today".to_owned(), "tomorrow".to_owned()].into()), None);
    }
}
