//! Days that a run spans, at any frequency of its returns.

use std::collections::BTreeSet;

use openoutcry_contract::SubmittedRun;

/// Trading days of a year.
const SESSIONS: f64 = 252.0;
/// Bars per year of daily calendars: each return is a day.
const DAILY: std::ops::RangeInclusive<f64> = 200.0..=366.0;
/// Length of an ISO 8601 date without a time.
const DATE: usize = 10;

/// Returns the number of days that runs on one market span.
///
/// A daily return is a day. Intraday returns are counted by their dates, if known: a date of several runs counts once.
/// Otherwise a year is 252 days.
pub(super) fn days_of<'a>(runs: impl Iterator<Item = &'a SubmittedRun>) -> usize {
    let (mut n_daily, mut years, mut dates) = (0, 0.0, BTreeSet::new());
    for run in runs {
        let n_returns = run.returns.len();
        if DAILY.contains(&run.periods_per_year) {
            n_daily += n_returns;
        } else if run.periods_per_year > *DAILY.end() && !run.dates.is_empty() {
            // The first bar of a window has no return.
            let skipped = run.dates.len().saturating_sub(n_returns);
            dates.extend(run.dates[skipped..].iter().map(|date| date.get(..DATE)));
        } else {
            years += n_returns as f64 / run.periods_per_year;
        }
    }
    // Without the error of the sum: twelve months are a year.
    #[expect(clippy::cast_sign_loss, reason = "a sum of numbers above 0")]
    let others = (years * SESSIONS + 1e-9).floor() as usize;
    n_daily + dates.len() + others
}
