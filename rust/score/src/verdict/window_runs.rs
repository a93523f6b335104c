//! The runs of an agent, by window and seed.

use std::collections::BTreeMap;

use openoutcry_contract::record::Fill;
use openoutcry_contract::{Submission, SubmittedRun, counted};

use super::elapsed_days::days_of;
use super::{ScoreError, WindowKey};

/// The sorted runs of an agent.
#[derive(Clone, Debug)]
pub(super) struct Tracks<'a> {
    /// Sorted by market and time.
    pub windows: Vec<WindowRuns<'a>>,
    /// Bars per year; for different markets, weighted by returns.
    pub periods_per_year: f64,
    /// Every run, sorted by market, time and fill key.
    every: Vec<&'a SubmittedRun>,
    /// Fill keys of each window, as text.
    fills: Vec<String>,
}

/// The runs of one window, in the order of their fill keys.
///
/// Without the runs of seeds that change nothing in any window.
#[derive(Clone, Debug)]
pub(super) struct WindowRuns<'a> {
    pub key: WindowKey,
    pub runs: Vec<&'a SubmittedRun>,
}

impl WindowRuns<'_> {
    pub(super) fn n_days(&self) -> usize {
        days_of(std::iter::once(self.runs[0]))
    }
}

/// Returns a fill key as text: its seed, or the digits of its commitment.
pub(super) fn fill_text(fill: Fill) -> String {
    match fill {
        Fill::Seed(seed) => seed.to_string(),
        Fill::Commitment(digest) => digest.to_string(),
    }
}

pub(super) fn key_of(run: &SubmittedRun) -> WindowKey {
    WindowKey { dataset: run.dataset, start: run.window.start, end: run.window.end }
}

impl<'a> Tracks<'a> {
    /// Returns the selected runs of a submission, by market, window and fill key.
    ///
    /// # Errors
    ///
    /// Returns an error for invalid runs, for overlapping windows or windows out of order, for a window run twice with
    /// one key, or with other keys than another window.
    pub(super) fn new(submission: &'a Submission, is_in: impl Fn(&SubmittedRun) -> bool) -> Result<Self, ScoreError> {
        let refuse = |problem: String| ScoreError::Submission { agent: submission.agent_id.clone(), problem };
        if submission.runs.is_empty() {
            return Err(refuse("no run".to_owned()));
        }
        let mut windows: BTreeMap<WindowKey, BTreeMap<String, &SubmittedRun>> = BTreeMap::new();
        let mut last: BTreeMap<_, usize> = BTreeMap::new();
        for (index, run) in submission.runs.iter().enumerate().filter(|(_, run)| is_in(run)) {
            check(run).map_err(|problem| refuse(format!("{problem} in run {index}")))?;
            let (key, fill) = (key_of(run), fill_text(run.fill));
            if last.insert((key.dataset, fill.clone()), key.start).is_some_and(|before| before > key.start) {
                return Err(refuse(format!("run {index} earlier than a previous run")));
            }
            if windows.entry(key).or_default().insert(fill, run).is_some() {
                return Err(refuse(format!("run {index} with the window and fill key of a previous run")));
            }
        }
        let keys: Vec<WindowKey> = windows.keys().copied().collect();
        let overlap =
            keys.windows(2).find(|pair| pair[0].dataset == pair[1].dataset && pair[1].start + 1 < pair[0].end);
        if let Some([a, b]) = overlap {
            return Err(refuse(format!("overlapping windows {}:{} and {}:{}", a.start, a.end, b.start, b.end)));
        }
        let mut fills = windows.values().map(|runs| runs.keys().collect::<Vec<_>>());
        let first = fills.next();
        if fills.any(|others| Some(others) != first) {
            return Err(refuse("windows with different fill keys".to_owned()));
        }
        let fills = first.map(|keys| keys.into_iter().cloned().collect()).unwrap_or_default();
        let of_window =
            |(key, runs): (WindowKey, BTreeMap<_, _>)| WindowRuns { key, runs: runs.into_values().collect() };
        let mut windows: Vec<WindowRuns<'_>> = windows.into_iter().map(of_window).collect();
        let every = windows.iter().flat_map(|window| window.runs.iter().copied()).collect();
        drop_repeats(&mut windows);
        let periods_per_year = bars_a_year(&windows);
        Ok(Self { windows, periods_per_year, every, fills })
    }

    /// Returns the number of returns of each window.
    pub(super) fn lengths(&self) -> Vec<usize> {
        self.windows.iter().map(|window| window.key.n_returns()).collect()
    }

    pub(super) fn n_returns(&self) -> usize {
        self.lengths().iter().sum()
    }

    /// Returns the days that the windows span; see [`days_of`].
    pub(super) fn n_days(&self) -> usize {
        let markets = self.windows.chunk_by(|a, b| a.key.dataset == b.key.dataset);
        markets.map(|windows| days_of(windows.iter().map(|window| window.runs[0]))).sum()
    }

