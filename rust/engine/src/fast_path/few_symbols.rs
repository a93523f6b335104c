//! A plain step of accounts of at most `N` symbols.
//!
//! They are as many as a vector has elements.
//!
//! What is done once for an account is done once for all of them. Of every array, element k is symbol k's.

use pulp::Simd;

use crate::account::book::MAX_NAV;
use crate::fast_path::account_block::Pack;
use crate::fast_path::account_vector::{Dues, Settled, Sums, settle, total};
use crate::fast_path::market_tape::QUAD;
use crate::fast_path::order_vector::{Depth, Order, Terms};
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

/// As many accounts as a vector has elements: those of vector `index`.
#[derive(Clone, Copy)]
pub(crate) struct Part<S: Simd> {
    pub(crate) simd: S,
    pub(crate) index: usize,
}

impl<S: Simd> Part<S> {
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
    pub(crate) fn before<const N: usize>(self, pack: &Pack) -> Before<S, N> {
        Before {
            cash: self.vector(&pack.cash),
            nav: self.vector(&pack.nav),
            shares: self.vectors(&pack.shares),
            weights: self.vectors(&pack.weights),
        }
    }

    /// Returns which accounts can take no decision.
    ///
    /// As [`Book::check_nav`] has it.
    ///
    /// [`Book::check_nav`]: crate::Book::check_nav
    #[inline(always)]
    pub(crate) fn overflown(self, pack: &Pack) -> Mask<S> {
        self.vector(&pack.nav).exceeds(Vector::splat(self.simd, MAX_NAV))
    }

    /// Takes over what became of all accounts, but for their bars and marks.
    #[inline(always)]
    pub(crate) fn keep<const N: usize>(self, after: &After<S, N>, pack: &mut Pack) {
        store(&mut pack.cash, self.index, after.settled.cash);
        store(&mut pack.nav, self.index, after.settled.nav);
        for symbol in 0..N {
            store(&mut pack.shares[symbol], self.index, after.shares[symbol]);
            store(&mut pack.weights[symbol], self.index, after.weights[symbol]);
        }
    }
}

/// What a step meets, of four symbols.
///
/// Of four, so that they stay in registers.
#[derive(Clone, Copy)]
pub(crate) struct Quotes<S: Simd> {
    pub(crate) marks: [Vector<S>; QUAD],
    pub(crate) decided: [Vector<S>; QUAD],
    pub(crate) fills: [Vector<S>; QUAD],
    pub(crate) closes: [Vector<S>; QUAD],
    pub(crate) depths: [Depth<S>; QUAD],
}

/// Accounts after a step.
pub(crate) struct After<S: Simd, const N: usize> {
    pub(crate) shares: [Vector<S>; N],
    pub(crate) weights: [Vector<S>; N],
    pub(crate) marks: [Vector<S>; N],
    pub(crate) settled: Settled<S>,
    /// Where the step is not plain: nothing else of it holds there.
    pub(crate) misfit: Mask<S>,
    /// Where `max_gross` scaled the orders, which a step of more detail tells of.
    pub(crate) scaled: Mask<S>,
}

/// What accounts trade to, after steps 2 to 4.
struct Targets<S: Simd, const N: usize> {
    weights: [Vector<S>; N],
    misfit: Mask<S>,
    scaled: Mask<S>,
}

/// Carries accounts to the next close.
///
/// `quotes` gives what the symbols from four times its argument on meet.
#[inline(always)]
pub(crate) fn step<S: Simd, const N: usize, const GAPS: bool, const VARIES: bool, const OWES: bool>(
    simd: S,
    rules: &(Terms<S>, Dues<S>),
    before: &Before<S, N>,
    asked: &[Vector<S>; N],
    quotes: impl Fn(usize) -> Quotes<S>,
) -> After<S, N> {
    let (terms, dues) = rules;
    let zero = terms.zero;
    let targets = cut(simd, rules, asked, &before.weights);
    let mut sums = [[zero; N]; 5];
    let (mut shares, mut marks, mut misfit) = ([zero; N], [zero; N], targets.misfit);
    for quad in 0..N.div_ceil(QUAD) {
        let quotes = quotes(quad);
        for k in 0..QUAD.min(N) {
            let symbol = quad * QUAD + k;
            let order = Order {
                asked: asked[symbol],
                target: targets.weights[symbol],
                current: before.weights[symbol],
                held: before.shares[symbol],
                mark: quotes.marks[k],
                nav: before.nav,
                decided: quotes.decided[k],
                fill: quotes.fills[k],
                close: quotes.closes[k],
            };
            let fill = terms.fill::<GAPS, VARIES, OWES>(&order, quotes.depths[k]);
            for (sum, part) in sums.iter_mut().zip([fill.flow, fill.traded, fill.short, fill.value, fill.gross]) {
                sum[symbol] = part;
            }
            misfit = if GAPS || VARIES { misfit.or(fill.misfit) } else { misfit };
            (shares[symbol], marks[symbol]) = (fill.shares, fill.mark);
        }
    }
    let [flow, traded, short, value, gross] = sums.map(|lanes| total(zero, &lanes));
    // What is told of the costs alone moves no money.
    let sums = Sums { flow, traded, slipped: zero, pushed: zero, short, value, gross };
    let settled = settle::<S, OWES, false>(simd, dues, (before.cash, before.nav), sums);
    let mut weights = [zero; N];
    for symbol in 0..N {
        let weight = shares[symbol] * marks[symbol] / settled.nav;
        weights[symbol] = shares[symbol].equals(zero).select(zero, weight);
    }
    misfit = misfit.or(settled.misfit);
    After { shares, weights, marks, settled, misfit, scaled: targets.scaled }
}

/// Steps 2 to 4.
#[inline(always)]
fn cut<S: Simd, const N: usize>(
    simd: S,
    (terms, dues): &(Terms<S>, Dues<S>),
    asked: &[Vector<S>; N],
    held: &[Vector<S>; N],
) -> Targets<S, N> {
    let zero = terms.zero;
    let (mut weights, mut added, mut kept, mut misfit) = ([zero; N], [zero; N], [zero; N], terms.nowhere);
    for symbol in 0..N {
        let cut = terms.cut(asked[symbol], held[symbol]);
        (weights[symbol], added[symbol], kept[symbol]) = (cut.target, cut.added, cut.kept);
        misfit = misfit.or(cut.lost).or(terms.low(asked[symbol]));
    }
    let (added, kept) = (total(zero, &added), total(zero, &kept));
    misfit = misfit.or(terms.high(added, kept));
    let (scale, exceeds) = dues.scale(simd, added, kept);
    let scaled = exceeds.and(added.exceeds(zero));
    if scaled.any() {
        for symbol in 0..N {
            weights[symbol] = scaled.select(terms.scale(weights[symbol], held[symbol], scale), weights[symbol]);
        }
    }
    Targets { weights, misfit, scaled }
}
