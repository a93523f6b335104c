//! Plain steps of several accounts of few symbols, side by side.
//!
//! What is done once for an account is so done once for all of them.

use pulp::{Simd, WithSimd};

use crate::book::Book;
use crate::dataset::Dataset;
use crate::lanes::{Block, LANES};
use crate::plain::account::{Sums, scale, settle};
use crate::plain::order::{Depth, Order, Terms};
use crate::plain::tape::{QUAD, Tape, quad_of, turn, turn_back};
use crate::plain::{Features, total};
use crate::simd::Vector;
use crate::step::{Desk, Growth, Rules};

/// An account of a group and what it is to trade to.
#[derive(Debug)]
pub struct Account<'a> {
    /// The account.
    pub book: &'a mut Book,
    /// One weight per symbol; NaN is a hold.
    pub orders: &'a [f64],
}

/// Steps those of eight accounts whose step is plain.
///
/// `step_once` gives the others, and these, the same numbers.
///
/// `grown` gets what each step came to, and none where it was not plain: that account is as it was. Nothing else
/// is told of the steps. A market of more than eight symbols has no groups.
pub fn step_group(
    market: &Dataset,
    rules: &Rules,
    accounts: &mut [Account<'_>; LANES],
    grown: &mut [Option<Growth>; LANES],
    desk: &Desk,
) {
    let Some(Features { gaps, varies, owes }) = Features::of(market, rules) else { return };
    if accounts.iter().any(|account| market.has_actions(account.book.bar + 1) || account.book.check_nav().is_err()) {
        return;
    }
    let run = match (market.n_symbols(), gaps, varies, owes) {
        (0..=4, false, false, false) => run::<4, false, false, false>,
        (0..=4, false, false, true) => run::<4, false, false, true>,
        (0..=4, false, true, false) => run::<4, false, true, false>,
        (0..=4, false, true, true) => run::<4, false, true, true>,
        (0..=4, true, false, _) => run::<4, true, false, true>,
        (0..=4, true, true, _) => run::<4, true, true, true>,
        (5..=8, false, false, false) => run::<8, false, false, false>,
        (5..=8, false, false, true) => run::<8, false, false, true>,
        (5..=8, false, true, false) => run::<8, false, true, false>,
        (5..=8, false, true, true) => run::<8, false, true, true>,
        (5..=8, true, false, _) => run::<8, true, false, true>,
        (5..=8, true, true, _) => run::<8, true, true, true>,
        _ => return,
    };
    run(market, rules, accounts, grown, desk);
}

fn run<const N: usize, const GAPS: bool, const VARIES: bool, const OWES: bool>(
    market: &Dataset,
    rules: &Rules,
    accounts: &mut [Account<'_>; LANES],
    grown: &mut [Option<Growth>; LANES],
    desk: &Desk,
) {
    desk.arch.dispatch(Group::<'_, '_, N, GAPS, VARIES, OWES> { market, rules, accounts, grown });
}

/// Eight accounts of at most `N` symbols; the others as in [`Terms::fill`].
struct Group<'g, 'a, const N: usize, const GAPS: bool, const VARIES: bool, const OWES: bool> {
    market: &'g Dataset,
    rules: &'g Rules,
    accounts: &'g mut [Account<'a>; LANES],
    grown: &'g mut [Option<Growth>; LANES],
}

impl<const N: usize, const GAPS: bool, const VARIES: bool, const OWES: bool> WithSimd
    for Group<'_, '_, N, GAPS, VARIES, OWES>
{
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { market, rules, accounts, grown } = self;
        let part = Part { simd, market, rules, terms: Terms::new(simd, rules), tape: Tape::new(market, rules) };
        let parts = accounts.chunks_exact_mut(S::F64_LANES).zip(grown.chunks_exact_mut(S::F64_LANES));
        for (accounts, grown) in parts {
            part.step::<N, GAPS, VARIES, OWES>(accounts, grown);
        }
    }
}

/// What the accounts of a group share; it steps as many as a vector has elements.
struct Part<'g, S: Simd> {
    simd: S,
    market: &'g Dataset,
    rules: &'g Rules,
    terms: Terms<S>,
    tape: Tape<'g>,
}

/// What accounts are to trade to, symbol by symbol.
struct Wanted<S: Simd, const N: usize> {
    orders: [Vector<S>; N],
    current: [Vector<S>; N],
    targets: [Vector<S>; N],
    misfit: Vector<S>,
}

/// What accounts hold after their fills, symbol by symbol.
struct Held<S: Simd, const N: usize> {
    shares: [Vector<S>; N],
    marks: [Vector<S>; N],
    sums: Sums<Vector<S>>,
    misfit: Vector<S>,
}

