//! Plain steps of eight accounts, each at a bar of its own.

use pulp::{Simd, WithSimd};

use crate::dataset::Dataset;
use crate::lanes::{Block, LANES};
use crate::plain::Features;
use crate::plain::abreast::{After, Before, Part, Quotes, step};
use crate::plain::account::Dues;
use crate::plain::order::{Depth, Terms};
use crate::plain::pack::Pack;
use crate::plain::tape::{QUAD, Tape, quad_of, turn, turn_back};
use crate::plain::whose::Whose;
use crate::simd::{Vector, narrow, store};
use crate::step::Desk;

/// What eight accounts are told to do, and of which of them to do it.
#[derive(Clone, Copy, Debug)]
pub struct Orders<'a> {
    /// One weight per symbol, account after account; NaN is a hold.
    ///
    /// The weight of no symbol is 0.
    pub weights: &'a [Block; LANES],
    /// Bit k is set where account k is to be stepped.
    pub which: u8,
}

/// What the steps of eight accounts came to.
#[derive(Debug, Default)]
pub struct Growths {
    /// See [`crate::Stepped::reward`].
    pub rewards: Block,
    /// See [`crate::Stepped::turnover`].
    pub turnovers: Block,
}

/// Where the weights of accounts and their cash go, as fractions of NAV.
#[derive(Debug)]
pub struct Observed<'a> {
    /// Account k's from `first + k * stride` on.
    pub rows: &'a mut [f32],
    /// Where the first is.
    pub first: usize,
    /// From one account to the next.
    pub stride: usize,
    /// The accounts that have a place.
    pub n: usize,
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
/// Panics if an account is at the last bar of the data, or a place of an observation is missing.
pub fn step_pack(
    market: &Dataset,
    rules: Whose<'_>,
    pack: &mut Pack,
    orders: Orders<'_>,
    told: (&mut Growths, Option<Observed<'_>>),
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
    told: (&mut Growths, Option<Observed<'_>>),
    desk: &Desk,
) -> u8 {
    // Wider ones take longer to turn than they save.
    narrow(desk.arch).dispatch(Group::<'_, N, GAPS, VARIES, OWES> { market, rules, pack, orders, told })
}

/// Eight accounts of at most `N` symbols; the others as in [`Terms::fill`].
struct Group<'g, const N: usize, const GAPS: bool, const VARIES: bool, const OWES: bool> {
    market: &'g Dataset,
    rules: Whose<'g>,
    pack: &'g mut Pack,
    orders: Orders<'g>,
    told: (&'g mut Growths, Option<Observed<'g>>),
}

impl<const N: usize, const GAPS: bool, const VARIES: bool, const OWES: bool> WithSimd
    for Group<'_, N, GAPS, VARIES, OWES>
{
    type Output = u8;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> u8 {
        let Self { market, rules, pack, orders, told: (growths, mut observed) } = self;
        let tape = Tape::new(market, rules);
        // An account that is not stepped may be at the last bar; it is shown the first two.
        let bars: [usize; LANES] = std::array::from_fn(|a| if orders.which >> a & 1 == 1 { pack.bars[a] } else { 0 });
        let idle: Block = std::array::from_fn(|a| f64::from(u8::from(orders.which >> a & 1 == 0)));
        let mut stepped = 0;
        let mut terms = (Terms::of(simd, rules, 0), Dues::of(simd, market, rules, 0));
        for index in 0..LANES / S::F64_LANES {
            if orders.which >> (index * S::F64_LANES) & (u8::MAX >> (LANES - S::F64_LANES)) == 0 {
                continue;
            }
            let part = Part { simd, index };
            if index > 0 && matches!(rules, Whose::Each(_)) {
                terms = (Terms::of(simd, rules, index), Dues::of(simd, market, rules, index));
            }
            let before = part.before::<N>(pack);
            let asked = part.turned(|a| &orders.weights[a]);
            let quotes = |quad| part.quotes::<GAPS, VARIES>(&tape, &bars, pack, quad);
            let after = step::<S, N, GAPS, VARIES, OWES>(simd, &terms, &before, &asked, quotes);
            let misfit = after.misfit + part.vector(&idle);
            store(&mut growths.rewards, index, after.settled.reward);
            store(&mut growths.turnovers, index, after.settled.turnover);
            if let Some(observed) = &mut observed {
                part.show(&after, market.n_symbols(), observed);
            }
            part.keep_plain::<N, GAPS>(&before, &after, misfit, pack);
            stepped |= bits(misfit) << (index * S::F64_LANES);
        }
        for (account, bar) in pack.bars.iter_mut().enumerate() {
            *bar += usize::from(stepped >> account & 1);
        }
        stepped
    }
}

impl<S: Simd> Part<S> {
    /// Returns a block of each account, turned: a vector a symbol.
    #[inline(always)]
    fn turned<'a, const N: usize>(self, block_of: impl Fn(usize) -> &'a Block) -> [Vector<S>; N] {
        let mut vectors = [Vector::splat(self.simd, 0.0); N];
        for quad in 0..N / QUAD {
            let turned = turn(self.simd, |a| quad_of(block_of(self.index * S::F64_LANES + a), quad));
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
        quad: usize,
    ) -> Quotes<S> {
        let bar = |a: usize| bars[self.index * S::F64_LANES + a];
        let turned = |blocks: &[Block], lag: usize| turn(self.simd, |a| quad_of(&blocks[bar(a) + 1 - lag], quad));
        let decided = turned(tape.close, 1);
        Quotes {
            // Where nothing is missing the mark is the close.
            marks: if GAPS { self.vectors(&pack.marks[quad * QUAD..]) } else { decided },
            fills: turned(tape.fill, tape.lag),
            closes: turned(tape.close, 0),
            decided,
            depths: if VARIES { tape.depths(self.simd, |a| bar(a) + 1, quad) } else { [Depth::none(); QUAD] },
        }
    }

    /// Writes the weights and cash of accounts after a step.
    #[inline(always)]
    #[expect(clippy::cast_possible_truncation, reason = "observed in f32")]
    fn show<const N: usize>(self, after: &After<S, N>, n_symbols: usize, observed: &mut Observed<'_>) {
        let mut cash = [0.0; LANES];
        store(&mut cash, 0, after.settled.cash / after.settled.nav);
        let first = self.index * S::F64_LANES;
        let n = S::F64_LANES.min(observed.n.saturating_sub(first));
        let place = observed.first + first * observed.stride;
        for quad in 0..N.min(n_symbols.next_multiple_of(QUAD)) / QUAD {
            let turned = turn_back(self.simd, std::array::from_fn(|k| after.weights[quad * QUAD + k]));
            let width = (n_symbols - quad * QUAD).min(QUAD);
            for (a, cash) in cash[..n].iter().enumerate() {
                let row = &mut observed.rows[place + a * observed.stride + quad * QUAD..][..=width];
                let weights = quad_of(&turned[a / 2], a % 2).map(|weight| weight as f32);
                if let Ok(row) = <&mut [f32; QUAD + 1]>::try_from(&mut *row) {
                    row[..QUAD].copy_from_slice(&weights);
                    row[QUAD] = *cash as f32;
                } else {
                    row[..width].copy_from_slice(&weights[..width]);
                    row[width] = *cash as f32;
                }
            }
        }
    }

    /// Takes over what became of the accounts whose step is plain.
    #[inline(always)]
    fn keep_plain<const N: usize, const GAPS: bool>(
        self,
        before: &Before<S, N>,
        after: &After<S, N>,
        misfit: Vector<S>,
        pack: &mut Pack,
    ) {
        // A sum with something that is not a number fits nothing either.
        let fits = misfit.equals(Vector::splat(self.simd, 0.0));
        let select = |before: Vector<S>, after: Vector<S>| fits.select(after, before);
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
    }
}

/// Returns which accounts fit, a bit each.
#[inline(always)]
fn bits<S: Simd>(misfit: Vector<S>) -> u8 {
    let mut elements = [0.0; LANES];
    store(&mut elements, 0, misfit);
    (0..S::F64_LANES).fold(0, |bits, a| bits | u8::from(elements[a] == 0.0) << a)
}
