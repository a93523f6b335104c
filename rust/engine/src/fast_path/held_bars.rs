//! Bars over which one or eight accounts of few symbols only hold.
//!
//! Shares stay, so a bar costs one valuation; cash moves only where interest or a borrow fee accrues. The numbers are
//! those of the step, expression by expression.

use pulp::{Simd, WithSimd};

use crate::account::block_terms::BlockTerms;
use crate::account::book::{Book, MAX_NAV};
use crate::account::costs::StepCosts;
use crate::account::outcome::Stepped;
use crate::account::rates::Rates;
use crate::account::rules::Rules;
use crate::account::workspace::Workspace;
use crate::fast_path::account_vector::costs;
use crate::fast_path::block_run::{BlockRun, HeldBar};
use crate::fast_path::features::Features;
use crate::fast_path::held_rates::{accrues, rate};
use crate::fast_path::held_together;
use crate::market::dataset::Dataset;
use crate::vector::lane_sums::{Block, LANES, each};

/// Fewest holds in a row that are worth the change to this loop and back.
const STRETCH: usize = 8;

/// Returns whether a stretch of holds begins at a place of the first orders.
///
/// Not inlined: the loop of dense orders would pay for it.
#[cold]
#[inline(never)]
pub(super) fn begins(tracks: &[BlockRun<'_>], place: usize, n_symbols: usize) -> bool {
    tracks.iter().all(|track| {
        let stretch = track.orders.get(place..place + STRETCH * n_symbols);
        stretch.is_some_and(|orders| orders.iter().all(|order| order.is_nan()))
    })
}

/// Runs the decisions of one or eight accounts while they are holds.
///
/// Returns how many were run. No price is missing. It stops before a decision that the fast path does not support.
pub(super) fn run<const A: usize>(
    market: &Dataset,
    rules: &Rules,
    tracks: &mut [BlockRun<'_>; A],
    workspace: &Workspace,
) -> usize {
    if let [track] = &mut tracks[..] {
        return run_one(market, rules, track, workspace);
    }
    match <&mut [BlockRun<'_>; LANES]>::try_from(&mut tracks[..]) {
        Ok(tracks) => held_together::run(market, rules, tracks, workspace),
        Err(_) => 0,
    }
}

/// Runs the decisions of an account of at most eight symbols while they are holds.
///
/// Returns how many were run, with the outcome of each in `track.held`. It stops before a decision that the fast path
/// does not support; run that step with `step_once`, which gives the same numbers.
pub fn run_held(market: &Dataset, rules: &Rules, track: &mut BlockRun<'_>, workspace: &Workspace) -> usize {
    let features = Features::of(market, BlockTerms::all(rules));
    if market.n_symbols() > LANES || features.is_none_or(|of| of.gaps) {
        return 0;
    }
    run_one(market, rules, track, workspace)
}

fn run_one(market: &Dataset, rules: &Rules, track: &mut BlockRun<'_>, workspace: &Workspace) -> usize {
    match (market.n_symbols(), track.totals.is_some() || track.held.is_some()) {
        (1, false) => workspace.arch.dispatch(Held::<1, false>::of(market, rules, track)),
        (1, true) => workspace.arch.dispatch(Held::<1, true>::of(market, rules, track)),
        (2..=4, false) => workspace.arch.dispatch(Held::<4, false>::of(market, rules, track)),
        (2..=4, true) => workspace.arch.dispatch(Held::<4, true>::of(market, rules, track)),
        (_, false) => workspace.arch.dispatch(Held::<8, false>::of(market, rules, track)),
        (_, true) => workspace.arch.dispatch(Held::<8, true>::of(market, rules, track)),
    }
}

/// Held bars of an account of at most `N` symbols.
///
/// With `REPORTS` it adds the totals, and keeps the bars where they are wanted.
struct Held<'r, 'a, const N: usize, const REPORTS: bool> {
    market: &'r Dataset,
    rules: &'r Rules,
    track: &'r mut BlockRun<'a>,
}

impl<'r, 'a, const N: usize, const REPORTS: bool> Held<'r, 'a, N, REPORTS> {
    fn of(market: &'r Dataset, rules: &'r Rules, track: &'r mut BlockRun<'a>) -> Self {
        Self { market, rules, track }
    }

    /// Runs the loop. Unless `ACCRUES`, cash does not move.
    #[inline(always)]
    fn run<const ACCRUES: bool>(self) -> usize {
        let Self { market, rules, track } = self;
        let Book { bar: first, mut cash, mut nav, .. } = *track.book;
        let shares: [f64; N] = std::array::from_fn(|k| track.book.shares[0][k]);
        let (rates, margin) = (&rules.rates, rules.limits().maintenance_margin);
        let mut totals = track.totals.as_deref().copied().unwrap_or_default();
        let mut n_steps = 0;
        for orders in track.orders.chunks_exact(market.n_symbols()) {
            let bar = first + n_steps + 1;
            if !is_hold::<N>(orders) || market.has_actions(bar) || nav > MAX_NAV {
                break;
            }
            let values = product(&shares, &market.closes(bar)[0]);
            let mut accrual = Accrual { cash, paid: StepCosts::default(), interest: 0.0 };
            if ACCRUES {
                accrual = Accrual::of(rates, market, cash, short_value(&shares, &market.fill_prices(bar)[0]));
            }
            let after = accrual.cash + total(&values);
            let is_called = margin > 0.0 && margin * total(&values.map(f64::abs)) > after;
            if !(after > 0.0 && f64::MAX >= after) || is_called {
                break;
            }
            if REPORTS {
                let weights = weights(&shares, &values, after);
                totals.add(nav, 0.0, &accrual.paid, (total(&weights.map(f64::abs)), total(&weights)));
                if let Some(held) = &mut track.held {
                    let stepped = stepped(after, after / nav - 1.0, &accrual);
                    held.push(HeldBar { stepped, weights: each(|k| weights.get(k).copied().unwrap_or(0.0)) });
                }
            }
            (cash, nav) = (accrual.cash, after);
            track.nav.push(nav);
            n_steps += 1;
        }
        if n_steps > 0 {
            let book = &mut *track.book;
            (book.bar, book.cash, book.nav) = (first + n_steps, cash, nav);
            book.marks.copy_from_slice(market.closes(book.bar));
            book.weigh();
            if let Some(of) = &mut track.totals {
                **of = totals;
            }
        }
        n_steps
    }
}

impl<const N: usize, const REPORTS: bool> WithSimd for Held<'_, '_, N, REPORTS> {
    type Output = usize;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> usize {
        if accrues(self.track.book, &self.rules.rates) { self.run::<true>() } else { self.run::<false>() }
    }
}

/// Returns the outcome of a hold.
fn stepped(nav: f64, reward: f64, accrual: &Accrual) -> Stepped {
    Stepped {
        nav,
        reward,
        costs: accrual.paid,
        interest: accrual.interest,
        funding: 0.0,
        dividends: 0.0,
        settlement: 0.0,
        shortfall: 0.0,
        turnover: 0.0,
        forced_turnover: 0.0,
        terminated: false,
    }
}

/// Cash after interest and the borrow fee of a bar, and what was paid and received.
struct Accrual {
    cash: f64,
    paid: StepCosts,
    interest: f64,
}

impl Accrual {
    #[inline(always)]
    fn of(rates: &Rates, market: &Dataset, cash: f64, short: f64) -> Self {
        let (own, ppy) = (cash - short, market.accruals_per_year());
        let (idle, borrow) = (own * rate(rates, own) / ppy, short * rates.borrow / ppy);
        let (paid, interest) = costs((0.0, 0.0, 0.0), (own, idle, borrow));
        Self { cash: cash + idle - borrow, paid, interest }
    }
}

/// Returns whether all of at most `N` orders are holds.
#[inline(always)]
fn is_hold<const N: usize>(orders: &[f64]) -> bool {
    let all = |orders: &[f64]| orders.iter().fold(true, |all, order| all & order.is_nan());
    // A length known to the compiler is one comparison of a vector.
    <&[f64; N]>::try_from(orders).map_or_else(|_| all(orders), |orders| all(orders))
}

#[inline(always)]
fn product<const N: usize>(shares: &[f64; N], prices: &Block) -> [f64; N] {
    std::array::from_fn(|k| shares[k] * prices[k])
}

#[inline(always)]
fn short_value<const N: usize>(shares: &[f64; N], prices: &Block) -> f64 {
    total(&product(&shares.map(|shares| if shares < 0.0 { -shares } else { 0.0 }), prices))
}

#[inline(always)]
fn weights<const N: usize>(shares: &[f64; N], values: &[f64; N], nav: f64) -> [f64; N] {
    std::array::from_fn(|k| if shares[k] == 0.0 { 0.0 } else { values[k] / nav })
}

/// Returns the total over 1, 4 or 8 symbols in the order of the contract.
#[inline(always)]
fn total<const N: usize>(of: &[f64; N]) -> f64 {
    if N == 1 {
        return 0.0 + of[0];
    }
    let pair = |k: usize| if N > 4 { of[k] + of[k + 4] } else { of[k] };
    0.0 + ((pair(0) + pair(2)) + (pair(1) + pair(3)))
}