impl<S: Simd> Part<'_, S> {
    #[inline(always)]
    fn step<const N: usize, const GAPS: bool, const VARIES: bool, const OWES: bool>(
        &self,
        accounts: &mut [Account<'_>],
        grown: &mut [Option<Growth>],
    ) {
        let (accounts, grown) = (&mut accounts[..S::F64_LANES], &mut grown[..S::F64_LANES]);
        let zero = self.terms.zero;
        let order = self.order();
        let (cash, nav) = (self.gather(|e| accounts[order[e]].book.cash), self.gather(|e| accounts[order[e]].book.nav));
        let wanted = self.want::<N>(accounts);
        let held = self.fill::<N, GAPS, VARIES, OWES>(accounts, nav, &wanted);
        let settled = settle::<S, OWES, false>(self.simd, self.market, self.rules, (cash, nav), held.sums);
        let misfit = held.misfit + settled.misfit;
        // No plain step has a reward that is not a number.
        let reward = misfit.exceeds(zero).select(self.splat(f64::NAN), settled.reward);
        let [cash, nav, reward, turnover] = [settled.cash, settled.nav, reward, settled.turnover].map(elements);
        for e in 0..S::F64_LANES {
            let told = Growth { nav: nav[e], reward: reward[e], turnover: turnover[e] };
            let is_plain = !told.reward.is_nan();
            grown[order[e]] = is_plain.then_some(told);
            if is_plain {
                let book = &mut *accounts[order[e]].book;
                (book.bar, book.cash, book.nav) = (book.bar + 1, cash[e], told.nav);
            }
        }
        for quad in 0..N / QUAD {
            let at = |k: usize| (held.shares[quad * QUAD + k], held.marks[quad * QUAD + k]);
            let weight =
                |(shares, mark): (Vector<S>, Vector<S>)| shares.equals(zero).select(zero, shares * mark / settled.nav);
            let weights = turn_back(self.simd, std::array::from_fn(|k| weight(at(k))));
            let shares = turn_back(self.simd, std::array::from_fn(|k| at(k).0));
            let marks = GAPS.then(|| turn_back(self.simd, std::array::from_fn(|k| at(k).1)));
            for (a, account) in accounts.iter_mut().enumerate().filter(|(a, _)| grown[*a].is_some()) {
                let (book, turned) = (&mut *account.book, |rows: &[Block; 2]| *quad_of(&rows[a / 2], a % 2));
                let mark = marks.as_ref().map_or_else(|| *quad_of(&self.tape.close[book.bar], quad), turned);
                book.shares[0][quad * QUAD..][..QUAD].copy_from_slice(&turned(&shares));
                book.marks[0][quad * QUAD..][..QUAD].copy_from_slice(&mark);
                book.weights[0][quad * QUAD..][..QUAD].copy_from_slice(&turned(&weights));
            }
        }
    }

    /// Steps 1 to 4.
    #[inline(always)]
    fn want<const N: usize>(&self, accounts: &[Account<'_>]) -> Wanted<S, N> {
        let (terms, zero) = (&self.terms, self.terms.zero);
        let (mut orders, mut current, mut targets) = ([zero; N], [zero; N], [zero; N]);
        let (mut added, mut kept, mut misfit) = ([zero; N], [zero; N], zero);
        for quad in 0..N / QUAD {
            orders[quad * QUAD..][..QUAD].copy_from_slice(&self.asked(accounts, quad));
            let held = turn(self.simd, |a| quad_of(&accounts[a].book.weights[0], quad));
            current[quad * QUAD..][..QUAD].copy_from_slice(&held);
        }
        for symbol in 0..N {
            let cut = terms.cut(orders[symbol], current[symbol]);
            targets[symbol] = cut.target;
            (added[symbol], kept[symbol]) = (cut.added, cut.kept);
            misfit = misfit + cut.lost + cut.odd;
        }
        let (added, kept) = (total(zero, &added), total(zero, &kept));
        let (scale, exceeds) = scale(self.simd, self.rules.limits().max_gross, added, kept);
        if exceeds.any() {
            for symbol in 0..N {
                let scaled = exceeds.select(terms.scale(targets[symbol], current[symbol], scale), targets[symbol]);
                targets[symbol] = added.exceeds(zero).select(scaled, targets[symbol]);
            }
        }
        Wanted { orders, current, targets, misfit }
    }

    /// Steps 5 to 13.
    #[inline(always)]
    fn fill<const N: usize, const GAPS: bool, const VARIES: bool, const OWES: bool>(
        &self,
        accounts: &[Account<'_>],
        nav: Vector<S>,
        wanted: &Wanted<S, N>,
    ) -> Held<S, N> {
        let (simd, tape, zero) = (self.simd, &self.tape, self.terms.zero);
        let bar = |a: usize| accounts.get(a).map_or(0, |account| account.book.bar);
        let bars = [bar(0), bar(1), bar(2), bar(3)];
        let mut sums = [[zero; N]; 5];
        let (mut shares, mut marks, mut misfit) = ([zero; N], [zero; N], wanted.misfit);
        for quad in 0..N / QUAD {
            let held = turn(simd, |a| quad_of(&accounts[a].book.shares[0], quad));
            let fills = turn(simd, |a| quad_of(&tape.fill[bars[a] + 1 - tape.lag], quad));
            let decided = turn(simd, |a| quad_of(&tape.close[bars[a]], quad));
            let closes = turn(simd, |a| quad_of(&tape.close[bars[a] + 1], quad));
            let marked = if GAPS { turn(simd, |a| quad_of(&accounts[a].book.marks[0], quad)) } else { decided };
            let depths = if VARIES { tape.depths(simd, |a| bars[a] + 1, quad) } else { [Depth::none(); QUAD] };
            for k in 0..QUAD {
                let symbol = quad * QUAD + k;
                let order = Order {
                    asked: wanted.orders[symbol],
                    target: wanted.targets[symbol],
                    current: wanted.current[symbol],
                    held: held[k],
                    mark: marked[k],
                    nav,
                    decided: decided[k],
                    fill: fills[k],
                    close: closes[k],
                };
                let fill = self.terms.fill::<GAPS, VARIES, OWES>(&order, depths[k]);
                for (sum, part) in sums.iter_mut().zip([fill.flow, fill.traded, fill.short, fill.value, fill.gross]) {
                    sum[symbol] = part;
                }
                misfit = if GAPS || VARIES { misfit + fill.misfit } else { misfit };
                (shares[symbol], marks[symbol]) = (fill.shares, fill.mark);
            }
        }
        let [flow, traded, short, value, gross] = sums.map(|lanes| total(zero, &lanes));
        // What is told of the costs alone moves no money.
        let sums = Sums { flow, traded, slipped: zero, pushed: zero, short, value, gross };
        Held { shares, marks, sums, misfit }
    }

    /// Returns four of the weights that accounts are to trade to.
    #[inline(always)]
    fn asked(&self, accounts: &[Account<'_>], quad: usize) -> [Vector<S>; QUAD] {
        let (n_symbols, place) = (self.market.n_symbols(), quad * QUAD);
        if place + QUAD <= n_symbols {
            // Read where they are: a vector that is read back from single numbers waits for them.
            return turn(self.simd, |a| accounts[a].orders[place..][..QUAD].try_into().expect("four symbols"));
        }
        let mut asked = [[0.0; QUAD]; QUAD];
        if place < n_symbols {
            for (asked, account) in asked.iter_mut().zip(accounts) {
                pad(asked, account, quad);
            }
        }
        turn(self.simd, |a| &asked[a])
    }

    #[inline(always)]
    fn splat(&self, value: f64) -> Vector<S> {
        Vector::splat(self.simd, value)
    }

    /// Returns which account each element of a turned vector is of.
    #[inline(always)]
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to 3")]
    fn order(&self) -> [usize; QUAD] {
        const PLACES: [[f64; QUAD]; QUAD] = [[0.0; QUAD], [1.0; QUAD], [2.0; QUAD], [3.0; QUAD]];
        elements(turn(self.simd, |a| &PLACES[a])[0]).map(|a| a as usize)
    }

    /// Returns the vector whose element e is `of(e)`.
    #[inline(always)]
    fn gather(&self, of: impl Fn(usize) -> f64) -> Vector<S> {
        // Written out, for a loop would go by way of memory.
        let at = |e: usize| if e < S::F64_LANES { of(e) } else { 0.0 };
        let row = [at(0), at(1), at(2), at(3)];
        Vector::new(self.simd, S::as_simd_f64s(&row[..S::F64_LANES]).0[0])
    }
}

/// Returns the elements of a vector, the first of four.
#[inline(always)]
fn elements<S: Simd>(of: Vector<S>) -> [f64; QUAD] {
    let mut elements = [0.0; QUAD];
    S::as_mut_simd_f64s(&mut elements[..S::F64_LANES]).0[0] = of.value();
    elements
}

/// Writes four of the weights that an account is to trade to.
///
/// They are 0 beyond the last symbol.
#[inline(always)]
fn pad(asked: &mut [f64; QUAD], account: &Account<'_>, quad: usize) {
    *asked = [0.0; QUAD];
    for (asked, order) in asked.iter_mut().zip(&account.orders[quad * QUAD..]) {
        *asked = *order;
    }
}
