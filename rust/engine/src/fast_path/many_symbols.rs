//! Fast-path steps of eight accounts of many symbols, each at its own bar.
//!
//! The symbols of an account are traded in vectors, one account after the other. Work per account is then done for all
//! accounts at once.

use pulp::{Simd, WithSimd};

use crate::account::block_terms::BlockTerms;
use crate::account::workspace::Workspace;
use crate::fast_path::account_store::{AccountHead, AccountStoreMut, row};
use crate::fast_path::account_vector::{LaneCharges, Sums, settle, total};
use crate::fast_path::bar_rows::Rows;
use crate::fast_path::features::Features;
use crate::fast_path::few_symbols::LanePart;
use crate::fast_path::lane_group::{BlockOrders, BlockOutcome};
use crate::fast_path::market_tape::{quad_of, transpose};
use crate::fast_path::observation_writer::ObservationRows;
use crate::fast_path::order_vector::OrderTerms;
use crate::fast_path::single_trade::{Totals, Trade, weigh};
use crate::market::dataset::Dataset;
use crate::vector::lane_sums::{self, Block, LANES};
use crate::vector::simd::{Layout, Vector, store};

/// Scratch memory for the new state of eight accounts, until all are accepted.
#[derive(Clone, Debug)]
pub struct StoreWorkspace {
    shares: [Vec<Block>; LANES],
    marks: [Vec<Block>; LANES],
    /// For accounts that were not stepped, sums of an earlier step.
    sheet: FillSheet,
}

impl StoreWorkspace {
    /// Returns scratch memory for accounts of `n_symbols`.
    #[must_use]
    pub fn new(n_symbols: usize) -> Self {
        let rows = || std::array::from_fn(|_| vec![[0.0; LANES]; lane_sums::n_blocks(n_symbols)]);
        Self { shares: rows(), marks: rows(), sheet: Totals::of([[0.0; LANES]; LANES]) }
    }
}

/// Steps at most eight accounts as far as the fast path supports them.
///
/// Returns the mask of stepped accounts, one bit each. `step_once` gives the same numbers for these and for the others.
/// The others are unchanged, and their outcome is undefined. The weights of adjacent accounts are
/// [`BlockOrders::stride`] apart.
///
/// # Panics
///
/// Panics if an account is at the last bar of the data, a weight or a row of an observation is missing, or the scratch
/// memory is for fewer symbols.
pub fn step_store(
    market: &Dataset,
    rules: BlockTerms<'_>,
    store: &mut AccountStoreMut<'_>,
    orders: BlockOrders<'_>,
    (growths, observed): (&mut BlockOutcome, Option<&mut ObservationRows<'_>>),
    (scratch, workspace): (&mut StoreWorkspace, &Workspace),
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
    run(StoreStep { market, rules, store, orders, growths, observed, scratch }, workspace)
}

fn run<const GAPS: bool, const VARIES: bool, const OWES: bool>(
    crew: StoreStep<'_, '_, '_>,
    workspace: &Workspace,
) -> u8 {
    workspace.arch.dispatch(FastStep::<GAPS, VARIES, OWES>(crew))
}

/// The arguments of [`step_store`].
struct StoreStep<'b, 's, 'o> {
    market: &'b Dataset,
    rules: BlockTerms<'b>,
    store: &'b mut AccountStoreMut<'s>,
    orders: BlockOrders<'b>,
    growths: &'b mut BlockOutcome,
    observed: Option<&'b mut ObservationRows<'o>>,
    scratch: &'b mut StoreWorkspace,
}

/// A fast-path step; the parameters are those of [`OrderTerms::fill`].
struct FastStep<'b, 's, 'o, const GAPS: bool, const VARIES: bool, const OWES: bool>(StoreStep<'b, 's, 'o>);

/// Totals of the fills of eight accounts.
///
/// The lane sums of the contract, account by account.
type FillSheet = Totals<[Block; LANES]>;

