//! Stretches of holds give the bits of single steps.
//!
//! A run goes through them in a loop of its own and need not store them.

use openoutcry::{Backtest, CostModel, Dataset, FillKey, Limits, OrderTable, Run, TableBlocks, Totals, Window};
use openoutcry_engine::{Book, Detail, Rules, Workspace, step_once};
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
        let late = |by: usize| {
            let mut rows = rows.clone();
            let n_late = by * case.n_symbols % rows.len();
            rows.rotate_right(n_late);
            OrderTable::new(rows, case.n_symbols)
        };
        for (by, one_of_eight) in of.run_tables((0..8).map(late).collect()).into_iter().enumerate() {
            prop_assert!(same(&of.run_table(late(by)).unwrap(), &one_of_eight.unwrap()), "late by {}", by);
        }

        let mut book = Book::new(&data, case.start);
        let mut workspace = Workspace::new(case.n_symbols, Detail::Money);
        let (mut totals, weights) = (Totals::default(), run.weights(&data).unwrap());
        let flows = run.flows(&data).unwrap();
        for (k, row) in rows.chunks_exact(case.n_symbols).enumerate() {
            let stepped = step_once(&data, run.rules(), &mut book, row, &mut workspace).unwrap();
            prop_assert_eq!(run.nav[k + 1].to_bits(), stepped.nav.to_bits(), "decision {}", k);
            totals.add(run.nav[k], stepped.turnover, &stepped.costs, book.exposure());
            let (paid, received): (Vec<f64>, f64) =
                (flows.costs.iter().map(|column| column[k]).collect(), flows.gains[0][k]);
            prop_assert_eq!(bits(&paid), bits(&stepped.costs.by_kind()));
            prop_assert_eq!(bits(&[received, flows.turnover[k]]), bits(&[stepped.interest, stepped.turnover]));
            let held: Vec<f64> = (0..case.n_symbols).map(|symbol| book.weight(symbol)).collect();
            prop_assert_eq!(bits(&weights[(k + 1) * case.n_symbols..][..case.n_symbols]), bits(&held));
            if stepped.terminated {
                prop_assert_eq!(run.terminated_at, Some(k));
                break;
            }
        }
        prop_assert_eq!(run.totals(&data).unwrap(), totals);
        let (held, fills) = sparse.positions(&data).unwrap();
        prop_assert_eq!(bits(&held), bits(&weights));
        prop_assert_eq!(fills, run.fills(&data).unwrap());
        prop_assert_eq!(sparse.flows(&data).unwrap(), flows);
        prop_assert_eq!(window(&case).n_decisions() * case.n_symbols, run.orders.n_weights());
    }
}

#[test]
fn a_hold_changes_no_average_price() {
    let data = Dataset::synthetic(3, 60, 4).unwrap();
    let rules = Rules::new(CostModel::default(), Limits::default(), FillKey::from_seed(0)).unwrap();
    let (mut book, mut workspace) = (Book::new(&data, 0), Workspace::new(3, Detail::Full));
    step_once(&data, &rules, &mut book, &[0.3, 0.2, 0.0], &mut workspace).unwrap();
    let bought: Vec<f64> = (0..3).map(|symbol| book.avg_price(symbol)).collect();
    assert!(bought[0] > 0.0 && bought[2] == 0.0);
    for _ in 0..20 {
        step_once(&data, &rules, &mut book, &[f64::NAN; 3], &mut workspace).unwrap();
        assert_eq!((0..3).map(|symbol| book.avg_price(symbol)).collect::<Vec<_>>(), bought);
        assert_eq!(workspace.events(), []);
    }
    step_once(&data, &rules, &mut book, &[0.6, 0.2, 0.0], &mut workspace).unwrap();
    assert!(book.avg_price(0) > 0.0 && book.avg_price(0) != bought[0]);
}

#[test]
fn rows_that_are_refused_leave_every_account_of_a_block_as_it_was() {
    let data = Dataset::synthetic(2, 40, 3).unwrap();
    let of = Backtest::new(&data, Window { start: 0, end: 40 }, 0, CostModel::default()).unwrap();
    let rows = |weight: f64| vec![weight; 2 * 13];
    let navs = |runs: &TableBlocks<'_>| runs.navs().map(bits).collect::<Vec<_>>();
    for faulty in [rows(f64::INFINITY), vec![0.1; 2 * 12]] {
        let (mut blocks, mut untouched) = (of.table_blocks(2), of.table_blocks(2));
        for runs in [&mut blocks, &mut untouched] {
            runs.advance(vec![rows(0.2), rows(0.3)]).unwrap();
        }
        blocks.advance(vec![rows(0.1), faulty]).unwrap_err();
        assert_eq!(navs(&blocks), navs(&untouched));
        for runs in [&mut blocks, &mut untouched] {
            runs.advance(vec![rows(f64::NAN), rows(0.4)]).unwrap();
        }
        assert_eq!(navs(&blocks), navs(&untouched));
    }
}
