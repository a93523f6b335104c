//! Stretches of holds give the bits of single steps.
//!
//! A run goes through them in a loop of its own and need not store them.

use openoutcry::{Limits, OrderTable, Run, Totals};
use openoutcry_engine::{Book, Detail, Workspace, step_once};
use proptest::prelude::*;

use crate::random_cases::{backtest, window};
use crate::random_market::{Case, Features, cases, config};

/// Returns the case over more bars, with one to nine symbols.
///
/// `Kind::Gaps` keeps its missing prices. In the others every symbol has a price on every bar.
fn longer(case: &Case, n_bars: usize, kind: Kind) -> Case {
    let (n_bars, n_symbols) = (case.start + n_bars, 1 + case.n_symbols % 9);
    let mut case = Case { n_bars, n_symbols, ..case.clone() };
    let whole = Features { opens: case.has.opens, dividends: kind == Kind::Dividends, ..Features::default() };
    match kind {
        Kind::Gaps => return case,
        Kind::Levered => {
            case.limits = Limits { max_weight: 5.0, max_gross: 5.0, maintenance_margin: 0.2, ..Limits::default() };
            case.reach = 5.0;
        }
        Kind::Dividends | Kind::Plain => {}
    }
    Case { has: whole, ..case }
}

/// What a market and its rules have.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Plain,
    Dividends,
    Levered,
    Gaps,
}

fn kinds() -> impl Strategy<Value = Kind> {
    prop::sample::select(vec![Kind::Plain, Kind::Dividends, Kind::Levered, Kind::Gaps])
}

/// Returns the rows of a case with orders every `every` bars and holds between.
fn rows_of(case: &Case, every: usize) -> Vec<f64> {
    let row = |bar: usize| {
        let is_hold = (bar - case.start) % every >= (every / 20).max(1);
        if is_hold { vec![f64::NAN; case.n_symbols] } else { case.orders(bar) }
    };
    (case.start..case.n_bars - 1).flat_map(row).collect()
}

fn bits(values: &[f64]) -> Vec<u64> {
    values.iter().map(|value| value.to_bits()).collect()
}

fn same(left: &Run, right: &Run) -> bool {
    bits(&left.nav) == bits(&right.nav)
        && bits(&left.orders.to_vec()) == bits(&right.orders.to_vec())
        && left.events == right.events
        && left.terminated_at == right.terminated_at
}

proptest! {
    #![proptest_config(config(80))]

    #[test]
    fn stretches_of_holds_give_the_bits_of_single_steps(
        case in cases(), n_bars in 20_usize..300, every in 9_usize..80, kind in kinds(),
    ) {
        let case = longer(&case, n_bars, kind);
        let (data, rows) = (case.dataset(), rows_of(&case, every));
        let of = backtest(&case, &data);
        let run = of.run_orders(rows.clone()).unwrap();
        let sparse = of.run_table(OrderTable::copy(&rows, case.n_symbols)).unwrap();
        prop_assert!(same(&run, &sparse));
        let tables = vec![OrderTable::copy(&rows, case.n_symbols); 9];
        for one_of_nine in of.run_tables(tables) {
            let one_of_nine = one_of_nine.unwrap();
            prop_assert!(same(&run, &one_of_nine));
            prop_assert_eq!(one_of_nine.totals(&data).unwrap(), run.totals(&data).unwrap());
        }
        prop_assert_eq!(sparse.totals(&data).unwrap(), run.totals(&data).unwrap());

        let mut book = Book::new(&data, case.start);
        let mut workspace = Workspace::new(case.n_symbols, Detail::Money);
        let (mut totals, weights) = (Totals::default(), run.weights(&data).unwrap());
        for (k, row) in rows.chunks_exact(case.n_symbols).enumerate() {
            let stepped = step_once(&data, run.rules(), &mut book, row, &mut workspace).unwrap();
            prop_assert_eq!(run.nav[k + 1].to_bits(), stepped.nav.to_bits(), "decision {}", k);
            totals.add(run.nav[k], stepped.turnover, &stepped.costs, book.exposure());
            let held: Vec<f64> = (0..case.n_symbols).map(|symbol| book.weight(symbol)).collect();
            prop_assert_eq!(bits(&weights[(k + 1) * case.n_symbols..][..case.n_symbols]), bits(&held));
            if stepped.terminated {
                prop_assert_eq!(run.terminated_at, Some(k));
                break;
            }
        }
        prop_assert_eq!(run.totals(&data).unwrap(), totals);
        prop_assert_eq!(window(&case).n_decisions() * case.n_symbols, run.orders.n_weights());
    }
}
