//! Plain steps of eight accounts of few symbols, one after the other.
//!
//! The accounts are at the same bar and stay in their vectors from bar to bar: what is done once for an account is done
//! once for all of them, and what is done once a run is not done in every step.

use pulp::{Simd, WithSimd};

use crate::account::book::Book;
use crate::account::lane_terms::Whose;
use crate::account::rules::Rules;
use crate::account::workspace::Desk;
use crate::fast_path::account_block::Pack;
use crate::fast_path::account_vector::Dues;
use crate::fast_path::bar_rows::Rows;
use crate::fast_path::features::Features;
use crate::fast_path::few_symbols::{Part, Quotes, step};
use crate::fast_path::market_tape::{QUAD, quad_of};
use crate::fast_path::order_vector::Terms;
use crate::market::dataset::Dataset;
use crate::vector::lane_sums::{self, Block, LANES, each};
use crate::vector::simd::Vector;

/// An account, what it is to trade to, and its value.
#[derive(Debug)]
pub struct Track<'a> {
    /// The account.
    pub book: &'a mut Book,
    /// One weight per symbol, decision after decision; NaN is a hold.
    pub orders: &'a [f64],
    /// Gets the NAV after each step.
    pub nav: &'a mut Vec<f64>,
}

/// Carries out decisions of eight accounts and returns how many.
///
/// It stops before the first decision whose step is not plain, or has something to tell, for one of the accounts: that
/// step is for `step_once`, which gives the same numbers for all others. None are carried out for accounts of different
/// bars, or of more than eight symbols.
///
/// # Panics
///
/// Panics if the orders of an account are fewer than those of the first.
pub fn run_group(market: &Dataset, rules: &Rules, tracks: &mut [Track<'_>; LANES], desk: &Desk) -> usize {
    let bar = tracks[0].book.bar;
    if market.n_symbols() > LANES || tracks.iter().any(|track| track.book.bar != bar) {
        return 0;
    }
    let Some(Features { gaps, varies, owes }) = Features::of(market, Whose::all(rules)) else { return 0 };
    let run = match (market.n_symbols(), gaps, varies, owes) {
        (1, false, false, false) => run::<1, false, false, false>,
        (1, false, false, true) => run::<1, false, false, true>,
        (1, false, true, _) => run::<1, false, true, true>,
        (1, true, _, _) => run::<1, true, true, true>,
        (2..=4, false, false, false) => run::<4, false, false, false>,
        (2..=4, false, false, true) => run::<4, false, false, true>,
        (2..=4, false, true, _) => run::<4, false, true, true>,
        (2..=4, true, _, _) => run::<4, true, true, true>,
        (_, false, false, false) => run::<8, false, false, false>,
        (_, false, false, true) => run::<8, false, false, true>,
        (_, false, true, _) => run::<8, false, true, true>,
        (_, true, _, _) => run::<8, true, true, true>,
    };
    run(market, rules, tracks, desk)
}

fn run<const N: usize, const GAPS: bool, const VARIES: bool, const OWES: bool>(
    market: &Dataset,
    rules: &Rules,
    tracks: &mut [Track<'_>; LANES],
    desk: &Desk,
) -> usize {
    desk.arch.dispatch(Run::<'_, '_, N, GAPS, VARIES, OWES> { market, rules, tracks })
}

/// Accounts of at most `N` symbols.
///
/// The features of a step are those of [`Terms::fill`].
struct Run<'r, 'a, const N: usize, const GAPS: bool, const VARIES: bool, const OWES: bool> {
    market: &'r Dataset,
    rules: &'r Rules,
    tracks: &'r mut [Track<'a>; LANES],
}

impl<const N: usize, const GAPS: bool, const VARIES: bool, const OWES: bool> WithSimd
    for Run<'_, '_, N, GAPS, VARIES, OWES>
{
    type Output = usize;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> usize {
        let Self { market, rules, tracks } = self;
        let (n, first) = (market.n_symbols(), tracks[0].book.bar);
        let n_decisions = tracks[0].orders.len() / n;
        let whose = Whose::all(rules);
        let numbers = whose.numbers(simd, 0);
        let rules_of = (Terms::of(simd, &numbers), Dues::of(simd, market, &numbers, whose.traits().accrues));
        let mut pack = Pack::default();
        for (account, track) in tracks.iter().enumerate() {
            pack.put(account, track.book);
        }
        let mut next = pack.clone();
        let (mut now, mut next) = (&mut pack, &mut next);
        let (mut marks, mut n_steps) = (tracks[0].book.marks[0], 0);
        let mut asked = [[0.0; LANES]; N];
        while n_steps < n_decisions && !market.has_actions(first + n_steps + 1) {
            for (symbol, asked) in asked.iter_mut().enumerate().take(n) {
                *asked = each(|a| tracks[a].orders[n_steps * n + symbol]);
            }
            let rows = Rows::at(market, rules.tables.as_deref(), first + n_steps);
            let mut fits = true;
            for index in 0..LANES / S::F64_LANES {
                let part = Part { simd, index };
                let asked: [Vector<S>; N] = part.vectors(&asked);
                let before = part.before(now);
                let quotes = |quad| quotes::<S, VARIES>(&rules_of.0, rows, (&marks, before.nav), quad);
                let after = step::<S, N, GAPS, VARIES, OWES>(simd, &rules_of, &before, &asked, quotes);
                fits &= !after.misfit.or(after.scaled).or(part.overflown(now)).any();
                part.keep(&after, next);
            }
            if !fits {
                break;
            }
            std::mem::swap(&mut now, &mut next);
            for (track, nav) in tracks.iter_mut().zip(now.nav) {
                track.nav.push(nav);
            }
            for (symbol, mark) in marks.iter_mut().enumerate().take(N) {
                let close = lane_sums::get(rows.close, symbol);
                *mark = if GAPS && close.is_nan() { *mark } else { close };
            }
            n_steps += 1;
        }
        finish(now, tracks, n_steps, marks);
        n_steps
    }
}

/// Returns what a bar shows to accounts that are all at it.
#[inline(always)]
fn quotes<S: Simd, const VARIES: bool>(
    terms: &Terms<S>,
    rows: Rows<'_>,
    (marks, nav): (&Block, Vector<S>),
    quad: usize,
) -> Quotes<S> {
    let splat = |row: &Block| quad_of(row, quad).map(|value| Vector::splat(terms.simd, value));
    let (marks, mut depths) = (splat(marks), [terms.flat(); QUAD]);
    if VARIES {
        let row = |row: Option<&[Block]>| row.map(|row| splat(&row[0]));
        let (slippage, volume, roots) = (row(rows.slippage), row(rows.volume), row(rows.roots));
        for (k, depth) in depths.iter_mut().enumerate() {
            let known = roots.map(|row| row[k]);
            depth.root = known.unwrap_or_else(|| terms.root(volume.map(|row| row[k]), marks[k], nav));
            depth.slippage = slippage.map_or(depth.slippage, |row| row[k]);
        }
    }
    Quotes {
        marks,
        decided: splat(&rows.decided[0]),
        fills: splat(&rows.fill[0]),
        closes: splat(&rows.close[0]),
        depths,
    }
}

/// Writes accounts that took `n_steps` steps to their books.
fn finish(pack: &Pack, tracks: &mut [Track<'_>; LANES], n_steps: usize, marks: Block) {
    for (account, Track { book, .. }) in tracks.iter_mut().enumerate() {
        pack.write(account, book);
        (book.bar, book.marks[0]) = (book.bar + n_steps, marks);
    }
}
