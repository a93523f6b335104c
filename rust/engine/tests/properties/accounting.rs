//! Conservation of money.

use openoutcry_engine::lane_sums;
use proptest::prelude::*;

use crate::account_walk::{Step, gross, walk};
use crate::random_market::{cases, config};

proptest! {
    #![proptest_config(config(1000))]

    #[test]
    fn nav_is_cash_plus_marked_positions(case in cases()) {
        walk(&case, |step| {
            let after = step.after;
            let positions = lane_sums::sum(step.symbols().map(|i| after.shares(i) * after.mark(i)));
            let flat = step.symbols().all(|i| after.shares(i) == 0.0);
            let nav = if step.stepped.terminated && flat { after.cash() } else { after.cash() + positions };
            prop_assert_eq!(after.nav().to_bits(), nav.to_bits());
            prop_assert_eq!(step.stepped.nav.to_bits(), nav.to_bits());
            prop_assert_eq!(step.stepped.reward.to_bits(), (nav / step.before.nav() - 1.0).to_bits());
            Ok(())
        })?;
    }

    #[test]
    fn no_cost_is_ever_negative(case in cases()) {
        walk(&case, |step| {
            for cost in step.stepped.costs.by_kind() {
                prop_assert!(cost >= 0.0, "{:?}", step.stepped.costs);
            }
            prop_assert!(step.stepped.shortfall >= 0.0 && step.stepped.turnover >= 0.0);
            Ok(())
        })?;
    }

    #[test]
    fn every_change_of_nav_is_explained_by_the_identity_of_the_contract(case in cases()) {
        walk(&case, |step| {
            let nav = step.before.nav();
            let residual = step.after.nav() - nav - explained(step);
            // A liquidated account has no gross left, so the gross before it counts.
            let scale = nav.max(gross(step.before)).max(gross_after_the_fill(step)).max(step.after.nav());
            prop_assert!(residual.abs() <= 1e-12 * scale, "residual {residual:e} of {nav}, gross {scale}");
            Ok(())
        })?;
    }

    #[test]
    fn an_account_that_is_ruined_holds_nothing_and_owes_nothing(case in cases()) {
        walk(&case, |step| {
            prop_assert!(step.after.nav() >= 0.0);
            if step.stepped.terminated {
                prop_assert!(step.symbols().all(|i| step.after.shares(i) == 0.0 && step.after.avg_price(i) == 0.0));
                prop_assert_eq!(step.after.cash().to_bits(), step.after.nav().to_bits());
            } else {
                prop_assert!(step.after.nav() > 0.0);
            }
            Ok(())
        })?;
    }

    #[test]
    fn a_liquidation_or_a_ruin_closes_the_notional_after_the_fill(case in cases()) {
        walk(&case, |step| {
            let held = |i: &usize| step.settlement(*i).is_none();
            let closed: f64 = step.symbols().filter(held).map(|i| {
                (step.held(i) + filled(step, i)).abs() * step.after.mark(i)
            }).sum();
            let (least, most) = if step.stepped.terminated { (closed, closed) } else { (0.0, 0.0) };
            let (forced, slippage) = (step.stepped.forced_turnover * step.before.nav(), case.costs.slippage_bps / 1e4);
            let rounding = 1e-12 * closed;
            prop_assert!(forced >= least * (1.0 - slippage) - rounding, "{forced} of {least}");
            prop_assert!(forced <= most * (1.0 + slippage) + rounding, "{forced} of {most}");
            Ok(())
        })?;
    }

    #[test]
    fn an_account_is_closed_by_force_just_below_its_maintenance_margin(case in cases()) {
        walk(&case, |step| {
            let margin = case.limits.maintenance_margin;
            let liquidated: f64 = step.symbols().filter(|i| step.tells("liquidated", *i)).map(|i| {
                (step.held(i) + filled(step, i)).abs() * step.after.mark(i)
            }).sum();
            if liquidated > 0.0 {
                let nav = step.after.nav() - step.stepped.shortfall + step.stepped.costs.liquidation;
                prop_assert!(nav < margin * liquidated * (1.0 + 1e-12) && step.stepped.terminated);
            } else {
                prop_assert!(step.after.nav() >= margin * gross(step.after) * (1.0 - 1e-12));
                prop_assert_eq!(step.stepped.costs.liquidation, 0.0);
            }
            Ok(())
        })?;
    }

    #[test]
    fn a_short_pays_borrow_on_its_reference_price_and_without_one_on_its_mark(case in cases()) {
        walk(&case, |step| {
            let value = |i: usize| {
                let shares = if step.settlement(i).is_some() { 0.0 } else { step.held(i) + filled(step, i) };
                let mark = step.before.mark(i) / step.split(i);
                let price = Some(step.reference_price(i)).filter(|price| price.is_finite()).unwrap_or(mark);
                let own = step.columns.charges[2].as_ref().map(|table| table[step.bar * case.n_symbols + i]);
                let rate = own.filter(|rate| !rate.is_nan()).unwrap_or(case.costs.borrow_bps);
                (-shares).max(0.0) * price * rate
            };
            let fees: f64 = step.symbols().map(value).sum();
            let expected = fees / 1e4 / step.columns.periods_per_year;
            let borrow = step.stepped.costs.borrow;
            prop_assert!((borrow - expected).abs() <= 1e-12 * expected.max(step.before.nav()), "{borrow} {expected}");
            Ok(())
        })?;
    }

    #[test]
    fn the_average_price_lies_between_the_fills_of_the_open_position(case in cases()) {
        let mut ranges: Vec<Option<(f64, f64)>> = vec![None; case.n_symbols];
        walk(&case, |step| {
            for i in step.symbols() {
                let range = follow(step, i, ranges[i]);
                let average = step.after.avg_price(i);
                match range.filter(|_| step.after.shares(i) != 0.0) {
                    None => prop_assert_eq!(average, 0.0),
                    Some((low, high)) => {
                        prop_assert!(average >= low * (1.0 - 1e-12) && average <= high * (1.0 + 1e-12));
                    }
                }
                ranges[i] = range;
            }
            Ok(())
        })?;
    }
}

