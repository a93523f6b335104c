//! A limit or a bar that cannot fill reduces an order.
//!
//! It never increases or creates one.

use openoutcry_engine::{Book, Detail, Event, LimitReason, StepError, Workspace, step_once};
use proptest::prelude::*;

use crate::account_walk::{Step, gross, rules, walk};
use crate::random_market::{cases, config};

proptest! {
    #![proptest_config(config(1000))]

    #[test]
    fn a_symbol_that_is_held_keeps_its_shares_under_any_limit(case in cases()) {
        walk(&case, |step| {
            for i in step.symbols().filter(|i| step.orders[*i].is_nan()) {
                prop_assert!(step.filled(i).is_none() && !step.tells("limited", i) && !step.tells("unfilled", i));
                if step.settlement(i).is_none() && !step.stepped.terminated {
                    prop_assert_eq!(step.after.shares(i).to_bits(), step.held(i).to_bits());
                }
            }
            Ok(())
        })?;
    }

    #[test]
    fn holding_everything_trades_nothing_whatever_the_limits(case in cases()) {
        let (data, rules) = (case.dataset(), rules(&case));
        let hold = vec![f64::NAN; case.n_symbols];
        walk(&case, |step| {
            let mut workspace = Workspace::new(case.n_symbols, Detail::Full);
            let mut book = step.before.clone();
            match step_once(&data, &rules, &mut book, &hold, &mut workspace) {
                Ok(stepped) => prop_assert_eq!(stepped.turnover, 0.0),
                Err(error) => prop_assert_eq!(error.slug(), "nav_overflow"),
            }
            let forced = ["delisted", "liquidated", "ruined"];
            prop_assert!(workspace.events().iter().all(|event| forced.contains(&event.slug())), "{:?}", workspace.events());
            Ok(())
        })?;
    }

    #[test]
    fn a_close_never_oversells_and_ends_at_exactly_zero_when_it_is_filled(case in cases()) {
        walk(&case, |step| {
            for i in step.symbols().filter(|i| step.orders[*i] == 0.0 && step.held(*i) != 0.0) {
                let (held, after) = (step.held(i), step.after.shares(i));
                let gone = step.settlement(i).is_some() || step.stepped.terminated;
                let cut = step.tells("limited", i);
                if step.tells("unfilled", i) && !gone {
                    prop_assert_eq!(after.to_bits(), held.to_bits());
                } else if !cut || gone {
                    prop_assert_eq!(after, 0.0);
                }
                prop_assert!(after == 0.0 || after.is_sign_negative() == held.is_sign_negative());
                prop_assert!(after.abs() <= held.abs());
            }
            Ok(())
        })?;
    }

    #[test]
    fn an_order_that_reduces_ends_between_flat_and_what_was_held(case in cases()) {
        walk(&case, |step| {
            for i in step.symbols() {
                let (order, current) = (step.orders[i], step.before.weight(i));
                let same_side = order != 0.0 && current != 0.0 && (order < 0.0) == (current < 0.0);
                if same_side && order.abs() <= current.abs() && step.settlement(i).is_none() {
                    let (held, after) = (step.held(i), step.after.shares(i));
                    prop_assert!(after == 0.0 || after.is_sign_negative() == held.is_sign_negative());
                    prop_assert!(after.abs() <= held.abs());
                }
            }
            Ok(())
        })?;
    }

    #[test]
    fn gross_never_ends_above_its_limit_or_what_was_held(case in cases()) {
        walk(&case, |step| {
            let after = gross_at_sizing_prices(step);
            let most = (case.limits.max_gross * step.before.nav()).max(gross(step.before));
            prop_assert!(after <= most * (1.0 + 1e-6) * (1.0 + 1e-12), "{after} of {most}");
            Ok(())
        })?;
    }

    #[test]
    fn what_is_cut_to_the_gross_allowed_uses_all_of_it(case in cases()) {
        walk(&case, |step| {
            let held = gross_held(step) / step.before.nav();
            for event in step.events {
                let Event::Limited { symbol: None, requested, allowed, reason } = *event else { continue };
                prop_assert!(allowed < requested);
                let most = match reason {
                    LimitReason::Rebalanced => case.limits.max_gross.max(held),
                    // It cuts to the cash there is, not to a gross.
                    LimitReason::Cash => continue,
                    // Exposure above the limit gets no additions, and part of it may be reduced.
                    _ if allowed > case.limits.max_gross => allowed,
                    _ => case.limits.max_gross,
                };
                prop_assert!((allowed - most).abs() <= 1e-9 * most, "{reason:?}: {allowed} of {most}");
                prop_assert!(allowed <= most.max(gross(step.before) / step.before.nav()) * (1.0 + 1e-9));
            }
            Ok(())
        })?;
    }

    #[test]
    fn no_weight_that_adds_ends_above_its_limit(case in cases()) {
        walk(&case, |step| {
            for i in step.symbols().filter(|i| step.filled(*i).is_some()) {
                let mark = step.before.mark(i) / step.split(i);
                let after = (step.held(i) + step.filled(i).map_or(0.0, |fill| fill.0)) * mark / step.before.nav();
                let most = case.limits.max_weight.max(step.before.weight(i).abs());
                prop_assert!(after.abs() <= most * (1.0 + 1e-12), "{after} of {most}");
            }
            Ok(())
        })?;
    }

    #[test]
    fn no_fill_takes_more_of_a_bar_than_the_participation_allowed(case in cases()) {
        let Some(most) = case.limits.max_participation else { return Ok(()) };
        walk(&case, |step| {
            for (i, (shares, _)) in step.symbols().filter_map(|i| Some((i, step.filled(i)?))) {
                let volume = step.columns.volume.as_ref().map(|volume| volume[step.bar * case.n_symbols + i]);
                let mark = step.before.mark(i) / step.split(i);
                let part = match volume.filter(|volume| !volume.is_nan()) {
                    Some(volume) => shares.abs() * case.costs.capital / volume,
                    None => shares.abs() * mark / step.before.nav(),
                };
                prop_assert!(part <= most * (1.0 + 1e-12), "{part} of {most}");
            }
            Ok(())
        })?;
    }

    #[test]
    fn without_shorts_no_share_count_is_ever_negative(case in cases()) {
        let mut case = case;
        case.limits.allow_short = false;
        walk(&case, |step| {
            prop_assert!(step.symbols().all(|i| step.after.shares(i) >= 0.0));
            prop_assert_eq!(step.stepped.costs.borrow, 0.0);
            Ok(())
        })?;
    }

    #[test]
    fn a_fill_is_worse_than_its_reference_price_and_costs_less_than_half_of_it(case in cases()) {
        walk(&case, |step| {
            for (i, (shares, price)) in step.symbols().filter_map(|i| Some((i, step.filled(i)?))) {
                let reference = step.reference_price(i);
                prop_assert!((price - reference) * shares.signum() >= 0.0);
                prop_assert!((price - reference).abs() <= 0.5 * reference);
            }
            Ok(())
        })?;
    }

    #[test]
    fn a_refused_step_leaves_the_book_equal(case in cases(), place in any::<prop::sample::Index>(), negative in any::<bool>()) {
        let (data, rules) = (case.dataset(), rules(&case));
        let infinity = if negative { f64::NEG_INFINITY } else { f64::INFINITY };
        walk(&case, |step| {
            let mut workspace = Workspace::new(case.n_symbols, Detail::Full);
            let mut book = step.before.clone();
            let mut orders = step.orders.to_vec();
            let index = place.index(orders.len());
            orders[index] = infinity;
            let error = step_once(&data, &rules, &mut book, &orders, &mut workspace).unwrap_err();
            prop_assert_eq!(error, StepError::WeightNotFinite { index, weight: infinity });
            let error = step_once(&data, &rules, &mut book, &orders[1..], &mut workspace).unwrap_err();
            let (expected, received) = (case.n_symbols, case.n_symbols - 1);
            prop_assert_eq!(error, StepError::WeightCount { expected, received });
            prop_assert_eq!(&book, step.before);
            Ok(())
        })?;
    }
}

