//! The fast-path step of accounts of at most `N` symbols, one account per element.
//!
//! Work per account is done for a vector of accounts at once. Element k of every array belongs to symbol k.

use pulp::Simd;

use crate::account::book::MAX_NAV;
use crate::fast_path::account_block::AccountBlock;
use crate::fast_path::account_vector::{LaneCharges, Settled, Sums, settle, total};
use crate::fast_path::market_tape::QUAD;
use crate::fast_path::order_vector::{CostInputs, Order, OrderTerms};
use crate::vector::lane_sums::Block;
use crate::vector::simd::{Mask, Vector, store};

/// Accounts before a step.
#[derive(Clone, Copy)]
pub(crate) struct Before<S: Simd, const N: usize> {
    pub(crate) cash: Vector<S>,
    pub(crate) nav: Vector<S>,
    pub(crate) shares: [Vector<S>; N],
    pub(crate) weights: [Vector<S>; N],
}

/// A vector of accounts: vector `index` of the block.
#[derive(Clone, Copy)]
pub(crate) struct LanePart<S: Simd> {
    pub(crate) simd: S,
    pub(crate) index: usize,
}

impl<S: Simd> LanePart<S> {
    #[inline(always)]
    pub(crate) fn vector(self, block: &Block) -> Vector<S> {
        Vector::new(self.simd, S::as_simd_f64s(block).0[self.index])
    }

    #[inline(always)]
    pub(crate) fn vectors<const N: usize>(self, blocks: &[Block]) -> [Vector<S>; N] {
        let mut vectors = [Vector::splat(self.simd, 0.0); N];
        for (vector, block) in vectors.iter_mut().zip(blocks) {
            *vector = self.vector(block);
        }
        vectors
    }

    #[inline(always)]
    pub(crate) fn before<const N: usize>(self, block: &AccountBlock) -> Before<S, N> {
        Before {
            cash: self.vector(&block.cash),
            nav: self.vector(&block.nav),
            shares: self.vectors(&block.shares),
            weights: self.vectors(&block.weights),
        }
    }

    /// Returns the accounts with a NAV too large for a decision.
    ///
    /// As [`Book::check_nav`] defines it.
    ///
    /// [`Book::check_nav`]: crate::Book::check_nav
    #[inline(always)]
    pub(crate) fn overflown(self, block: &AccountBlock) -> Mask<S> {
        self.vector(&block.nav).exceeds(Vector::splat(self.simd, MAX_NAV))
    }

    /// Stores all accounts except their bars and marks.
    #[inline(always)]
    pub(crate) fn keep<const N: usize>(self, after: &After<S, N>, block: &mut AccountBlock) {
        store(&mut block.cash, self.index, after.settled.cash);
        store(&mut block.nav, self.index, after.settled.nav);
        for symbol in 0..N {
            store(&mut block.shares[symbol], self.index, after.shares[symbol]);
            store(&mut block.weights[symbol], self.index, after.weights[symbol]);
        }
    }
}

/// Prices and costs of four symbols in a step.
///
/// Four symbols at a time stay in registers.
#[derive(Clone, Copy)]
pub(crate) struct Quotes<S: Simd> {
    pub(crate) marks: [Vector<S>; QUAD],
    pub(crate) decided: [Vector<S>; QUAD],
    pub(crate) fills: [Vector<S>; QUAD],
    pub(crate) closes: [Vector<S>; QUAD],
    pub(crate) cost_inputs: [CostInputs<S>; QUAD],
}

/// Accounts after a step.
pub(crate) struct After<S: Simd, const N: usize> {
    pub(crate) shares: [Vector<S>; N],
    pub(crate) weights: [Vector<S>; N],
    pub(crate) marks: [Vector<S>; N],
    pub(crate) settled: Settled<S>,
    /// Slippage and impact, if they are reported.
    pub(crate) slipped: Vector<S>,
    pub(crate) pushed: Vector<S>,
    /// Accounts that the fast path declines: their other results are invalid.
    pub(crate) declined: Mask<S>,
    /// Accounts with orders scaled by `max_gross`, an event of the full step.
    pub(crate) scaled: Mask<S>,
}

