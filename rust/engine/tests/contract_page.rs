//! The numbers in `contract/README.md`, computed by the engine.

use openoutcry_engine::{
    Book, Columns, CostModel, Dataset, Detail, Event, FillKey, Limits, Rules, Workspace, lane_sums, step_once,
};

const PAGE: &str = include_str!("../../../contract/README.md");

#[test]
fn the_fill_hash_of_the_page() {
    let u = FillKey::from_seed(7).uniform(20, "AAA");
    assert!(PAGE.contains(&format!("For seed 7, bar 20, symbol `AAA`: u = {u}.")), "{u}");
}

#[test]
fn the_worked_example_of_the_page() {
    let columns = Columns {
        dates: vec!["2024-01-02".to_owned(), "2024-01-03".to_owned()].into(),
        symbols: vec!["AAA".into()],
        close: vec![100.0, 102.0],
        open: Some(vec![100.0, 101.0]),
        periods_per_year: 252.0,
        ..Columns::default()
    };
    let data = Dataset::new(columns).unwrap();
    let costs = CostModel { fee_bps: 10.0, slippage_bps: 5.0, ..CostModel::zero() };
    let rules = Rules::new(costs, Limits::default(), FillKey::from_seed(0)).unwrap();
    let (mut book, mut workspace) = (Book::new(&data, 0), Workspace::new(1, Detail::Full));
    let stepped = step_once(&data, &rules, &mut book, &[0.5], &mut workspace).unwrap();
    let Event::Filled { shares, price, .. } = workspace.events()[0] else { panic!("{:?}", workspace.events()) };
    for value in [shares, price, stepped.costs.fee, book.cash(), stepped.nav, stepped.reward] {
        // The page rounds to twelve decimals.
        let rounded = format!("{value:.12}");
        assert!(PAGE.contains(&format!("= {}", rounded.trim_end_matches('0'))), "{rounded} is not on the page");
    }
}

#[test]
fn a_sum_over_symbols_runs_in_the_eight_lanes_of_the_page() {
    // Lane 0 holds 1e16 - 1e16 = 0 before lane 4 adds its 1; from left to right 1e16 + 1 would round to 1e16.
    assert_eq!(lane_sums::sum([1e16, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, -1e16]), 1.0);
    // ((0 + 4) + (2 + 6)) + ((1 + 5) + (3 + 7)): 2^53 absorbs a single 1, but not the sum of lanes 1 and 3.
    let large = 9_007_199_254_740_992.0;
    assert_eq!(lane_sums::sum([large, 1.0, 0.0, 1.0]), large + 2.0);
    assert_eq!(lane_sums::sum([large, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0]), large + 2.0);
    assert_eq!(lane_sums::sum([large, 0.0, 0.0, 0.0, 1.0]), large);
}

#[test]
fn the_defaults_that_the_page_states_are_those_of_the_engine() {
    let limits = Limits::default();
    assert_eq!((limits.max_weight, limits.max_gross, limits.allow_short), (1.0, 1.0, true));
    assert_eq!((limits.max_participation, limits.maintenance_margin), (None, 0.0));
    let (zero, default) = (CostModel::zero(), CostModel::default());
    assert_eq!((zero.capital, default.capital, default.slippage_jitter), (1e6, 1e6, 0.0));
    let rates = [zero.fee_bps, zero.slippage_bps, zero.slippage_jitter, zero.impact_bps];
    assert_eq!((rates, [zero.financing_bps, zero.cash_bps, zero.borrow_bps]), ([0.0; 4], [0.0; 3]));
}
