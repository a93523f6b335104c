//! Plain steps of eight accounts, each at a bar of its own.

use pulp::{Simd, WithSimd};

use crate::account::lane_terms::Whose;
use crate::account::workspace::Desk;
use crate::fast_path::account_block::Pack;
use crate::fast_path::account_vector::Dues;
use crate::fast_path::features::Features;
use crate::fast_path::few_symbols::{After, Before, Part, Quotes, step};
use crate::fast_path::market_tape::{QUAD, Tape, quad_of, turn, turn_back};
use crate::fast_path::observation_writer::{Observed, Shown};
use crate::fast_path::order_vector::Terms;
use crate::market::dataset::Dataset;
use crate::vector::lane_sums::{Block, LANES, each};
use crate::vector::simd::{Vector, store};

/// What eight accounts are told to do, and of which of them to do it.
#[derive(Clone, Copy, Debug)]
pub struct Orders<'a> {
    /// One weight per symbol, account after account [`Orders::stride`] apart.
    ///
    /// NaN is a hold.
    ///
    /// The weight of no symbol is 0.
    pub weights: &'a [f64],
    /// Bit k is set where account k is to be stepped.
    pub which: u8,
    /// Bit k is set where a pack has room for an account and none is there.
    ///
    /// What is done in that place is of no account, so that it need not be left out.
    pub vacant: u8,
}

impl Orders<'_> {
    /// Returns how far apart the first weights of two neighbours are.
    ///
    /// As many as a step takes at once: four, or whole blocks of eight.
    #[must_use]
    pub fn stride(n_symbols: usize) -> usize {
        if n_symbols <= QUAD { QUAD } else { n_symbols.next_multiple_of(LANES) }
    }

    /// Returns the places that are stepped, a bit each.
    ///
    /// Also those of no account.
    #[inline(always)]
    fn asked_for(&self) -> u8 {
        self.which | self.vacant
    }
}

/// What the steps of eight accounts came to.
#[derive(Debug)]
pub struct Growths {
    /// See [`crate::Stepped::reward`].
    pub rewards: Block,
    /// See [`crate::Stepped::turnover`]; none where nobody asks.
    pub turnovers: Option<Block>,
}

/// Steps those of eight accounts whose step is plain.
///
/// Returns which, a bit an account.
///
/// `step_once` gives the others, and these, the same numbers. The others are as they were, and what is told of them is
/// nothing. A market of more than eight symbols has no packs.
///
/// # Panics
///
/// Panics if an account is at the last bar of the data, or a weight or a place of an observation is missing.
pub fn step_pack(
    market: &Dataset,
    rules: Whose<'_>,
    pack: &mut Pack,
    orders: Orders<'_>,
    told: (&mut Growths, Option<&mut Observed<'_>>),
    desk: &Desk,
) -> u8 {
    let Some(Features { gaps, varies, owes }) = Features::of(market, rules) else { return 0 };
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
        _ => return 0,
    };
    let mut which = orders.which;
    if market.has_any_actions() {
        for (account, bar) in pack.bars.iter().enumerate() {
            if which >> account & 1 == 1 && market.has_actions(bar + 1) {
                which &= !(1 << account);
            }
        }
    }
    run(market, rules, pack, Orders { which, ..orders }, told, desk)
}

