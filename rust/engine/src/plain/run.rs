//! Plain steps of eight accounts of few symbols, one after the other.
//!
//! The accounts are at the same bar and stay in their vectors from bar to bar: what is done once for an account is done
//! once for all of them, and what is done once a run is not done in every step.

use pulp::{Simd, WithSimd};

use crate::book::{Book, MAX_NAV};
use crate::dataset::Dataset;
use crate::lanes::{self, Block, LANES, each};
use crate::plain::account::{Sums, scale, settle};
use crate::plain::order::{Depth, Order, Terms};
use crate::plain::{Features, Rows, total};
use crate::simd::{Vector, store};
use crate::step::{Desk, Rules};

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
    let Some(Features { gaps, varies, owes }) = Features::of(market, rules) else { return 0 };
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

/// Eight accounts, each an element of every block.
///
/// Shares and weights are symbol by symbol.
#[derive(Clone, Copy)]
struct Accounts {
    cash: Block,
    nav: Block,
    shares: [Block; LANES],
    weights: [Block; LANES],
}

impl Accounts {
    fn of(tracks: &[Track<'_>; LANES]) -> Self {
        Self {
            cash: each(|a| tracks[a].book.cash),
            nav: each(|a| tracks[a].book.nav),
            shares: std::array::from_fn(|symbol| each(|a| tracks[a].book.shares[0][symbol])),
            weights: std::array::from_fn(|symbol| each(|a| tracks[a].book.weights[0][symbol])),
        }
    }

    fn write(&self, tracks: &mut [Track<'_>; LANES], n_steps: usize, marks: &Block) {
        for (a, Track { book, .. }) in tracks.iter_mut().enumerate() {
            (book.bar, book.cash, book.nav) = (book.bar + n_steps, self.cash[a], self.nav[a]);
            book.marks[0] = *marks;
            book.shares[0] = each(|symbol| self.shares[symbol][a]);
            book.weights[0] = each(|symbol| self.weights[symbol][a]);
        }
    }
}

/// What all accounts are shown of a bar, and what each asks for of a symbol.
struct Bar<'a, const N: usize> {
    rows: Rows<'a>,
    marks: Block,
    asked: &'a [Block; N],
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
        let terms = Terms::new(simd, rules);
        let mut accounts = [Accounts::of(tracks); 2];
        let [mut now, mut next] = accounts.each_mut();
        let (mut marks, mut n_steps) = (tracks[0].book.marks[0], 0);
        let mut asked = [[0.0; LANES]; N];
        while n_steps < n_decisions && !market.has_actions(first + n_steps + 1) {
            for (symbol, asked) in asked.iter_mut().enumerate().take(n) {
                *asked = each(|a| tracks[a].orders[n_steps * n + symbol]);
            }
            let bar = Bar { rows: Rows::at(market, rules, first + n_steps), marks, asked: &asked };
            let mut misfit = [0.0; LANES];
            for part in 0..LANES / S::F64_LANES {
                let step = Part { simd, market, rules, terms, bar: &bar, index: part };
                store(&mut misfit, part, step.run::<GAPS, VARIES, OWES>(now, next));
            }
            if misfit != [0.0; LANES] {
                break;
            }
            std::mem::swap(&mut now, &mut next);
            for (track, nav) in tracks.iter_mut().zip(now.nav) {
                track.nav.push(nav);
            }
            for (symbol, mark) in marks.iter_mut().enumerate().take(N) {
                let close = lanes::get(bar.rows.close, symbol);
                *mark = if GAPS && close.is_nan() { *mark } else { close };
            }
            n_steps += 1;
        }
        now.write(tracks, n_steps, &marks);
        n_steps
    }
}

/// As many accounts as a vector has elements.
struct Part<'a, S: Simd, const N: usize> {
    simd: S,
    market: &'a Dataset,
    rules: &'a Rules,
    terms: Terms<S>,
    bar: &'a Bar<'a, N>,
    index: usize,
}

