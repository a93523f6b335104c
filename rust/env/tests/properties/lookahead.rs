//! Observations and decisions do not depend on later bars.

use std::sync::Arc;

use openoutcry::{Columns, Dataset, agents};
use proptest::prelude::*;

use crate::random_cases::env_until;
use crate::random_market::{Case, cases, config};

proptest! {
    #![proptest_config(config(300))]

    #[test]
    fn a_future_of_garbage_changes_no_observation_and_no_decision(case in cases(), at in any::<prop::sample::Index>(), other in any::<u64>()) {
        let last = case.start + at.index(case.n_bars - case.start);
        let garbage = Arc::new(Dataset::new(with_another_future(&case, last, other)).expect("a valid market"));
        let data = Arc::new(case.dataset());
        for name in agents::BASELINES {
            let known = record(&case, &data, name, case.n_bars, last);
            prop_assert_eq!(&record(&case, &garbage, name, case.n_bars, last), &known, "{} as of {}", name, last);
        }
    }

    #[test]
    fn the_end_of_the_data_changes_no_observation_and_no_decision(case in cases(), at in any::<prop::sample::Index>()) {
        if case.n_bars - case.start < 3 {
            return Ok(());
        }
        let last = case.start + 1 + at.index(case.n_bars - case.start - 2);
        let cut = Arc::new(Dataset::new(truncate(case.columns(), last + 1)).expect("a valid market"));
        let data = Arc::new(case.dataset());
        for name in agents::BASELINES {
            let known = record(&case, &data, name, case.n_bars, last);
            prop_assert_eq!(&record(&case, &cut, name, last + 1, last), &known, "{} as of {}", name, last);
        }
    }
}

/// Returns observations, decisions and returns of an agent up to bar `last`.
fn record(case: &Case, data: &Arc<Dataset>, agent: &str, end: usize, last: usize) -> Vec<(String, String, u64)> {
    let mut agent = agents::baseline(agent, 3).expect("a baseline");
    let mut env = env_until(case, data, end);
    let mut told = Vec::new();
    loop {
        let observation = env.observation();
        let decision = agent.decide(&observation);
        told.push((crate::random_cases::shown(&mut env), decision.to_json(), env.book().nav().to_bits()));
        if env.book().bar() == last || env.done() {
            return told;
        }
        env.step(&decision).expect("a step");
    }
}

/// Returns the columns with every row after `last` taken from another market.
///
/// Prices, actions, names and dates.
fn with_another_future(case: &Case, last: usize, seed: u64) -> Columns {
    let mut known = case.columns();
    let other = Case { seed, ..case.clone() }.columns();
    let cells = (last + 1) * case.n_symbols;
    let later = |known: &mut Vec<f64>, other: &[f64], scale: f64| {
        known.truncate(cells);
        known.extend(other[cells..].iter().map(|value| value * scale));
    };
    let optional = |known: &mut Option<Vec<f64>>, other: &Option<Vec<f64>>, scale: f64| {
        if let (Some(known), Some(other)) = (known, other) {
            later(known, other, scale);
        }
    };
    later(&mut known.close, &other.close, 16.0);
    optional(&mut known.open, &other.open, 16.0);
    optional(&mut known.volume, &other.volume, 0.5);
    optional(&mut known.dividends, &other.dividends, 1.0);
    for (known, other) in known.charges.iter_mut().zip(&other.charges) {
        // Another seed may leave out a column.
        let garbage = known.as_ref().map(|known| known.iter().rev().copied().collect());
        optional(known, &other.clone().or(garbage), 1.0);
    }
    optional(&mut known.splits, &other.splits, 1.0);
    optional(&mut known.delistings, &other.delistings, 1.0);
    if let (Some(known), Some(other)) = (&mut known.tradable, &other.tradable) {
        known.truncate(cells);
        known.extend_from_slice(&other[cells..]);
    }
    let mut dates = known.dates.texts(0..known.dates.len());
    let now = dates[last].clone();
    known.fundamentals.retain(|item| item.available_at <= now);
    known.fundamentals.extend(other.fundamentals.into_iter().filter(|item| item.available_at > now));
    known.news.retain(|item| item.available_at <= now);
    known.news.extend(other.news.into_iter().filter(|item| item.available_at > now));
    for date in &mut dates[last + 1..] {
        date.replace_range(..4, "2042");
    }
    known.dates = dates.into();
    rename_the_unlisted(&mut known, cells);
    make_valid(&mut known, last);
    known
}

/// Renames every symbol that has not closed in the first `cells` cells.
///
/// Its name is information about the future.
fn rename_the_unlisted(columns: &mut Columns, cells: usize) {
    let n_symbols = columns.symbols.len();
    for symbol in 0..n_symbols {
        if (symbol..cells).step_by(n_symbols).all(|cell| columns.close[cell].is_nan()) {
            columns.symbols[symbol] = format!("Z{symbol:02}");
        }
    }
}

/// Removes combinations of both halves that are invalid.
///
/// A close after a settlement, a second settlement, one before any close, and a dividend above the close before it.
fn make_valid(columns: &mut Columns, last: usize) {
    let n_symbols = columns.symbols.len();
    for symbol in 0..n_symbols {
        let (mut closed, mut settled) = (false, false);
        for cell in (symbol..columns.close.len()).step_by(n_symbols) {
            if settled {
                columns.close[cell] = f64::NAN;
            }
            if let Some(delistings) = &mut columns.delistings {
                if settled || !closed {
                    delistings[cell] = f64::NAN;
                }
                settled |= !delistings[cell].is_nan();
            }
            closed |= columns.close[cell].is_finite();
        }
        if let Some(dividends) = &mut columns.dividends {
            let cell = (last + 1) * n_symbols + symbol;
            if cell < dividends.len() && dividends[cell] >= columns.close[cell - n_symbols] {
                dividends[cell] = 0.0;
            }
        }
    }
}

/// Returns the first `n_bars` bars of the columns.
fn truncate(columns: Columns, n_bars: usize) -> Columns {
    let cells = n_bars * columns.symbols.len();
    let optional = |table: Option<Vec<f64>>| table.map(|table| table[..cells].to_vec());
    Columns {
        dates: columns.dates.part(0..n_bars),
        close: columns.close[..cells].to_vec(),
        open: optional(columns.open),
        volume: optional(columns.volume),
        dividends: optional(columns.dividends),
        splits: optional(columns.splits),
        delistings: optional(columns.delistings),
        charges: columns.charges.map(optional),
        tradable: columns.tradable.map(|table| table[..cells].to_vec()),
        ..columns
    }
}