/// Returns the gross exposure before the fill, without settled positions.
///
/// It is valued at the marks of the decision.
fn gross_held(step: &Step) -> f64 {
    let value = |i: usize| step.held(i).abs() * step.before.mark(i) / step.split(i);
    step.symbols().filter(|i| step.settlement(*i).is_none()).map(value).sum()
}

fn gross_at_sizing_prices(step: &Step) -> f64 {
    let value = |i: usize| {
        let shares = step.held(i) + step.filled(i).map_or(0.0, |(shares, _)| shares);
        shares.abs() * step.before.mark(i) / step.split(i)
    };
    step.symbols().filter(|i| step.settlement(*i).is_none()).map(value).sum()
}

/// Tests that a limit that binds on a hold trades nothing.
///
/// The account drifts above every limit without orders.
#[test]
fn an_account_that_drifts_above_every_limit_is_left_alone() {
    let columns = openoutcry_engine::Columns {
        dates: (0..6).map(crate::random_market::date).collect(),
        symbols: vec!["A".into(), "B".into()],
        close: vec![1.0, 1.0, 1.0, 1.0, 3.0, 0.5, 9.0, 0.4, 27.0, 0.3, 81.0, 0.2],
        periods_per_year: 252.0,
        ..openoutcry_engine::Columns::default()
    };
    let data = openoutcry_engine::Dataset::new(columns).unwrap();
    let limits = openoutcry_engine::Limits { max_weight: 0.5, max_gross: 0.75, ..openoutcry_engine::Limits::default() };
    let key = openoutcry_engine::FillKey::from_seed(0);
    let rules = openoutcry_engine::Rules::new(openoutcry_engine::CostModel::zero(), limits, key).unwrap();
    let (mut book, mut workspace) = (Book::new(&data, 0), Workspace::new(2, Detail::Full));
    step_once(&data, &rules, &mut book, &[0.5, -0.25], &mut workspace).unwrap();
    for _ in 1..5 {
        step_once(&data, &rules, &mut book, &[f64::NAN; 2], &mut workspace).unwrap();
        assert_eq!((book.shares(0), book.shares(1)), (0.5, -0.25));
        assert_eq!(workspace.events(), [] as [Event; 0]);
    }
    assert!(book.weight(0) > 0.9);
}