impl<S: Simd, const N: usize> Part<'_, S, N> {
    /// Takes a step; what is above 0 tells that it must not be.
    #[inline(always)]
    fn run<const GAPS: bool, const VARIES: bool, const OWES: bool>(
        &self,
        now: &Accounts,
        next: &mut Accounts,
    ) -> Vector<S> {
        let Self { simd, market, rules, terms, bar, index } = self;
        let (zero, one) = (terms.zero, terms.one);
        let nav = self.vector(&now.nav);
        let mut misfit = nav.exceeds(Vector::splat(*simd, MAX_NAV)).select(one, zero);
        let mut targets = [zero; N];
        let (mut added, mut kept) = ([zero; N], [zero; N]);
        for (symbol, target) in targets.iter_mut().enumerate() {
            let cut = terms.cut(self.vector(&bar.asked[symbol]), self.vector(&now.weights[symbol]));
            *target = cut.target;
            (added[symbol], kept[symbol]) = (cut.added, cut.kept);
            misfit = misfit + cut.lost + cut.odd;
        }
        let added = total(zero, &added);
        let (_, exceeds) = scale(*simd, rules.limits().max_gross, added, total(zero, &kept));
        misfit = misfit + exceeds.select(added.exceeds(zero).select(one, zero), zero);

        let mut sums = [[zero; N]; 7];
        let mut marks = [zero; N];
        for (symbol, target) in targets.into_iter().enumerate() {
            let fill = terms.fill::<GAPS, VARIES, OWES>(
                &self.order(symbol, target, now),
                if VARIES { self.depth(symbol) } else { Depth { slippage: None, volume: None, ratio: None } },
            );
            let parts = [fill.flow, fill.traded, fill.slipped, fill.pushed, fill.short, fill.value, fill.gross];
            for (sum, part) in sums.iter_mut().zip(parts) {
                sum[symbol] = part;
            }
            misfit = misfit + fill.misfit;
            store(&mut next.shares[symbol], *index, fill.shares);
            marks[symbol] = fill.mark;
        }
        let [flow, traded, slipped, pushed, short, value, gross] = sums.map(|lanes| total(zero, &lanes));
        let sums = Sums { flow, traded, slipped, pushed, short, value, gross };
        let settled = settle::<S, OWES, false>(*simd, market, rules, (self.vector(&now.cash), nav), sums);
        store(&mut next.cash, *index, settled.cash);
        store(&mut next.nav, *index, settled.nav);
        for ((shares, weight), mark) in next.shares.iter().zip(&mut next.weights).zip(marks) {
            let shares = self.vector(shares);
            store(weight, *index, shares.equals(zero).select(zero, shares * mark / settled.nav));
        }
        misfit + settled.misfit
    }

    #[inline(always)]
    fn order(&self, symbol: usize, target: Vector<S>, now: &Accounts) -> Order<S> {
        let splat = |row: &[Block]| Vector::splat(self.simd, lanes::get(row, symbol));
        let Bar { rows, marks, asked } = self.bar;
        Order {
            asked: self.vector(&asked[symbol]),
            target,
            current: self.vector(&now.weights[symbol]),
            held: self.vector(&now.shares[symbol]),
            mark: Vector::splat(self.simd, marks[symbol]),
            nav: self.vector(&now.nav),
            decided: splat(rows.decided),
            fill: splat(rows.fill),
            close: splat(rows.close),
        }
    }

    #[inline(always)]
    fn depth(&self, symbol: usize) -> Depth<S> {
        let splat = |row: &[Block]| Vector::splat(self.simd, lanes::get(row, symbol));
        let rows = &self.bar.rows;
        Depth {
            slippage: rows.slippage.map(splat),
            volume: rows.volume.map(splat),
            ratio: rows.ratios.map(|(ratio, root)| (splat(ratio), splat(root))),
        }
    }

    #[inline(always)]
    fn vector(&self, block: &Block) -> Vector<S> {
        Vector::new(self.simd, S::as_simd_f64s(block).0[self.index])
    }
}
