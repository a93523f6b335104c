//! Days that a run spans, at any frequency of its returns.

use std::collections::BTreeSet;

use openoutcry_contract::SubmittedRun;

/// Trading days of a year.
const SESSIONS: f64 = 252.0;
/// Bars per year of daily calendars: each return is a day.
const DAILY: std::ops::RangeInclusive<f64> = 200.0..=366.0;
/// Length of an ISO 8601 date without a time.
const DATE: usize = 10;

/// Returns the number of days that a run spans.
///
/// A daily return is a day. Intraday returns are counted by their dates, if known. Otherwise a year is 252 days.
pub(super) fn days_of(run: &SubmittedRun) -> usize {
    let n_returns = run.returns.len();
    if DAILY.contains(&run.periods_per_year) {
        return n_returns;
    }
    if run.periods_per_year > *DAILY.end() && !run.dates.is_empty() {
        // The first bar of a window has no return.
        let skipped = run.dates.len().saturating_sub(n_returns);
        return run.dates[skipped..].iter().map(|date| date.get(..DATE)).collect::<BTreeSet<_>>().len();
    }
    #[expect(clippy::cast_sign_loss, reason = "a count over a number above 0")]
    let days = (n_returns as f64 * SESSIONS / run.periods_per_year).floor() as usize;
    days
}
