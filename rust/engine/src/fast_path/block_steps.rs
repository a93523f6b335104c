//! Fast-path steps of one or eight accounts of few symbols over several bars.
//!
//! The accounts are at the same bar and stay in vector registers from bar to bar. Work per account is done for eight
//! accounts at once, and work per run is not repeated in every step.

use pulp::{Scalar, Simd, WithSimd};

use crate::account::block_terms::BlockTerms;
use crate::account::rules::Rules;
use crate::account::totals::Totals;
use crate::account::workspace::Workspace;
use crate::fast_path::account_block::AccountBlock;
use crate::fast_path::account_vector::{LaneCharges, costs, total};
use crate::fast_path::bar_rows::Rows;
use crate::fast_path::block_run::BlockRun;
use crate::fast_path::features::Features;
use crate::fast_path::few_symbols::{After, LanePart, Quotes, step};
use crate::fast_path::held_bars;
use crate::fast_path::market_tape::{QUAD, quad_of};
use crate::fast_path::order_vector::OrderTerms;
use crate::market::dataset::Dataset;
use crate::vector::lane_sums::{self, Block, LANES, each};
use crate::vector::simd::Vector;

/// Runs the decisions of one or eight accounts and returns how many were run.
///
/// It stops before the first decision that the fast path does not support for one of the accounts. Run that step with
/// `step_once`, which gives the same numbers. It runs no decision for accounts at different bars or with more than
/// eight symbols. The account with the fewest orders ends the run.
pub fn run_block<const A: usize>(
    market: &Dataset,
    rules: &Rules,
    tracks: &mut [BlockRun<'_>; A],
    workspace: &Workspace,
) -> usize {
    const { assert!(A == 1 || A == LANES) }
    let bar = tracks[0].book.bar;
    if market.n_symbols() > LANES || tracks.iter().any(|track| track.book.bar != bar) {
        return 0;
    }
    let Some(Features { gaps, varies, owes }) = Features::of(market, BlockTerms::all(rules)) else { return 0 };
    let run = match (market.n_symbols(), gaps, varies, owes) {
        (1, false, false, false) => run::<A, 1, false, false, false>,
        (1, false, false, true) => run::<A, 1, false, false, true>,
        (1, false, true, _) => run::<A, 1, false, true, true>,
        (1, true, _, _) => run::<A, 1, true, true, true>,
        (2..=4, false, false, false) => run::<A, 4, false, false, false>,
        (2..=4, false, false, true) => run::<A, 4, false, false, true>,
        (2..=4, false, true, _) => run::<A, 4, false, true, true>,
        (2..=4, true, _, _) => run::<A, 4, true, true, true>,
        (_, false, false, false) => run::<A, 8, false, false, false>,
        (_, false, false, true) => run::<A, 8, false, false, true>,
        (_, false, true, _) => run::<A, 8, false, true, true>,
        (_, true, _, _) => run::<A, 8, true, true, true>,
    };
    let mut n_steps = 0;
    loop {
        let stepped = run(market, rules, tracks, workspace);
        for track in tracks.iter_mut() {
            track.advance(stepped, market.n_symbols());
        }
        let holds = !gaps && tracks.iter().all(|track| track.orders.first().is_some_and(|order| order.is_nan()));
        let held = if holds { held_bars::run(market, rules, tracks, workspace) } else { 0 };
        for track in tracks.iter_mut() {
            track.advance(held, market.n_symbols());
        }
        n_steps += stepped + held;
        // The loops take turns. A run that ends elsewhere has met a decision that neither supports.
        if held == 0 {
            return n_steps;
        }
    }
}

fn run<const A: usize, const N: usize, const GAPS: bool, const VARIES: bool, const OWES: bool>(
    market: &Dataset,
    rules: &Rules,
    tracks: &mut [BlockRun<'_>; A],
    workspace: &Workspace,
) -> usize {
    if A > 1 {
        return workspace.arch.dispatch(Run::<'_, '_, A, N, GAPS, VARIES, OWES, false> { market, rules, tracks });
    }
    // One account waits for its own last step: divisions of one number are shorter than those of a vector.
    let one = Scalar::new();
    if tracks[0].totals.is_some() {
        return Run::<'_, '_, A, N, GAPS, VARIES, OWES, true> { market, rules, tracks }.with_simd(one);
    }
    Run::<'_, '_, A, N, GAPS, VARIES, OWES, false> { market, rules, tracks }.with_simd(one)
}

/// A run of `A` accounts of at most `N` symbols.
///
/// With `REPORTS` it adds the totals of the first. The other parameters are those of [`OrderTerms::fill`].
struct Run<
    'r,
    'a,
    const A: usize,
    const N: usize,
    const GAPS: bool,
    const VARIES: bool,
    const OWES: bool,
    const REPORTS: bool,
> {
    market: &'r Dataset,
    rules: &'r Rules,
    tracks: &'r mut [BlockRun<'a>; A],
}

impl<const A: usize, const N: usize, const GAPS: bool, const VARIES: bool, const OWES: bool, const REPORTS: bool>
    WithSimd for Run<'_, '_, A, N, GAPS, VARIES, OWES, REPORTS>
{
    type Output = usize;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> usize {
        let Self { market, rules, tracks } = self;
        let (n, first) = (market.n_symbols(), tracks[0].book.bar);
        let n_decisions = tracks.iter().map(|track| track.orders.len()).min().unwrap_or(0) / n;
        let terms = BlockTerms::all(rules);
        let numbers = terms.numbers(simd, 0);
        let rules_of =
            (OrderTerms::of(simd, &numbers), LaneCharges::of(simd, market, &numbers, terms.traits().accrues));
        let mut block = AccountBlock::default();
        for (account, track) in tracks.iter().enumerate() {
            block.put(account, track.book);
        }
        let mut next = block.clone();
        let (mut now, mut next) = (&mut block, &mut next);
        let (mut marks, mut n_steps) = (tracks[0].book.marks[0], 0);
        let (mut ordered, mut totals) = ([[0.0; LANES]; N], Totals::default());
        if REPORTS && let Some(of) = &tracks[0].totals {
            totals = **of;
        }
        while n_steps < n_decisions && !market.has_actions(first + n_steps + 1) {
            let holds = || tracks.iter().all(|track| track.orders[n_steps * n].is_nan());
            if !GAPS && holds() && held_bars::begins(tracks, n_steps * n, n) {
                break;
            }
            for (symbol, ordered) in ordered.iter_mut().enumerate().take(n) {
                *ordered = each(|a| if a < A { tracks[a].orders[n_steps * n + symbol] } else { 0.0 });
            }
            let rows = Rows::at(market, rules.tables.as_deref(), first + n_steps);
            let (mut fits, mut added) = (true, totals);
            for index in 0..A.div_ceil(S::F64_LANES) {
                let part = LanePart { simd, index };
                let ordered: [Vector<S>; N] = part.vectors(&ordered);
                let before = part.before(now);
                let quotes = |quad| quotes::<S, VARIES>(&rules_of.0, rows, (&marks, before.nav), quad);
                let after = step::<S, N, GAPS, VARIES, OWES, REPORTS>(simd, &rules_of, &before, &ordered, quotes);
                fits &= !after.declined.or(after.scaled).or(part.overflown(now)).any();
                part.keep(&after, next);
                if REPORTS {
                    add(simd, &mut added, before.nav, &after);
                }
            }
            if !fits {
                break;
            }
            std::mem::swap(&mut now, &mut next);
            totals = added;
            for (track, nav) in tracks.iter_mut().zip(now.nav) {
                track.nav.push(nav);
            }
            for (symbol, mark) in marks.iter_mut().enumerate().take(N) {
                let close = lane_sums::get(rows.close, symbol);
                *mark = if GAPS && close.is_nan() { *mark } else { close };
            }
            n_steps += 1;
        }
        if REPORTS && let Some(of) = &mut tracks[0].totals {
            **of = totals;
        }
        finish(now, tracks, n_steps, marks);
        n_steps
    }
}

/// Adds a step of the first account of a vector.
#[inline(always)]
fn add<S: Simd, const N: usize>(simd: S, totals: &mut Totals, nav_before: Vector<S>, after: &After<S, N>) {
    let zero = Vector::splat(simd, 0.0);
    let settled = &after.settled;
    let money = (settled.fee.first(), after.slipped.first(), after.pushed.first());
    let (paid, _) = costs(money, (settled.own.first(), settled.idle.first(), settled.borrow.first()));
    let exposure = (total(zero, &after.weights.map(Vector::abs)).first(), total(zero, &after.weights).first());
    totals.add(nav_before.first(), settled.turnover.first(), &paid, exposure);
}

/// Returns the quotes of a bar for accounts that are all at that bar.
#[inline(always)]
fn quotes<S: Simd, const VARIES: bool>(
    terms: &OrderTerms<S>,
    rows: Rows<'_>,
    (marks, nav): (&Block, Vector<S>),
    quad: usize,
) -> Quotes<S> {
    let splat = |row: &Block| quad_of(row, quad).map(|value| Vector::splat(terms.simd, value));
    let (marks, mut cost_inputs) = (splat(marks), [terms.flat(); QUAD]);
    if VARIES {
        let row = |row: Option<&[Block]>| row.map(|row| splat(&row[0]));
        let (slippage, volume, roots) = (row(rows.slippage), row(rows.volume), row(rows.roots));
        for (k, cost_input) in cost_inputs.iter_mut().enumerate() {
            let known = roots.map(|row| row[k]);
            cost_input.root = known.unwrap_or_else(|| terms.root(volume.map(|row| row[k]), marks[k], nav));
            cost_input.slippage = slippage.map_or(cost_input.slippage, |row| row[k]);
        }
    }
    Quotes {
        marks,
        decided: splat(&rows.decided[0]),
        fills: splat(&rows.fill[0]),
        closes: splat(&rows.close[0]),
        cost_inputs,
    }
}

/// Copies accounts after `n_steps` steps to their books.
fn finish(block: &AccountBlock, tracks: &mut [BlockRun<'_>], n_steps: usize, marks: Block) {
    for (account, BlockRun { book, .. }) in tracks.iter_mut().enumerate() {
        block.write(account, book);
        (book.bar, book.marks[0]) = (book.bar + n_steps, marks);
    }
}
