//! Fast-path steps of eight accounts of few symbols, each at its own bar.

use pulp::{Simd, WithSimd};

use crate::account::block_terms::BlockTerms;
use crate::account::workspace::Workspace;
use crate::fast_path::account_block::AccountBlock;
use crate::fast_path::account_vector::LaneCharges;
use crate::fast_path::features::Features;
use crate::fast_path::few_symbols::{After, Before, LanePart, Quotes, step};
use crate::fast_path::market_tape::{MarketTape, QUAD, quad_of, transpose, transpose_back};
use crate::fast_path::observation_writer::{LaneObservations, ObservationRows};
use crate::fast_path::order_vector::OrderTerms;
use crate::market::dataset::Dataset;
use crate::vector::lane_sums::{Block, LANES, each};
use crate::vector::simd::{Vector, store};

/// Orders of eight accounts, and the accounts to step.
#[derive(Clone, Copy, Debug)]
pub struct BlockOrders<'a> {
    /// One weight per symbol, account after account, [`BlockOrders::stride`] apart.
    ///
    /// NaN is a hold. Padding has weight 0.
    pub weights: &'a [f64],
    /// Bit k is set if account k is stepped.
    pub which: u8,
    /// Bit k is set if place k of the block has no account.
    ///
    /// An unused place may be stepped too; its result is ignored.
    pub vacant: u8,
}

impl BlockOrders<'_> {
    /// Returns the distance of the first weights of adjacent accounts.
    ///
    /// Four, or a multiple of eight: the symbols that a step reads at once.
    #[must_use]
    pub fn stride(n_symbols: usize) -> usize {
        if n_symbols <= QUAD { QUAD } else { n_symbols.next_multiple_of(LANES) }
    }

    /// Returns the places that are stepped, one bit each.
    ///
    /// Unused places are included.
    #[inline(always)]
    fn asked_for(&self) -> u8 {
        self.which | self.vacant
    }
}

/// Outcome of the steps of eight accounts.
#[derive(Debug)]
pub struct BlockOutcome {
    /// See [`crate::Stepped::reward`].
    pub rewards: Block,
    /// See [`crate::Stepped::turnover`]; absent if not needed.
    pub turnovers: Option<Block>,
}

/// Steps the accounts that the fast path supports.
///
/// Returns their mask, one bit per account. `step_once` gives the same numbers for these and for the others. The others
/// are unchanged, and their outcome is undefined. Markets of more than eight symbols have no account blocks.
///
/// # Panics
///
/// Panics if an account is at the last bar of the data, or a weight or a row of an observation is missing.
pub fn step_block(
    market: &Dataset,
    rules: BlockTerms<'_>,
    block: &mut AccountBlock,
    orders: BlockOrders<'_>,
    reported: (&mut BlockOutcome, Option<&mut ObservationRows<'_>>),
    workspace: &Workspace,
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
        for (account, bar) in block.bars.iter().enumerate() {
            if which >> account & 1 == 1 && market.has_actions(bar + 1) {
                which &= !(1 << account);
            }
        }
    }
    run(market, rules, block, BlockOrders { which, ..orders }, reported, workspace)
}

