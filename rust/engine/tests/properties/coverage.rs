//! Coverage: the random markets reach every event and every rare branch.

use std::collections::BTreeMap;

use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;

use crate::account_walk::{Step, walk};
use crate::random_market::{cases, config};

#[test]
fn the_random_markets_reach_every_event_and_every_rare_branch() {
    let mut found: BTreeMap<String, u32> = BTreeMap::new();
    let mut runner = TestRunner::new(config(3000));
    for _ in 0..runner.config().cases {
        let case = cases().new_tree(&mut runner).expect("a case").current();
        let see = |step: &Step| {
            for branch in branches(step) {
                *found.entry(branch).or_default() += 1;
            }
            Ok(())
        };
        walk(&case, see).expect("a walk");
    }
    println!("{found:#?}");
    let rare: Vec<&str> = EXPECTED.into_iter().filter(|branch| found.get(*branch).is_none_or(|n| *n < 20)).collect();
    assert_eq!(rare, [] as [&str; 0]);
}

const EXPECTED: [&str; 36] = [
    "filled",
    "unfilled no_price",
    "unfilled not_tradable",
    "unfilled no_volume",
    "unfilled cost_too_high",
    "refused unknown_symbol",
    "refused settled_symbol",
    "refused weight_out_of_range",
    "refused short_not_allowed",
    "limited max_weight",
    "limited max_gross",
    "limited participation",
    "limited rebalanced",
    "stale_price",
    "delisted",
    "liquidated",
    "ruined",
    "fee",
    "slippage",
    "impact",
    "financing",
    "borrow",
    "liquidation",
    "interest paid in",
    "dividend paid by a short",
    "dividend received",
    "settlement of a short",
    "settlement of a long",
    "split of a held position",
    "split in a halt",
    "flip",
    "flip cut beyond zero",
    "close filled in full",
    "close cut",
    "position added to",
    "position held while halted",
];

fn branches(step: &Step) -> Vec<String> {
    let mut found: Vec<String> = step
        .events
        .iter()
        .map(|event| event.reason().map_or(event.slug().to_owned(), |reason| format!("{} {reason}", event.slug())))
        .collect();
    let costs = step.stepped.costs;
    let kinds = openoutcry_engine::StepCosts::KINDS.into_iter().zip(costs.by_kind());
    let mut note = |is: bool, branch: &str| {
        if is {
            found.push(branch.to_owned());
        }
    };
    kinds.for_each(|(kind, cost)| note(cost > 0.0, kind));
    note(step.stepped.interest > 0.0, "interest paid in");
    for i in step.symbols() {
        of_symbol(step, i, &mut note);
    }
    found
}

fn of_symbol(step: &Step, i: usize, note: &mut impl FnMut(bool, &str)) {
    let (held, after, order) = (step.held(i), step.after.shares(i), step.orders[i]);
    let closes = step.columns.close[step.bar * step.case.n_symbols + i].is_finite();
    let dividend = step.columns.dividends.as_ref().map_or(0.0, |row| row[step.bar * step.case.n_symbols + i]);
    let settled = step.settlement(i).is_some();
    let filled = step.filled(i).map_or(0.0, |(shares, _)| shares);
    let is_cut = step.tells("limited", i) && filled != 0.0;
    note(dividend > 0.0 && held < 0.0, "dividend paid by a short");
    note(dividend > 0.0 && held > 0.0, "dividend received");
    note(settled && held < 0.0, "settlement of a short");
    note(settled && held > 0.0, "settlement of a long");
    note(held != 0.0 && step.split(i) != 1.0, "split of a held position");
    note(held != 0.0 && step.split(i) != 1.0 && !closes, "split in a halt");
    note(held * after < 0.0, "flip");
    note(held * after < 0.0 && is_cut, "flip cut beyond zero");
    note(order == 0.0 && filled != 0.0 && after == 0.0, "close filled in full");
    note(order == 0.0 && filled != 0.0 && after != 0.0, "close cut");
    note(held * filled > 0.0, "position added to");
    note(held != 0.0 && !closes && !settled, "position held while halted");
}