    /// Returns the number of distinct seeds.
    pub(super) fn n_seeds(&self) -> usize {
        self.windows[0].runs.len()
    }

    /// Returns every run, including repeats under other seeds.
    pub(super) fn runs(&self) -> impl Iterator<Item = &'a SubmittedRun> + use<'_, 'a> {
        self.every.iter().copied()
    }

    /// Returns the keys of the windows.
    pub(super) fn keys(&self) -> Vec<WindowKey> {
        self.windows.iter().map(|window| window.key).collect()
    }

    /// Returns the fill keys as text, including those that change nothing.
    pub(super) fn fills(&self) -> &[String] {
        &self.fills
    }

    /// Returns a series of one seed over all windows, or the mean over all seeds.
    ///
    /// `None` if a run lacks it.
    pub(super) fn series(
        &self,
        seed: Option<usize>,
        of: impl Fn(&SubmittedRun) -> Option<Vec<f64>>,
    ) -> Option<Vec<f64>> {
        let mut joined = Vec::with_capacity(self.n_returns());
        for window in &self.windows {
            let runs = match seed {
                Some(seed) => &window.runs[seed..=seed],
                None => &window.runs[..],
            };
            let mut each = runs.iter().map(|run| of(run));
            let mut sum = each.next()??;
            for series in each {
                sum.iter_mut().zip(series?).for_each(|(sum, value)| *sum += value);
            }
            joined.extend(sum.into_iter().map(|sum| sum / runs.len() as f64));
        }
        Some(joined)
    }

    /// Returns the returns of one seed, or the mean over all seeds.
    pub(super) fn returns(&self, seed: Option<usize>) -> Vec<f64> {
        self.series(seed, |run| Some(run.returns.clone())).unwrap_or_default()
    }
}

/// Drops each seed whose returns equal those of an earlier one in every window.
///
/// Without noise a run is the same under any seed, and a repeat has no information.
fn drop_repeats(windows: &mut [WindowRuns<'_>]) {
    let n_seeds = windows[0].runs.len();
    let same = |a: usize, b: usize| windows.iter().all(|window| window.runs[a].returns == window.runs[b].returns);
    let is_first: Vec<bool> = (0..n_seeds).map(|seed| !(0..seed).any(|earlier| same(earlier, seed))).collect();
    for window in windows {
        let mut seeds = is_first.iter();
        window.runs.retain(|_| seeds.next() == Some(&true));
    }
}

/// Returns the bars per year of all windows: their returns over their years.
fn bars_a_year(windows: &[WindowRuns<'_>]) -> f64 {
    let first = windows[0].runs[0].periods_per_year;
    if windows.iter().all(|window| window.runs[0].periods_per_year == first) {
        return first;
    }
    let returns = |window: &WindowRuns<'_>| window.key.n_returns() as f64;
    let years: f64 = windows.iter().map(|window| returns(window) / window.runs[0].periods_per_year).sum();
    windows.iter().map(returns).sum::<f64>() / years
}

/// Returns the fault of a run, if any.
fn check(run: &SubmittedRun) -> Result<(), String> {
    let n = key_of(run).n_returns();
    if run.returns.len() != n || n == 0 {
        return Err(format!(
            "{} in window {}:{}",
            counted(run.returns.len(), "return"),
            run.window.start,
            run.window.end
        ));
    }
    if run.periods_per_year.is_nan() {
        let hint = "hint: load the market with `periods_per_year`";
        return Err(format!("a market without a known number of bars per year; {hint}"));
    }
    if !(run.periods_per_year.is_finite() && run.periods_per_year > 0.0) {
        return Err(format!("{} bars per year", run.periods_per_year));
    }
    let benchmarks =
        run.benchmarks.iter().flat_map(|each| [&each.buy_and_hold, &each.cash].into_iter().chain(&each.passive));
    let delayed = run.trace.iter().map(|trace| &trace.delayed);
    for series in benchmarks.chain(delayed).chain(&run.risk_free).chain([&run.returns]) {
        if series.len() != n {
            return Err(format!("a series of {} for {}", counted(series.len(), "value"), counted(n, "return")));
        }
        if let Some(day) = series.iter().position(|value| !value.is_finite()) {
            return Err(format!("{} on day {day}", series[day]));
        }
    }
    if let Some(day) = run.returns.iter().position(|r| *r < -1.0) {
        return Err(format!("a return of {} below -1 on day {day}", run.returns[day]));
    }
    let Some(trace) = &run.trace else { return Ok(()) };
    let costs = trace.paid.iter().map(Vec::len);
    let lengths = [trace.nav.len().wrapping_sub(1), trace.turnover.len(), trace.gross.len(), trace.net.len()];
    match lengths.into_iter().chain(costs).find(|length| *length != n) {
        Some(length) => Err(format!("a trace of {} for {}", counted(length, "value"), counted(n, "return"))),
        None => Ok(()),
    }
}
