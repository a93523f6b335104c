//! Plain steps of eight accounts of many symbols, each at a bar of its own.
//!
//! The symbols of an account are traded side by side, one account after the other; what is done once for an account is
//! then done for all of them at once.

use pulp::{Simd, WithSimd};

use crate::account::lane_terms::Whose;
use crate::account::workspace::Desk;
use crate::fast_path::account_store::{Head, ShelfMut, row};
use crate::fast_path::account_vector::{Dues, Sums, settle, total};
use crate::fast_path::bar_rows::Rows;
use crate::fast_path::features::Features;
use crate::fast_path::few_symbols::Part;
use crate::fast_path::lane_group::{Growths, Orders};
use crate::fast_path::market_tape::{quad_of, turn};
use crate::fast_path::observation_writer::Observed;
use crate::fast_path::order_vector::Terms;
use crate::fast_path::single_trade::{Totals, Trade, weigh};
use crate::market::dataset::Dataset;
use crate::vector::lane_sums::{self, Block, LANES};
use crate::vector::simd::{Layout, Vector, store};

/// Room for what eight accounts would hold, until it is known that they do.
#[derive(Clone, Debug)]
pub struct Spare {
    shares: [Vec<Block>; LANES],
    marks: [Vec<Block>; LANES],
    /// Of accounts that were not stepped, what came of an earlier one.
    sheet: Sheet,
}

impl Spare {
    /// Returns room for accounts of `n_symbols`.
    #[must_use]
    pub fn new(n_symbols: usize) -> Self {
        let rows = || std::array::from_fn(|_| vec![[0.0; LANES]; lane_sums::n_blocks(n_symbols)]);
        Self { shares: rows(), marks: rows(), sheet: Totals::of([[0.0; LANES]; LANES]) }
    }
}

/// Steps those of at most eight accounts whose step is plain.
///
/// Returns which, a bit an account. `step_once` gives the others, and these, the same numbers. The others are as they
/// were, and what is told of them is nothing. The weights of an account begin [`Orders::stride`] after those of the one
/// before.
///
/// # Panics
///
/// Panics if an account is at the last bar of the data, a weight or a place of an observation is missing, or `spare` is
/// for fewer symbols.
pub fn step_shelf(
    market: &Dataset,
    rules: Whose<'_>,
    shelf: &mut ShelfMut<'_>,
    orders: Orders<'_>,
    (growths, observed): (&mut Growths, Option<&mut Observed<'_>>),
    (spare, desk): (&mut Spare, &Desk),
) -> u8 {
    let Some(Features { gaps, varies, owes }) = Features::of(market, rules) else { return 0 };
    let run = match (gaps, varies, owes) {
        (false, false, false) => run::<false, false, false>,
        (false, false, true) => run::<false, false, true>,
        (false, true, false) => run::<false, true, false>,
        (false, true, true) => run::<false, true, true>,
        (true, false, _) => run::<true, false, true>,
        (true, true, _) => run::<true, true, true>,
    };
    run(Crew { market, rules, shelf, orders, growths, observed, spare }, desk)
}

fn run<const GAPS: bool, const VARIES: bool, const OWES: bool>(crew: Crew<'_, '_, '_>, desk: &Desk) -> u8 {
    desk.arch.dispatch(Plain::<GAPS, VARIES, OWES>(crew))
}

/// What [`step_shelf`] is given.
struct Crew<'b, 's, 'o> {
    market: &'b Dataset,
    rules: Whose<'b>,
    shelf: &'b mut ShelfMut<'s>,
    orders: Orders<'b>,
    growths: &'b mut Growths,
    observed: Option<&'b mut Observed<'o>>,
    spare: &'b mut Spare,
}

/// The features of a step are those of [`Terms::fill`].
struct Plain<'b, 's, 'o, const GAPS: bool, const VARIES: bool, const OWES: bool>(Crew<'b, 's, 'o>);

/// What the fills of eight accounts came to.
///
/// Of each sum the contract's lanes, account by account.
type Sheet = Totals<[Block; LANES]>;