impl<const GAPS: bool, const VARIES: bool, const OWES: bool> WithSimd for FastStep<'_, '_, '_, GAPS, VARIES, OWES> {
    type Output = u8;

    // No closure here captures a vector: it would be called, and compiled for the baseline CPU.
    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) -> u8 {
        let mut stepped = 0;
        let (which, market, rules) = (self.0.orders.which, self.0.market, self.0.rules);
        for account in (0..self.0.store.n_accounts()).filter(|account| which >> account & 1 == 1) {
            // Each account is at its own bar: the hardware prefetcher does not predict the next row.
            self.0.store.fetch(account + 1, market);
            if !market.has_actions(self.0.store.bar(account) + 1) {
                stepped |= self.trade(simd, account, None);
            }
        }
        let (mut cash, mut nav) = ([0.0; LANES], [1.0; LANES]);
        for ((cash, nav), head) in cash.iter_mut().zip(&mut nav).zip(&*self.0.store.heads) {
            (*cash, *nav) = (head.cash, head.nav);
        }
        for index in 0..LANES / S::F64_LANES {
            let (first, part) = (index * S::F64_LANES, LanePart { simd, index });
            let charges = LaneCharges::of(simd, market, &rules.numbers(simd, index), rules.traits().accrues);
            let sheet = &self.0.scratch.sheet;
            let (added, kept) = (part.total(&sheet.added), part.total(&sheet.kept));
            let (scale, exceeds) = charges.scale(simd, added, kept);
            let scaled = exceeds.and(added.exceeds(Vector::splat(simd, 0.0)));
            if scaled.any() {
                let (which, mut scales) = (scaled.bits() << first & stepped, [0.0; LANES]);
                store(&mut scales, index, scale);
                stepped &= !which;
                for account in (0..self.0.store.n_accounts()).filter(|account| which >> account & 1 == 1) {
                    stepped |= self.trade(simd, account, Some(scales[account]));
                }
            }
            let sums = part.sums::<OWES>(&self.0.scratch.sheet.money);
            let settled = settle::<S, OWES, false>(simd, &charges, (part.vector(&cash), part.vector(&nav)), sums);
            store(&mut self.0.growths.rewards, index, settled.reward);
            if let Some(turnovers) = &mut self.0.growths.turnovers {
                store(turnovers, index, settled.turnover);
            }
            store(&mut cash, index, settled.cash);
            store(&mut nav, index, settled.nav);
            if settled.declined.any() {
                stepped &= !(settled.declined.bits() << first);
            }
        }
        for account in (0..self.0.store.n_accounts()).filter(|account| stepped >> account & 1 == 1) {
            self.keep(simd, account, (cash[account], nav[account]));
        }
        stepped
    }
}

impl<const GAPS: bool, const VARIES: bool, const OWES: bool> FastStep<'_, '_, '_, GAPS, VARIES, OWES> {
    /// Trades one account and writes its new state to the scratch memory.
    ///
    /// Returns the bit of the account if all its orders are filled in full.
    #[inline(always)]
    fn trade<S: Simd>(&mut self, simd: S, account: usize, scale: Option<f64>) -> u8 {
        let StoreStep { market, rules, store, orders, scratch, .. } = &mut self.0;
        let (before, n_blocks) = (store.held(account, market), store.n_blocks);
        let ordered = &orders.weights.as_chunks().0[account * n_blocks..][..n_blocks];
        let after = (&mut scratch.shares[account][..], &mut scratch.marks[account][..]);
        let layout = Layout::<S, false>::new(simd, market.n_symbols());
        let terms = OrderTerms::of(simd, &rules.numbers_of(simd, account));
        let trade = Trade { layout, terms, rows: Rows::at(market, rules.tables(), before.bar) };
        let Some(totals) = trade.run::<GAPS, VARIES, OWES, false>(ordered, before, after, scale) else { return 0 };
        scratch.sheet.put(account, &totals);
        1 << account
    }

    /// Stores the new state of one account and writes its observation.
    #[inline(always)]
    fn keep<S: Simd>(&mut self, simd: S, account: usize, (cash, nav): (f64, f64)) {
        let StoreStep { market, store, scratch, observed, .. } = &mut self.0;
        let bar = store.bar(account) + 1;
        store.heads[account] = AccountHead { bar, cash, nav };
        let (row, shares) = (row(account, store.n_blocks), &scratch.shares[account]);
        let mut marks = market.closes(bar);
        if GAPS {
            marks = &scratch.marks[account];
            store.marks[row.clone()].copy_from_slice(marks);
        }
        let layout = Layout::<S, false>::new(simd, market.n_symbols());
        let weights = &mut store.weights[row.clone()];
        weigh(layout, (shares, marks, nav), weights, Some(&mut store.shares[row]));
        if let Some(observed) = observed {
            observed.write_one(simd, (account, bar), market.n_symbols(), (weights, cash / nav));
        }
    }
}

impl<S: Simd> LanePart<S> {
    /// Returns the total of one sum for each account, in the order of the contract.
    #[inline(always)]
    fn total(self, sheet: &[Block; LANES]) -> Vector<S> {
        let first = self.index * S::F64_LANES;
        let [a, b, c, d] = transpose(self.simd, |account| quad_of(&sheet[first + account], 0));
        let [e, f, g, h] = transpose(self.simd, |account| quad_of(&sheet[first + account], 1));
        total(Vector::splat(self.simd, 0.0), &[a, b, c, d, e, f, g, h])
    }

    #[inline(always)]
    fn sums<const OWES: bool>(self, sheet: &Sums<[Block; LANES]>) -> Sums<Vector<S>> {
        let zero = Vector::splat(self.simd, 0.0);
        Sums {
            flow: self.total(&sheet.flow),
            traded: self.total(&sheet.traded),
            // Cost components are not reported and move no money.
            slipped: zero,
            pushed: zero,
            short: if OWES { self.total(&sheet.short) } else { zero },
            value: self.total(&sheet.value),
            gross: if OWES { self.total(&sheet.gross) } else { zero },
        }
    }
}
