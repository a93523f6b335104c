//! Bars over which eight accounts of few symbols only hold, as in `held_bars`.
//!
//! Element k of every block belongs to account k.

use pulp::{Simd, WithSimd};

use crate::account::book::{Book, MAX_NAV};
use crate::account::rules::Rules;
use crate::account::workspace::Workspace;
use crate::fast_path::block_run::BlockRun;
use crate::fast_path::held_rates::{accrues, rate};
use crate::market::dataset::Dataset;
use crate::vector::lane_sums::{Block, LANES, each};

/// Runs the decisions of eight accounts while all are holds.
///
/// Returns how many were run. No price is missing. It stops before a decision that the fast path does not support.
pub(super) fn run(market: &Dataset, rules: &Rules, tracks: &mut [BlockRun<'_>; LANES], workspace: &Workspace) -> usize {
    match market.n_symbols() {
        1 => workspace.arch.dispatch(Held::<1> { market, rules, tracks }),
        2..=4 => workspace.arch.dispatch(Held::<4> { market, rules, tracks }),
        _ => workspace.arch.dispatch(Held::<8> { market, rules, tracks }),
    }
}

/// Rows that are run before their NAV is written.
const ROWS: usize = 64;

/// Held bars of accounts of at most `N` symbols.
struct Held<'r, 'a, const N: usize> {
    market: &'r Dataset,
    rules: &'r Rules,
    tracks: &'r mut [BlockRun<'a>; LANES],
}

impl<const N: usize> WithSimd for Held<'_, '_, N> {
    type Output = usize;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> usize {
        if self.tracks.iter().any(|track| accrues(track.book, &self.rules.rates)) {
            self.run::<true>()
        } else {
            self.run::<false>()
        }
    }
}

impl<const N: usize> Held<'_, '_, N> {
    /// Runs the loop. Unless `ACCRUES`, cash does not move.
    #[inline(always)]
    fn run<const ACCRUES: bool>(self) -> usize {
        let Self { market, rules, tracks } = self;
        let (first, n) = (tracks[0].book.bar, market.n_symbols());
        let (mut cash, mut nav) = (each(|a| tracks[a].book.cash), each(|a| tracks[a].book.nav));
        let shares: [Block; N] = std::array::from_fn(|k| each(|a| tracks[a].book.shares[0][k]));
        let margin = rules.limits().maintenance_margin;
        let n_rows = tracks.iter().map(|track| track.orders.len() / n).min().unwrap_or(0);
        let (mut n_steps, mut navs) = (0, [[0.0; LANES]; ROWS]);
        while n_steps < n_rows {
            let (place, begun) = (n_steps * n, n_steps);
            let n_wanted = (n_rows - n_steps).min(ROWS);
            let n_holds =
                tracks.iter().fold(n_wanted, |rows, track| n_holds(&track.orders[place..place + rows * n]) / n);
            for kept in &mut navs[..n_holds] {
                let bar = first + n_steps + 1;
                if market.has_actions(bar) {
                    break;
                }
                let values = product(&shares, &market.closes(bar)[0]);
                let mut after_accrual = cash;
                if ACCRUES {
                    let shorts = shares.map(|shares| each(|a| if shares[a] < 0.0 { -shares[a] } else { 0.0 }));
                    let short = total(&product(&shorts, &market.fill_prices(bar)[0]));
                    let (rates, ppy) = (&rules.rates, market.accruals_per_year());
                    after_accrual = each(|a| {
                        let own = cash[a] - short[a];
                        cash[a] + own * rate(rates, own) / ppy - short[a] * rates.borrow / ppy
                    });
                }
                let value = total(&values);
                let after = each(|a| after_accrual[a] + value[a]);
                let mut fits = nav.iter().zip(after).fold(true, |all, (nav, after)| all & fits_step(*nav, after));
                if margin > 0.0 {
                    let gross = total(&values.map(|values| values.map(f64::abs)));
                    fits &= (0..LANES).all(|a| margin * gross[a] <= after[a]);
                }
                if !fits {
                    break;
                }
                (cash, nav, *kept) = (after_accrual, after, after);
                n_steps += 1;
            }
            for (a, track) in tracks.iter_mut().enumerate() {
                track.nav.extend(navs[..n_steps - begun].iter().map(|nav| nav[a]));
            }
            if n_steps - begun < n_wanted {
                break;
            }
        }
        for (a, track) in tracks.iter_mut().enumerate().take(if n_steps > 0 { LANES } else { 0 }) {
            let book: &mut Book = track.book;
            (book.bar, book.cash, book.nav) = (first + n_steps, cash[a], nav[a]);
            book.marks.copy_from_slice(market.closes(book.bar));
            book.weigh();
        }
        n_steps
    }
}

/// Returns whether the fast path supports the NAV before and after a step.
#[inline(always)]
fn fits_step(nav: f64, after: f64) -> bool {
    after > 0.0 && f64::MAX >= after && nav <= MAX_NAV
}

/// Returns the orders before the first that is not a hold.
#[inline(always)]
fn n_holds(orders: &[f64]) -> usize {
    // A loop without a branch per order is vectorized; most stretches are holds to their end.
    if orders.iter().fold(true, |all, order| all & order.is_nan()) {
        return orders.len();
    }
    orders.iter().position(|order| !order.is_nan()).unwrap_or(orders.len())
}

/// Returns the value of each symbol in each account.
#[inline(always)]
fn product<const N: usize>(shares: &[Block; N], prices: &Block) -> [Block; N] {
    std::array::from_fn(|k| each(|a| shares[k][a] * prices[k]))
}

/// Returns the totals over 1, 4 or 8 symbols in the order of the contract.
#[inline(always)]
fn total<const N: usize>(of: &[Block; N]) -> Block {
    if N == 1 {
        return each(|a| 0.0 + of[0][a]);
    }
    let pair = |k: usize| if N > 4 { each(|a| of[k][a] + of[k + 4][a]) } else { of[k] };
    let pairs = [pair(0), pair(1), pair(2), pair(3)];
    each(|a| 0.0 + ((pairs[0][a] + pairs[2][a]) + (pairs[1][a] + pairs[3][a])))
}
