//! Names, units and column order of a market change no number.

use openoutcry_engine::{Book, Columns, Dataset, Detail, Workspace, step_once};
use proptest::prelude::*;

use crate::account_walk::{navs, rules, walk};
use crate::random_market::{Case, cases, config};

proptest! {
    #![proptest_config(config(600))]

    #[test]
    fn listing_the_symbols_in_another_order_changes_nav_by_rounding_only(
        (case, order) in cases().prop_flat_map(|case| {
            let symbols: Vec<usize> = (0..case.n_symbols).collect();
            (Just(case), Just(symbols).prop_shuffle())
        })
    ) {
        let listed = |values: &[f64]| -> Vec<f64> { order.iter().map(|i| values[*i]).collect() };
        let shuffled = Dataset::new(shuffle(case.columns(), &order)).expect("a valid market");
        let (plain, leverage) = navs(&case.dataset(), &rules(&case), case.start, |bar| case.orders(bar)).unwrap();
        let (other, _) = navs(&shuffled, &rules(&case), case.start, |bar| listed(&case.orders(bar))).unwrap();
        prop_assert_eq!(plain.len(), other.len());
        for (a, b) in plain.iter().zip(&other) {
            let largest = plain.iter().copied().fold(0.0, f64::max);
            prop_assert!((a - b).abs() <= 1e-12 * leverage * largest, "{a} {b}");
        }
    }

    #[test]
    fn prices_times_a_power_of_four_give_the_same_bits(case in cases(), scale in prop::sample::select(vec![1.0 / 256.0, 0.25, 4.0, 1024.0])) {
        let scaled = Dataset::new(rescale(case.columns(), scale)).expect("a valid market");
        let (plain, _) = navs(&case.dataset(), &rules(&case), case.start, |bar| case.orders(bar)).unwrap();
        let (other, _) = navs(&scaled, &rules(&case), case.start, |bar| case.orders(bar)).unwrap();
        let bits = |navs: &[f64]| navs.iter().map(|nav| nav.to_bits()).collect::<Vec<_>>();
        prop_assert_eq!(bits(&plain), bits(&other));
    }

    #[test]
    fn telling_less_changes_no_money(case in cases()) {
        let (data, rules) = (case.dataset(), rules(&case));
        for detail in [Detail::Money, Detail::RewardInputs] {
            let mut workspace = Workspace::new(case.n_symbols, detail);
            let mut book = Book::new(&data, case.start);
            walk(&case, |step| {
                let mut stepped = step_once(&data, &rules, &mut book, step.orders, &mut workspace).expect("a finite NAV");
                if detail == Detail::RewardInputs {
                    prop_assert!(stepped.interest.is_nan() && stepped.costs.by_kind().iter().all(|cost| cost.is_nan()));
                    (stepped.interest, stepped.costs) = (step.stepped.interest, step.stepped.costs);
                }
                prop_assert_eq!(stepped, step.stepped);
                prop_assert!(step.symbols().all(|i| book.shares(i).to_bits() == step.after.shares(i).to_bits()));
                let told: Vec<_> = step.events.iter().filter(|event| event.slug() != "filled").copied().collect();
                prop_assert_eq!(workspace.events(), &told[..]);
                Ok(())
            })?;
        }
    }

    #[test]
    fn the_last_close_shown_is_the_mark(case in cases(), lookback in 1..8_usize) {
        let data = case.dataset();
        walk(&case, |step| {
            let as_of = data.as_of(step.bar);
            for i in step.symbols().filter(|i| as_of.is_listed(*i)) {
                let mut history = vec![0.0; as_of.history_len(i, lookback)];
                as_of.close_history(i, &mut history);
                let (shown, mark) = (history[history.len() - 1], step.after.mark(i));
                prop_assert_eq!(shown.to_bits(), mark.to_bits(), "shown {}, mark {}", shown, mark);
                prop_assert_eq!(Book::new(&data, step.bar).mark(i).to_bits(), mark.to_bits());
            }
            Ok(())
        })?;
    }

    #[test]
    fn the_rows_before_the_window_only_set_the_marks(case in cases()) {
        let data = case.dataset();
        let mut columns = case.columns();
        // The market begins with the window: the mark of each symbol there is its close.
        let book = Book::new(&data, case.start);
        for i in 0..case.n_symbols {
            let as_of = data.as_of(case.start);
            columns.close[case.start * case.n_symbols + i] = if as_of.is_listed(i) && as_of.closes(i) { book.mark(i) } else { return Ok(()) };
        }
        let cut = Dataset::new(skip(columns, case.start)).expect("a valid market");
        let later = Case { costs: openoutcry_engine::CostModel { slippage_jitter: 0.0, ..case.costs }, ..case.clone() };
        let (plain, _) = navs(&data, &rules(&later), case.start, |bar| case.orders(bar)).unwrap();
        let (other, _) = navs(&cut, &rules(&later), 0, |bar| case.orders(bar + case.start)).unwrap();
        prop_assert_eq!(plain, other);
    }
}