impl<const GAPS: bool, const VARIES: bool, const OWES: bool> WithSimd for Plain<'_, '_, '_, GAPS, VARIES, OWES> {
    type Output = u8;

    // No closure here holds a vector: it would be a call, and compiled for the least of machines.
    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) -> u8 {
        let mut stepped = 0;
        let (which, market, rules) = (self.0.orders.which, self.0.market, self.0.rules);
        for account in (0..self.0.shelf.n_accounts()).filter(|account| which >> account & 1 == 1) {
            // Each is at a bar of its own: the machine does not guess where the next is.
            self.0.shelf.fetch(account + 1, market);
            if !market.has_actions(self.0.shelf.bar(account) + 1) {
                stepped |= self.trade(simd, account, None);
            }
        }
        let (mut cash, mut nav) = ([0.0; LANES], [1.0; LANES]);
        for ((cash, nav), head) in cash.iter_mut().zip(&mut nav).zip(&*self.0.shelf.heads) {
            (*cash, *nav) = (head.cash, head.nav);
        }
        for index in 0..LANES / S::F64_LANES {
            let (first, part) = (index * S::F64_LANES, Part { simd, index });
            let dues = Dues::of(simd, market, &rules.numbers(simd, index), rules.traits().accrues);
            let sheet = &self.0.spare.sheet;
            let (added, kept) = (part.total(&sheet.added), part.total(&sheet.kept));
            let (scale, exceeds) = dues.scale(simd, added, kept);
            let scaled = exceeds.and(added.exceeds(Vector::splat(simd, 0.0)));
            if scaled.any() {
                let (which, mut scales) = (scaled.bits() << first & stepped, [0.0; LANES]);
                store(&mut scales, index, scale);
                stepped &= !which;
                for account in (0..self.0.shelf.n_accounts()).filter(|account| which >> account & 1 == 1) {
                    stepped |= self.trade(simd, account, Some(scales[account]));
                }
            }
            let sums = part.sums::<OWES>(&self.0.spare.sheet.money);
            let settled = settle::<S, OWES, false>(simd, &dues, (part.vector(&cash), part.vector(&nav)), sums);
            store(&mut self.0.growths.rewards, index, settled.reward);
            if let Some(turnovers) = &mut self.0.growths.turnovers {
                store(turnovers, index, settled.turnover);
            }
            store(&mut cash, index, settled.cash);
            store(&mut nav, index, settled.nav);
            if settled.misfit.any() {
                stepped &= !(settled.misfit.bits() << first);
            }
        }
        for account in (0..self.0.shelf.n_accounts()).filter(|account| stepped >> account & 1 == 1) {
            self.keep(simd, account, (cash[account], nav[account]));
        }
        stepped
    }
}

impl<const GAPS: bool, const VARIES: bool, const OWES: bool> Plain<'_, '_, '_, GAPS, VARIES, OWES> {
    /// Trades one account and leaves what came of it in the room that is spare.
    ///
    /// Returns its bit, if its orders can be filled whole.
    #[inline(always)]
    fn trade<S: Simd>(&mut self, simd: S, account: usize, scale: Option<f64>) -> u8 {
        let Crew { market, rules, shelf, orders, spare, .. } = &mut self.0;
        let (before, n_blocks) = (shelf.held(account, market), shelf.n_blocks);
        let asked = &orders.weights.as_chunks().0[account * n_blocks..][..n_blocks];
        let after = (&mut spare.shares[account][..], &mut spare.marks[account][..]);
        let layout = Layout::<S, false>::new(simd, market.n_symbols());
        let terms = Terms::of(simd, &rules.numbers_of(simd, account));
        let trade = Trade { layout, terms, rows: Rows::at(market, rules.tables(), before.bar) };
        let Some(totals) = trade.run::<GAPS, VARIES, OWES, false>(asked, before, after, scale) else { return 0 };
        spare.sheet.put(account, &totals);
        1 << account
    }

    /// Takes over what became of one account, and writes what is seen of it.
    #[inline(always)]
    fn keep<S: Simd>(&mut self, simd: S, account: usize, (cash, nav): (f64, f64)) {
        let Crew { market, shelf, spare, observed, .. } = &mut self.0;
        let bar = shelf.bar(account) + 1;
        shelf.heads[account] = Head { bar, cash, nav };
        let (row, shares) = (row(account, shelf.n_blocks), &spare.shares[account]);
        let mut marks = market.closes(bar);
        if GAPS {
            marks = &spare.marks[account];
            shelf.marks[row.clone()].copy_from_slice(marks);
        }
        let layout = Layout::<S, false>::new(simd, market.n_symbols());
        let weights = &mut shelf.weights[row.clone()];
        weigh(layout, (shares, marks, nav), weights, Some(&mut shelf.shares[row]));
        if let Some(observed) = observed {
            observed.write_one(simd, (account, bar), market.n_symbols(), (weights, cash / nav));
        }
    }
}

impl<S: Simd> Part<S> {
    /// Returns the total of one sum of each account, in the contract's order.
    #[inline(always)]
    fn total(self, sheet: &[Block; LANES]) -> Vector<S> {
        let first = self.index * S::F64_LANES;
        let [a, b, c, d] = turn(self.simd, |account| quad_of(&sheet[first + account], 0));
        let [e, f, g, h] = turn(self.simd, |account| quad_of(&sheet[first + account], 1));
        total(Vector::splat(self.simd, 0.0), &[a, b, c, d, e, f, g, h])
    }

    #[inline(always)]
    fn sums<const OWES: bool>(self, sheet: &Sums<[Block; LANES]>) -> Sums<Vector<S>> {
        let zero = Vector::splat(self.simd, 0.0);
        Sums {
            flow: self.total(&sheet.flow),
            traded: self.total(&sheet.traded),
            // What is told of the costs alone moves no money.
            slipped: zero,
            pushed: zero,
            short: if OWES { self.total(&sheet.short) } else { zero },
            value: self.total(&sheet.value),
            gross: if OWES { self.total(&sheet.gross) } else { zero },
        }
    }
}