fn run<const N: usize, const GAPS: bool, const VARIES: bool, const OWES: bool>(
    market: &Dataset,
    rules: BlockTerms<'_>,
    block: &mut AccountBlock,
    orders: BlockOrders<'_>,
    reported: (&mut BlockOutcome, Option<&mut ObservationRows<'_>>),
    workspace: &Workspace,
) -> u8 {
    workspace.arch.dispatch(Group::<'_, '_, N, GAPS, VARIES, OWES> { market, rules, block, orders, reported })
}

/// A step of eight accounts of at most `N` symbols.
///
/// The other parameters are those of [`OrderTerms::fill`].
struct Group<'g, 'o, const N: usize, const GAPS: bool, const VARIES: bool, const OWES: bool> {
    market: &'g Dataset,
    rules: BlockTerms<'g>,
    block: &'g mut AccountBlock,
    orders: BlockOrders<'g>,
    reported: (&'g mut BlockOutcome, Option<&'g mut ObservationRows<'o>>),
}

impl<const N: usize, const GAPS: bool, const VARIES: bool, const OWES: bool> WithSimd
    for Group<'_, '_, N, GAPS, VARIES, OWES>
{
    type Output = u8;

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) -> u8 {
        let (which, asked_for) = (self.orders.which, self.orders.asked_for());
        let bars = if asked_for == u8::MAX { self.block.bars } else { bars_of(asked_for, &self.block.bars) };
        let (mut stepped, mut shown) = (0, LaneObservations::new());
        if S::F64_LANES == LANES {
            // Not a loop of one iteration: the compiler would hoist work that only some markets need.
            stepped = self.step_part(LanePart { simd, index: 0 }, &bars, &mut shown);
        } else {
            for index in 0..LANES / S::F64_LANES {
                stepped |= self.step_part(LanePart { simd, index }, &bars, &mut shown) << (index * S::F64_LANES);
            }
        }
        if let Some(observed) = self.reported.1 {
            observed.write(simd, self.market.n_symbols(), (which, &bars), &shown);
        }
        stepped &= which;
        for (account, bar) in self.block.bars.iter_mut().enumerate() {
            *bar += usize::from(stepped >> account & 1);
        }
        stepped
    }
}

impl<const N: usize, const GAPS: bool, const VARIES: bool, const OWES: bool> Group<'_, '_, N, GAPS, VARIES, OWES> {
    /// Steps one vector of accounts.
    ///
    /// Returns the accounts that were stepped, one bit each. `bars` has the bars of all eight.
    #[inline(always)]
    fn step_part<S: Simd>(&mut self, part: LanePart<S>, bars: &[usize; LANES], shown: &mut LaneObservations<N>) -> u8 {
        let Self { market, rules, block, orders, reported: (growths, _) } = self;
        let (simd, index) = (part.simd, part.index);
        let weights: &[[f64; N]; LANES] = orders.weights.as_chunks().0.first_chunk().expect("eight accounts");
        if orders.which >> (index * S::F64_LANES) & (u8::MAX >> (LANES - S::F64_LANES)) == 0 {
            return 0;
        }
        let (numbers, tape) = (rules.numbers(simd, index), MarketTape::new(market, *rules));
        let rules = (OrderTerms::of(simd, &numbers), LaneCharges::of(simd, market, &numbers, rules.traits().accrues));
        let before = part.before::<N>(block);
        let ordered = part.transposed(|a| &weights[a]);
        let quotes = |quad| part.quotes::<GAPS, VARIES>(&tape, bars, block, (&rules.0, before.nav, quad));
        let mut after = step::<S, N, GAPS, VARIES, OWES, false>(simd, &rules, &before, &ordered, quotes);
        store(&mut growths.rewards, index, after.settled.reward);
        if let Some(turnovers) = &mut growths.turnovers {
            store(turnovers, index, after.settled.turnover);
        }
        part.show(&after, shown);
        let asked_for = orders.asked_for();
        if asked_for != u8::MAX {
            let idle = others(asked_for);
            after.declined = after.declined.or(part.vector(&idle).exceeds(rules.0.zero));
        }
        part.keep_plain::<N, GAPS>(&before, &after, block)
    }
}

/// Returns the bars of the accounts in `which`, and 0 for the others.
///
/// The others may be at the last bar; they read the first two bars. A separate function, so that it is not computed if
/// all accounts are stepped.
#[cold]
#[inline(never)]
fn bars_of(which: u8, bars: &[usize; LANES]) -> [usize; LANES] {
    std::array::from_fn(|account| if which >> account & 1 == 1 { bars[account] } else { 0 })
}

/// Returns 1 for the accounts that are not in `which`.
///
/// A separate function for the same reason.
#[cold]
#[inline(never)]
fn others(which: u8) -> Block {
    each(|account| f64::from(u8::from(which >> account & 1 == 0)))
}

impl<S: Simd> LanePart<S> {
    /// Returns one row per account, transposed to one vector per symbol.
    #[inline(always)]
    fn transposed<'a, const N: usize>(self, row_of: impl Fn(usize) -> &'a [f64; N]) -> [Vector<S>; N] {
        let mut vectors = [Vector::splat(self.simd, 0.0); N];
        for quad in 0..N / QUAD {
            let transposed = transpose(self.simd, |a| quad_of(row_of(self.index * S::F64_LANES + a), quad));
            vectors[quad * QUAD..][..QUAD].copy_from_slice(&transposed);
        }
        vectors
    }

    #[inline(always)]
    fn quotes<const GAPS: bool, const VARIES: bool>(
        self,
        tape: &MarketTape<'_>,
        bars: &[usize; LANES],
        block: &AccountBlock,
        (terms, nav, quad): (&OrderTerms<S>, Vector<S>, usize),
    ) -> Quotes<S> {
        let bar = |a: usize| bars[self.index * S::F64_LANES + a];
        let next = |blocks: &[Block]| transpose(self.simd, |a| quad_of(&blocks[bar(a) + 1], quad));
        let closes = |a: usize| tape.close[bar(a)..].first_chunk::<2>().expect("a bar after that decided on");
        let decided = transpose(self.simd, |a| quad_of(&closes(a)[0], quad));
        // Without gaps the mark is the close.
        let marks = if GAPS { self.vectors(&block.marks[quad * QUAD..]) } else { decided };
        let mut cost_inputs = [terms.flat(); QUAD];
        if VARIES {
            cost_inputs = tape.cost_inputs(terms, |a| bar(a) + 1, quad, (&marks, nav));
        }
        Quotes {
            marks,
            // Not `map_or`, which compiles to a call that passes vectors through memory.
            fills: if let Some(fill) = tape.fill { next(fill) } else { decided },
            closes: transpose(self.simd, |a| quad_of(&closes(a)[1], quad)),
            decided,
            cost_inputs,
        }
    }

    /// Writes the observations of accounts after a step to `shown`.
    #[inline(always)]
    fn show<const N: usize>(self, after: &After<S, N>, shown: &mut LaneObservations<N>) {
        let first = self.index * S::F64_LANES;
        store(&mut shown.cash, self.index, after.settled.cash / after.settled.nav);
        for quad in 0..N / QUAD {
            let transposed = transpose_back(self.simd, std::array::from_fn(|k| after.weights[quad * QUAD + k]));
            for (weights, transposed) in shown.weights[first..].iter_mut().zip(&transposed[..S::F64_LANES]) {
                weights[quad * QUAD..][..QUAD].copy_from_slice(transposed);
            }
        }
    }

    /// Stores the accounts that the fast path supports.
    ///
    /// Returns their mask, one bit each.
    #[inline(always)]
    fn keep_plain<const N: usize, const GAPS: bool>(
        self,
        before: &Before<S, N>,
        after: &After<S, N>,
        block: &mut AccountBlock,
    ) -> u8 {
        if !after.declined.any() {
            self.keep(after, block);
            if GAPS {
                for (marks, after) in block.marks.iter_mut().zip(after.marks) {
                    store(marks, self.index, after);
                }
            }
            return u8::MAX >> (LANES - S::F64_LANES);
        }
        let declined = after.declined;
        let select = |before: Vector<S>, after: Vector<S>| declined.select(before, after);
        store(&mut block.cash, self.index, select(before.cash, after.settled.cash));
        store(&mut block.nav, self.index, select(before.nav, after.settled.nav));
        for symbol in 0..N {
            store(&mut block.shares[symbol], self.index, select(before.shares[symbol], after.shares[symbol]));
            store(&mut block.weights[symbol], self.index, select(before.weights[symbol], after.weights[symbol]));
            if GAPS {
                let marks = select(self.vector(&block.marks[symbol]), after.marks[symbol]);
                store(&mut block.marks[symbol], self.index, marks);
            }
        }
        declined.not().bits()
    }
}