fn run<const N: usize, const GAPS: bool, const VARIES: bool, const OWES: bool>(
    market: &Dataset,
    rules: Whose<'_>,
    pack: &mut Pack,
    orders: Orders<'_>,
    told: (&mut Growths, Option<&mut Observed<'_>>),
    desk: &Desk,
) -> u8 {
    desk.arch.dispatch(Group::<'_, '_, N, GAPS, VARIES, OWES> { market, rules, pack, orders, told })
}

/// Eight accounts of at most `N` symbols; the others as in [`Terms::fill`].
struct Group<'g, 'o, const N: usize, const GAPS: bool, const VARIES: bool, const OWES: bool> {
    market: &'g Dataset,
    rules: Whose<'g>,
    pack: &'g mut Pack,
    orders: Orders<'g>,
    told: (&'g mut Growths, Option<&'g mut Observed<'o>>),
}

impl<const N: usize, const GAPS: bool, const VARIES: bool, const OWES: bool> WithSimd
    for Group<'_, '_, N, GAPS, VARIES, OWES>
{
    type Output = u8;

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) -> u8 {
        let (which, asked_for) = (self.orders.which, self.orders.asked_for());
        let bars = if asked_for == u8::MAX { self.pack.bars } else { bars_of(asked_for, &self.pack.bars) };
        let (mut stepped, mut shown) = (0, Shown::new());
        if S::F64_LANES == LANES {
            // A loop of one round would first do what only some markets need: the compiler takes it out of loops.
            stepped = self.step_part(Part { simd, index: 0 }, &bars, &mut shown);
        } else {
            for index in 0..LANES / S::F64_LANES {
                stepped |= self.step_part(Part { simd, index }, &bars, &mut shown) << (index * S::F64_LANES);
            }
        }
        if let Some(observed) = self.told.1 {
            observed.write(simd, self.market.n_symbols(), (which, &bars), &shown);
        }
        stepped &= which;
        for (account, bar) in self.pack.bars.iter_mut().enumerate() {
            *bar += usize::from(stepped >> account & 1);
        }
        stepped
    }
}

impl<const N: usize, const GAPS: bool, const VARIES: bool, const OWES: bool> Group<'_, '_, N, GAPS, VARIES, OWES> {
    /// Steps as many accounts as a vector has elements.
    ///
    /// Returns of which the step is plain, a bit each. `bars` are those of all eight.
    #[inline(always)]
    fn step_part<S: Simd>(&mut self, part: Part<S>, bars: &[usize; LANES], shown: &mut Shown<N>) -> u8 {
        let Self { market, rules, pack, orders, told: (growths, _) } = self;
        let (simd, index) = (part.simd, part.index);
        let weights: &[[f64; N]; LANES] = orders.weights.as_chunks().0.first_chunk().expect("eight accounts");
        if orders.which >> (index * S::F64_LANES) & (u8::MAX >> (LANES - S::F64_LANES)) == 0 {
            return 0;
        }
        let (numbers, tape) = (rules.numbers(simd, index), Tape::new(market, *rules));
        let rules = (Terms::of(simd, &numbers), Dues::of(simd, market, &numbers, rules.traits().accrues));
        let before = part.before::<N>(pack);
        let asked = part.turned(|a| &weights[a]);
        let quotes = |quad| part.quotes::<GAPS, VARIES>(&tape, bars, pack, (&rules.0, before.nav, quad));
        let mut after = step::<S, N, GAPS, VARIES, OWES>(simd, &rules, &before, &asked, quotes);
        store(&mut growths.rewards, index, after.settled.reward);
        if let Some(turnovers) = &mut growths.turnovers {
            store(turnovers, index, after.settled.turnover);
        }
        part.show(&after, shown);
        let asked_for = orders.asked_for();
        if asked_for != u8::MAX {
            let idle = others(asked_for);
            after.misfit = after.misfit.or(part.vector(&idle).exceeds(rules.0.zero));
        }
        part.keep_plain::<N, GAPS>(&before, &after, pack)
    }
}

/// Returns the bars of `which`, a bit each, and 0 for the others.
///
/// Those may be at the last bar, and are shown the first two. Apart, or it would be worked out where all are.
#[cold]
#[inline(never)]
fn bars_of(which: u8, bars: &[usize; LANES]) -> [usize; LANES] {
    std::array::from_fn(|account| if which >> account & 1 == 1 { bars[account] } else { 0 })
}

/// Returns 1 for those that are not among `which`, a bit each.
///
/// Apart, as above.
#[cold]
#[inline(never)]
fn others(which: u8) -> Block {
    each(|account| f64::from(u8::from(which >> account & 1 == 0)))
}

impl<S: Simd> Part<S> {
    /// Returns a row of each account, turned: a vector a symbol.
    #[inline(always)]
    fn turned<'a, const N: usize>(self, row_of: impl Fn(usize) -> &'a [f64; N]) -> [Vector<S>; N] {
        let mut vectors = [Vector::splat(self.simd, 0.0); N];
        for quad in 0..N / QUAD {
            let turned = turn(self.simd, |a| quad_of(row_of(self.index * S::F64_LANES + a), quad));
            vectors[quad * QUAD..][..QUAD].copy_from_slice(&turned);
        }
        vectors
    }

    #[inline(always)]
    fn quotes<const GAPS: bool, const VARIES: bool>(
        self,
        tape: &Tape<'_>,
        bars: &[usize; LANES],
        pack: &Pack,
        (terms, nav, quad): (&Terms<S>, Vector<S>, usize),
    ) -> Quotes<S> {
        let bar = |a: usize| bars[self.index * S::F64_LANES + a];
        let next = |blocks: &[Block]| turn(self.simd, |a| quad_of(&blocks[bar(a) + 1], quad));
        let closes = |a: usize| tape.close[bar(a)..].first_chunk::<2>().expect("a bar after that decided on");
        let decided = turn(self.simd, |a| quad_of(&closes(a)[0], quad));
        // Where nothing is missing the mark is the close.
        let marks = if GAPS { self.vectors(&pack.marks[quad * QUAD..]) } else { decided };
        let mut depths = [terms.flat(); QUAD];
        if VARIES {
            depths = tape.depths(terms, |a| bar(a) + 1, quad, (&marks, nav));
        }
        Quotes {
            marks,
            // Not `map_or`, which is a call and hands vectors over by way of memory.
            fills: if let Some(fill) = tape.fill { next(fill) } else { decided },
            closes: turn(self.simd, |a| quad_of(&closes(a)[1], quad)),
            decided,
            depths,
        }
    }

    /// Returns to `shown` what is seen of accounts after a step.
    #[inline(always)]
    fn show<const N: usize>(self, after: &After<S, N>, shown: &mut Shown<N>) {
        let first = self.index * S::F64_LANES;
        store(&mut shown.cash, self.index, after.settled.cash / after.settled.nav);
        for quad in 0..N / QUAD {
            let turned = turn_back(self.simd, std::array::from_fn(|k| after.weights[quad * QUAD + k]));
            for (weights, turned) in shown.weights[first..].iter_mut().zip(&turned[..S::F64_LANES]) {
                weights[quad * QUAD..][..QUAD].copy_from_slice(turned);
            }
        }
    }

    /// Takes over what became of the accounts whose step is plain.
    ///
    /// Returns which, a bit each.
    #[inline(always)]
    fn keep_plain<const N: usize, const GAPS: bool>(
        self,
        before: &Before<S, N>,
        after: &After<S, N>,
        pack: &mut Pack,
    ) -> u8 {
        if !after.misfit.any() {
            self.keep(after, pack);
            if GAPS {
                for (marks, after) in pack.marks.iter_mut().zip(after.marks) {
                    store(marks, self.index, after);
                }
            }
            return u8::MAX >> (LANES - S::F64_LANES);
        }
        let misfit = after.misfit;
        let select = |before: Vector<S>, after: Vector<S>| misfit.select(before, after);
        store(&mut pack.cash, self.index, select(before.cash, after.settled.cash));
        store(&mut pack.nav, self.index, select(before.nav, after.settled.nav));
        for symbol in 0..N {
            store(&mut pack.shares[symbol], self.index, select(before.shares[symbol], after.shares[symbol]));
            store(&mut pack.weights[symbol], self.index, select(before.weights[symbol], after.weights[symbol]));
            if GAPS {
                let marks = select(self.vector(&pack.marks[symbol]), after.marks[symbol]);
                store(&mut pack.marks[symbol], self.index, marks);
            }
        }
        misfit.not().bits()
    }
}