/// Returns the columns with symbol `order[i]` at index i.
fn shuffle(columns: Columns, order: &[usize]) -> Columns {
    fn rows<T: Copy>(table: &[T], order: &[usize]) -> Vec<T> {
        table.chunks_exact(order.len()).flat_map(|row| order.iter().map(|i| row[*i])).collect()
    }
    let optional = |table: Option<Vec<f64>>| table.map(|table| rows(&table, order));
    Columns {
        symbols: order.iter().map(|i| columns.symbols[*i].clone()).collect(),
        close: rows(&columns.close, order),
        open: optional(columns.open),
        volume: optional(columns.volume),
        dividends: optional(columns.dividends),
        splits: optional(columns.splits),
        delistings: optional(columns.delistings),
        charges: columns.charges.map(optional),
        tradable: columns.tradable.map(|table| rows(&table, order)),
        fundamentals: Vec::new(),
        news: Vec::new(),
        features: Vec::new(),
        ..columns
    }
}

fn rescale(columns: Columns, scale: f64) -> Columns {
    let times = |table: Vec<f64>, scale: f64| table.into_iter().map(|value| value * scale).collect::<Vec<_>>();
    Columns {
        close: times(columns.close, scale),
        open: columns.open.map(|table| times(table, scale)),
        dividends: columns.dividends.map(|table| times(table, scale)),
        volume: columns.volume.map(|table| times(table, 1.0 / scale)),
        ..columns
    }
}

/// Returns the columns without their first `n` bars.
fn skip(columns: Columns, n: usize) -> Columns {
    let cells = n * columns.symbols.len();
    let optional = |table: Option<Vec<f64>>| table.map(|table| table[cells..].to_vec());
    Columns {
        dates: columns.dates.part(n..columns.dates.len()),
        close: columns.close[cells..].to_vec(),
        open: optional(columns.open),
        volume: optional(columns.volume),
        dividends: optional(columns.dividends),
        splits: optional(columns.splits),
        delistings: optional(columns.delistings),
        charges: columns.charges.map(optional),
        tradable: columns.tradable.map(|table| table[cells..].to_vec()),
        fundamentals: Vec::new(),
        news: Vec::new(),
        features: Vec::new(),
        ..columns
    }
}

#[test]
fn two_splits_in_one_halt_leave_the_last_close_shown_at_the_mark() {
    let close = [10.0, f64::NAN, f64::NAN, f64::NAN];
    for splits in [[1.0, 3.0, 7.0, 1.0], [1.0, 1.5, 0.1, 3.0], [1.0, 7.0, 1.0, 10.0]] {
        let columns = Columns {
            dates: (0..4).map(crate::random_market::date).collect(),
            symbols: vec!["A".into()],
            close: close.to_vec(),
            splits: Some(splits.to_vec()),
            periods_per_year: 252.0,
            ..Columns::default()
        };
        let data = Dataset::new(columns).unwrap();
        let mut history = [0.0; 4];
        data.as_of(3).close_history(0, &mut history);
        assert_eq!(history[3], Book::new(&data, 3).mark(0), "{splits:?}");
    }
}
