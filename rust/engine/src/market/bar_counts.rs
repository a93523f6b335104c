//! Notices of dates that hold fewer or more bars than their bars per year.
//!
//! Annual numbers count bars as time: of prices with 30 % of the bars missing, a year is 1.4 years long.

use crate::market::dates::Dates;
use crate::market::shown_numbers::significant;

const DAY: f64 = 86_400.0;
const WEEK: i64 = 7 * 86_400;
const YEAR: f64 = 365.25 * DAY;
const FULL: f64 = 0.9;
/// Fewer bars than this show no rate.
const LEAST: f64 = 10.0;
/// A calendar with bars in less than this part of the year has holidays.
const ALWAYS_OPEN: f64 = 0.95;
/// Longest holidays of an exchange: the lunar new year, with its weekends.
const HOLIDAYS: f64 = 12.0 * DAY;
/// Bars that show the spacing.
const SHOWN: usize = 1_000;
/// Weeks in which bars are counted, for more of them than the number.
const WEEKS: std::ops::RangeInclusive<i64> = 8..=52;
/// Weekdays without a holiday are 1.035 times the trading days of a year.
const MORE: f64 = 1.1;
/// A month or quarter of sparse bars can begin within another window.
const EDGE: f64 = 1.5;

/// Returns notices of ascending ISO 8601 dates that hold fewer or more bars.
///
/// Fewer are less than 90 % of the number: holidays of an exchange are no missing bars, and short dates show none. More
/// are above 110 % of it in some year.
#[must_use]
pub fn bar_count_notices(dates: &Dates, periods_per_year: f64, is_stated: bool) -> Vec<String> {
    let Some(times) = dates.times().filter(|times| times.len() >= 3) else { return Vec::new() };
    let source = if is_stated { "as stated" } else { "by their spacing" };
    let number = format!("{} bars per year {source}", significant(periods_per_year, 6));
    let fewer = missing(&times, periods_per_year).map(|held| {
        let share = 100.0 * (1.0 - held / periods_per_year);
        let held = shown(held);
        format!("{number}; the dates hold {held}: {share:.0}% of the bars are missing, so annual numbers count only the bars there")
    });
    let more = fullest(&times, periods_per_year).map(|(start, held)| {
        let (date, years) = (dates.get(start), held / periods_per_year);
        let hint = "hint: choose the bars of one calendar with `axis`, or state `periods_per_year`";
        let held = shown(held);
        format!("{number}; from {date} on, a year holds {held}: annual numbers take it for {years:.2} years; {hint}")
    });
    fewer.into_iter().chain(more).collect()
}

fn shown(held: f64) -> String {
    if held < 100.0 { format!("{held:.1}") } else { format!("{held:.0}") }
}

/// Returns the bars that a year of the dates holds, if many are missing.
fn missing(times: &[i64], periods_per_year: f64) -> Option<f64> {
    let mut gaps: Vec<i64> = times.windows(2).take(SHOWN - 1).map(|pair| pair[1] - pair[0]).collect();
    gaps.sort_unstable();
    let middle = gaps.len() / 2;
    let spacing = (gaps[middle] + gaps[(gaps.len() - 1) / 2]) as f64 / 2.0;
    let span = (times[times.len() - 1] - times[0]) as f64;
    let closed = if spacing * periods_per_year < ALWAYS_OPEN * YEAR { HOLIDAYS } else { 0.0 };
    let (expected, n_bars) = ((span - closed) * periods_per_year / YEAR, (times.len() - 1) as f64);
    (expected >= LEAST && n_bars < FULL * expected).then_some(n_bars * YEAR / span)
}

/// Returns the first bar of the fullest year, and its bars per year.
///
/// `None` if they are not many. A year is 52 weeks, so that each day of the week counts; shorter dates have fewer.
fn fullest(times: &[i64], periods_per_year: f64) -> Option<(usize, f64)> {
    let last = times[times.len() - 1];
    let weeks = ((last - times[0]) / WEEK).min(*WEEKS.end());
    let window = weeks * WEEK;
    let (mut end, mut most) = (0, (0, 0));
    for (start, time) in times.iter().enumerate().take_while(|(_, time)| **time + window <= last) {
        while end < times.len() && times[end] <= time + window {
            end += 1;
        }
        if end - start - 1 > most.1 {
            most = (start, end - start - 1);
        }
    }
    let years = window as f64 / YEAR;
    let (start, n_bars) = (most.0, most.1 as f64);
    let expected = periods_per_year * years;
    let are_many = n_bars > MORE * expected && n_bars > expected + EDGE;
    (WEEKS.contains(&weeks) && are_many).then_some((start, n_bars / years))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weekdays_without_holidays_hold_their_bars() {
        for n_bars in [3, 40, 41, 59, 261, 262, 600] {
            assert_eq!(bar_count_notices(&Dates::weekdays(n_bars), 252.0, false), Vec::<String>::new());
        }
        assert!(
            bar_count_notices(&Dates::weekdays(600), 200.0, true)[0]
                .contains("as stated; from 2000-01-03 on, a year holds 261: ")
        );
        assert!(
            bar_count_notices(&Dates::weekdays(600), 365.0, true)[0]
                .contains("the dates hold 261: 28% of the bars are missing")
        );
    }
}
