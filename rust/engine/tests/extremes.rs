//! Markets at the limits of the contract: every step is valid or refused.

use openoutcry_engine::{
    Book, Columns, CostModel, Dataset, Detail, Event, FillKey, Limits, MAX_ABS_WEIGHT, RefusalReason, Rules,
    UnfilledReason, Workspace, step_once,
};

fn date(bar: usize) -> String {
    format!("{:04}-01-01", 1000 + bar)
}

fn one_symbol(close: Vec<f64>) -> Columns {
    let dates = (0..close.len()).map(date).collect();
    Columns { dates, symbols: vec!["A".into()], close, periods_per_year: 252.0, ..Columns::default() }
}

/// Returns the market, or `None` if the data is refused, which is valid too.
fn accepted(columns: Columns) -> Option<Dataset> {
    match Dataset::new(columns) {
        Ok(data) => Some(data),
        Err(error) => {
            assert_eq!(error.slug(), "value_invalid");
            None
        }
    }
}

fn rules(costs: CostModel) -> Rules {
    Rules::new(costs, Limits::off(), FillKey::from_seed(0)).unwrap()
}

#[test]
fn a_nav_above_its_range_refuses_every_step_whatever_the_next_bar_holds() {
    let close: Vec<f64> = (0..30).map(|bar| if bar % 2 == 0 { 1e-15 } else { 1e15 }).collect();
    let (data, rules) = (Dataset::new(one_symbol(close)).unwrap(), rules(CostModel::zero()));
    let (mut book, mut workspace) = (Book::new(&data, 0), Workspace::new(1, Detail::Full));
    let mut orders = [100.0, 0.0].into_iter().cycle();
    let error = loop {
        let before = book.clone();
        if let Err(error) = step_once(&data, &rules, &mut book, &[orders.next().unwrap()], &mut workspace) {
            assert_eq!(book, before);
            break error;
        }
    };
    assert_eq!(error.to_string(), "NAV must be at most 1e100; received 9.999999999999999e127 at bar 7");
    // If the next close decided the refusal, an agent could find it by trial and error.
    for weight in [0.0, 1.0, f64::NAN] {
        assert_eq!(step_once(&data, &rules, &mut book, &[weight], &mut workspace).unwrap_err(), error);
    }
}

#[test]
fn a_history_across_many_reverse_splits_is_shown() {
    let n = 60;
    let columns = Columns { splits: Some(vec![1e-9; n]), ..one_symbol(vec![1.0; n]) };
    let Some(data) = accepted(columns) else { return };
    let as_of = data.as_of(n - 1);
    let mut history = vec![0.0; as_of.history_len(0, n)];
    as_of.close_history(0, &mut history);
    assert!(history.iter().all(|close| close.is_finite()), "{history:?}");
}

#[test]
fn the_mark_of_a_long_halt_with_splits_sizes_no_endless_order() {
    let mut close = vec![f64::NAN; 60];
    close[0] = 1.0;
    let columns = Columns { splits: Some(vec![1e9; 60]), ..one_symbol(close) };
    let Some(data) = accepted(columns) else { return };
    let rules = rules(CostModel::zero());
    let (mut book, mut workspace) = (Book::new(&data, 58), Workspace::new(1, Detail::Full));
    let stepped = step_once(&data, &rules, &mut book, &[0.5], &mut workspace);
    if let Err(error) = stepped {
        assert_eq!(error.slug(), "nav_overflow");
        return;
    }
    let mut numbers = workspace.events().iter().flat_map(Event::numbers).flatten();
    assert!(numbers.all(|(_, number)| number.is_finite()), "{:?}", workspace.events());
}

#[test]
fn a_volume_next_to_nothing_fills_nothing() {
    let columns = Columns { volume: Some(vec![1e-15; 3]), ..one_symbol(vec![1.0; 3]) };
    let Some(data) = accepted(columns) else { return };
    let rules = rules(CostModel { impact_bps: 10.0, ..CostModel::zero() });
    let (mut book, mut workspace) = (Book::new(&data, 0), Workspace::new(1, Detail::Full));
    step_once(&data, &rules, &mut book, &[0.5], &mut workspace).unwrap();
    let unfilled = Event::Unfilled { symbol: 0, shares: 0.5, reason: UnfilledReason::CostTooHigh };
    assert_eq!(workspace.events(), [unfilled]);
}

#[test]
fn the_smallest_window_has_one_decision() {
    let (data, rules) = (Dataset::new(one_symbol(vec![1.0, 2.0])).unwrap(), rules(CostModel::zero()));
    let (mut book, mut workspace) = (Book::new(&data, 0), Workspace::new(1, Detail::Full));
    let stepped = step_once(&data, &rules, &mut book, &[1.0], &mut workspace).unwrap();
    assert_eq!((stepped.nav, stepped.reward, book.bar()), (2.0, 1.0, 1));
}

#[test]
fn a_printed_view_shows_nothing_of_the_data_behind_it() {
    let data = Dataset::new(one_symbol(vec![1.0, 1234.5])).unwrap();
    assert_eq!(format!("{:?}", data.as_of(0)), "AsOf { bar: 0, .. }");
}

#[test]
fn an_order_beyond_its_range_by_a_rounding_is_refused_whatever_is_held() {
    let (data, rules) = (Dataset::new(one_symbol(vec![1.0, 1.0, 1.5])).unwrap(), rules(CostModel::zero()));
    let refused = |weight| Event::Refused { symbol: 0, weight, reason: RefusalReason::WeightOutOfRange };
    for k in 0..1000 {
        let (held, weight) = (1.0 + f64::EPSILON * f64::from(k), MAX_ABS_WEIGHT.next_up());
        for detail in [Detail::Full, Detail::Money, Detail::RewardInputs] {
            let (mut book, mut workspace) = (Book::new(&data, 0), Workspace::new(1, detail));
            step_once(&data, &rules, &mut book, &[held], &mut workspace).unwrap();
            let stepped = step_once(&data, &rules, &mut book, &[weight], &mut workspace).unwrap();
            assert_eq!((stepped.turnover, workspace.events()), (0.0, &[refused(weight)][..]), "of {held}, {detail:?}");
        }
    }
}