fn filled(step: &Step, symbol: usize) -> f64 {
    step.filled(symbol).map_or(0.0, |(shares, _)| shares)
}

/// Returns the terms that explain the change of NAV: section 1.5 of the contract.
fn explained(step: &Step) -> f64 {
    let move_of = |i: usize| {
        let held = step.held(i);
        let filled = filled(step, i);
        if step.settlement(i).is_some() || (held == 0.0 && filled == 0.0) {
            return 0.0;
        }
        let mark = step.before.mark(i) / step.split(i);
        let price = Some(step.reference_price(i)).filter(|price| price.is_finite()).unwrap_or(mark);
        held * (price - mark) + (held + filled) * (step.after.mark(i) - price)
    };
    let moves: f64 = step.symbols().map(move_of).sum();
    let stepped = &step.stepped;
    let gains = stepped.dividends + stepped.settlement + stepped.interest + stepped.funding + stepped.shortfall;
    moves + gains - stepped.costs.total()
}

fn gross_after_the_fill(step: &Step) -> f64 {
    let value = |i: usize| {
        let shares = step.held(i) + filled(step, i);
        let price = Some(step.reference_price(i)).filter(|price| price.is_finite()).unwrap_or(0.0);
        shares.abs() * step.after.mark(i).max(price).max(step.before.mark(i) / step.split(i))
    };
    step.symbols().map(value).sum()
}

/// Returns the lowest and highest fill of the position open after a step.
///
/// Both are on its share basis.
fn follow(step: &Step, symbol: usize, range: Option<(f64, f64)>) -> Option<(f64, f64)> {
    let (before, after) = (step.before.shares(symbol), step.after.shares(symbol));
    let split = step.split(symbol);
    let kept = range.filter(|_| after != 0.0 && before.is_sign_negative() == after.is_sign_negative());
    let kept = kept.filter(|_| before != 0.0).map(|(low, high)| (low / split, high / split));
    let fill = step.filled(symbol).filter(|_| after != 0.0);
    match (kept, fill) {
        (kept, None) => kept,
        (None, Some((_, price))) => Some((price, price)),
        (Some((low, high)), Some((_, price))) => Some((low.min(price), high.max(price))),
    }
}
