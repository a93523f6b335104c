//! The notice of dates that have fewer bars than their number of bars per year.
//!
//! Annual numbers count bars as time: of prices with 30 % of the bars missing, a year is 1.4 years long.

use crate::market::date::instant;

const DAY: f64 = 86_400.0;
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

/// Returns the notice of ascending dates with less than 90 % of their bars.
///
/// Holidays of an exchange are no missing bars, and short dates show none.
pub(crate) fn missing_notice(dates: &[String], periods_per_year: f64, is_stated: bool) -> Option<String> {
    if dates.len() < 3 {
        return None;
    }
    let shown: Option<Vec<i64>> = dates.iter().take(SHOWN).map(|date| instant(date)).collect();
    let mut gaps: Vec<i64> = shown?.windows(2).map(|pair| pair[1] - pair[0]).collect();
    gaps.sort_unstable();
    let middle = gaps.len() / 2;
    let spacing = (gaps[middle] + gaps[(gaps.len() - 1) / 2]) as f64 / 2.0;
    let span = (instant(&dates[dates.len() - 1])? - instant(&dates[0])?) as f64;
    let closed = if spacing * periods_per_year < ALWAYS_OPEN * YEAR { HOLIDAYS } else { 0.0 };
    let (expected, n_bars) = ((span - closed) * periods_per_year / YEAR, (dates.len() - 1) as f64);
    if expected < LEAST || n_bars >= FULL * expected {
        return None;
    }
    let held = n_bars * YEAR / span;
    let shown = if held < 100.0 { format!("{held:.1}") } else { format!("{held:.0}") };
    let source = if is_stated { "as stated" } else { "by their spacing" };
    let share = 100.0 * (1.0 - held / periods_per_year);
    Some(format!(
        "{periods_per_year} bars per year {source}; the dates hold {shown}: {share:.0}% of the bars are missing, so annual numbers count only the bars there"
    ))
}