/// Target weights after steps 2 to 4.
struct Targets<S: Simd, const N: usize> {
    weights: [Vector<S>; N],
    declined: Mask<S>,
    scaled: Mask<S>,
}

/// Moves accounts to the next close.
///
/// `quotes` returns the quotes of four symbols from four times its argument on. With `REPORTS` it computes the cost
/// components.
#[inline(always)]
pub(crate) fn step<
    S: Simd,
    const N: usize,
    const GAPS: bool,
    const VARIES: bool,
    const OWES: bool,
    const REPORTS: bool,
>(
    simd: S,
    rules: &(OrderTerms<S>, LaneCharges<S>),
    before: &Before<S, N>,
    ordered: &[Vector<S>; N],
    quotes: impl Fn(usize) -> Quotes<S>,
) -> After<S, N> {
    let (terms, charges) = rules;
    let zero = terms.zero;
    let targets = cut(simd, rules, ordered, &before.weights);
    let mut sums = [[zero; N]; 7];
    let (mut shares, mut marks, mut declined) = ([zero; N], [zero; N], targets.declined);
    for quad in 0..N.div_ceil(QUAD) {
        let quotes = quotes(quad);
        for k in 0..QUAD.min(N) {
            let symbol = quad * QUAD + k;
            let order = Order {
                ordered: ordered[symbol],
                target: targets.weights[symbol],
                current: before.weights[symbol],
                held: before.shares[symbol],
                mark: quotes.marks[k],
                nav: before.nav,
                decided: quotes.decided[k],
                fill: quotes.fills[k],
                close: quotes.closes[k],
            };
            let fill = terms.fill::<GAPS, VARIES, OWES>(&order, quotes.cost_inputs[k]);
            let (slipped, pushed) = if REPORTS { (fill.slipped, fill.pushed) } else { (zero, zero) };
            let parts = [fill.flow, fill.traded, slipped, pushed, fill.short, fill.value, fill.gross];
            for (sum, part) in sums.iter_mut().zip(parts) {
                sum[symbol] = part;
            }
            declined = if GAPS || VARIES { declined.or(fill.declined) } else { declined };
            (shares[symbol], marks[symbol]) = (fill.shares, fill.mark);
        }
    }
    let [flow, traded, slipped, pushed, short, value, gross] = sums.map(|lanes| total(zero, &lanes));
    let sums = Sums { flow, traded, slipped, pushed, short, value, gross };
    let settled = settle::<S, OWES, REPORTS>(simd, charges, (before.cash, before.nav), sums);
    let mut weights = [zero; N];
    for symbol in 0..N {
        let weight = shares[symbol] * marks[symbol] / settled.nav;
        weights[symbol] = shares[symbol].equals(zero).select(zero, weight);
    }
    declined = declined.or(settled.declined);
    After { shares, weights, marks, settled, slipped, pushed, declined, scaled: targets.scaled }
}

/// Steps 2 to 4.
#[inline(always)]
fn cut<S: Simd, const N: usize>(
    simd: S,
    (terms, charges): &(OrderTerms<S>, LaneCharges<S>),
    ordered: &[Vector<S>; N],
    held: &[Vector<S>; N],
) -> Targets<S, N> {
    let zero = terms.zero;
    let (mut weights, mut added, mut kept, mut declined) = ([zero; N], [zero; N], [zero; N], terms.nowhere);
    for symbol in 0..N {
        let cut = terms.cut(ordered[symbol], held[symbol]);
        (weights[symbol], added[symbol], kept[symbol]) = (cut.target, cut.added, cut.kept);
        declined = declined.or(cut.lost).or(terms.low(ordered[symbol]));
    }
    let (added, kept) = (total(zero, &added), total(zero, &kept));
    declined = declined.or(terms.high(added, kept));
    let (scale, exceeds) = charges.scale(simd, added, kept);
    let scaled = exceeds.and(added.exceeds(zero));
    if scaled.any() {
        for symbol in 0..N {
            weights[symbol] = scaled.select(terms.scale(weights[symbol], held[symbol], scale), weights[symbol]);
        }
    }
    Targets { weights, declined, scaled }
}
