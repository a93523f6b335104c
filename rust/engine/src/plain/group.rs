//! Plain steps of several accounts of few symbols, side by side.
//!
//! So what is done once for an account is done once for all of them.

use pulp::{Simd, WithSimd};

use crate::book::Book;
use crate::dataset::Dataset;
use crate::lanes::{Block, LANES};
use crate::plain::account::{self, Settled, Sums, scale, settle};
use crate::plain::order::{Depth, Order, Terms};
use crate::plain::{Features, Rows, total};
use crate::simd::Vector;
use crate::step::{Desk, Rules, Stepped};

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
/// `stepped` gets what each step came to, and keeps none where it was not plain: that account is as it was. Nothing else
/// is told of the steps. A market of more than eight symbols has no groups.
pub fn step_group(
    market: &Dataset,
    rules: &Rules,
    accounts: &mut [Account<'_>; LANES],
    stepped: &mut [Option<Stepped>; LANES],
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
    run(market, rules, accounts, stepped, desk);
}

fn run<const N: usize, const GAPS: bool, const VARIES: bool, const OWES: bool>(
    market: &Dataset,
    rules: &Rules,
    accounts: &mut [Account<'_>; LANES],
    stepped: &mut [Option<Stepped>; LANES],
    desk: &Desk,
) {
    desk.arch.dispatch(Group::<'_, '_, N, GAPS, VARIES, OWES> { market, rules, accounts, stepped });
}

/// Eight accounts of at most `N` symbols; the others as in [`Terms::fill`].
struct Group<'g, 'a, const N: usize, const GAPS: bool, const VARIES: bool, const OWES: bool> {
    market: &'g Dataset,
    rules: &'g Rules,
    accounts: &'g mut [Account<'a>; LANES],
    stepped: &'g mut [Option<Stepped>; LANES],
}

impl<const N: usize, const GAPS: bool, const VARIES: bool, const OWES: bool> WithSimd
    for Group<'_, '_, N, GAPS, VARIES, OWES>
{
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { market, rules, accounts, stepped } = self;
        let parts = accounts.chunks_exact_mut(S::F64_LANES).zip(stepped.chunks_exact_mut(S::F64_LANES));
        for (accounts, stepped) in parts {
            step_part::<S, N, GAPS, VARIES, OWES>(simd, market, rules, accounts, stepped);
        }
    }
}

/// The symbols that are turned at once.
const QUAD: usize = 4;

/// Returns four symbols of as many accounts as a vector has elements.
///
/// Each symbol is in a vector. The order of the accounts in a vector is the machine's, and the same for all that is
/// turned.
#[inline(always)]
fn turn<'a, S: Simd>(simd: S, row_of: impl Fn(usize) -> &'a [f64; QUAD]) -> [Vector<S>; QUAD] {
    let rows: [S::f64s; QUAD] = std::array::from_fn(|register| {
        let element = register * S::F64_LANES;
        let row = row_of(element / QUAD);
        S::as_simd_f64s(&row[element % QUAD..][..S::F64_LANES]).0[0]
    });
    simd.deinterleave_shfl_f64s(rows).map(|value| Vector::new(simd, value))
}

/// Returns what [`turn`] undoes: four numbers of each account.
#[inline(always)]
fn turn_back<S: Simd>(simd: S, columns: [Vector<S>; QUAD]) -> [Block; QUAD / 2] {
    let rows = simd.interleave_shfl_f64s(columns.map(Vector::value));
    let mut accounts = [[0.0; LANES]; QUAD / 2];
    S::as_mut_simd_f64s(accounts.as_flattened_mut()).0[..QUAD].copy_from_slice(&rows);
    accounts
}

/// Returns the four symbols from `quad` on of a row.
#[inline(always)]
fn quad_of(row: &[Block], quad: usize) -> &[f64; QUAD] {
    row[0][quad * QUAD..][..QUAD].try_into().expect("four symbols")
}

/// Steps as many accounts as a vector has elements.
#[inline(always)]
fn step_part<S: Simd, const N: usize, const GAPS: bool, const VARIES: bool, const OWES: bool>(
    simd: S,
    market: &Dataset,
    rules: &Rules,
    accounts: &mut [Account<'_>],
    stepped: &mut [Option<Stepped>],
) {
    let terms = Terms::new(simd, rules);
    let zero = terms.zero;
    let [cash, nav, ..] = {
        let own: [[f64; QUAD]; QUAD] =
            std::array::from_fn(|a| accounts.get(a).map_or([0.0; QUAD], |a| [a.book.cash, a.book.nav, 0.0, 0.0]));
        turn(simd, |a| &own[a])
    };
    let (mut orders, mut current, mut targets) = ([zero; N], [zero; N], [zero; N]);
    let (mut added, mut kept, mut misfit) = ([zero; LANES], [zero; LANES], zero);
    for quad in 0..N / QUAD {
        let asked: [[f64; QUAD]; QUAD] = std::array::from_fn(|a| asked(accounts.get(a), quad));
        orders[quad * QUAD..][..QUAD].copy_from_slice(&turn(simd, |a| &asked[a]));
        current[quad * QUAD..][..QUAD].copy_from_slice(&turn(simd, |a| quad_of(&accounts[a].book.weights, quad)));
    }
    for symbol in 0..N {
        let cut = terms.cut(orders[symbol], current[symbol]);
        targets[symbol] = cut.target;
        (added[symbol], kept[symbol]) = (zero + cut.added, zero + cut.kept);
        misfit = misfit + cut.lost + cut.odd;
    }
    let (added, kept) = (total(&added), total(&kept));
    let (scale, exceeds) = scale(simd, rules.limits().max_gross, added, kept);
    for symbol in 0..N {
        let scaled = exceeds.select(terms.scale(targets[symbol], current[symbol], scale), targets[symbol]);
        targets[symbol] = added.exceeds(zero).select(scaled, targets[symbol]);
    }

    let mut rows = [Rows::new(market, rules, accounts[0].book); QUAD];
    for (rows, account) in rows.iter_mut().zip(accounts.iter()).skip(1) {
        *rows = Rows::new(market, rules, account.book);
    }
    let row = |a: usize| &rows[a];
    let mut sums = [[zero; LANES]; 7];
    let (mut shares, mut marks) = ([zero; N], [zero; N]);
    for quad in 0..N / QUAD {
        let held = turn(simd, |a| quad_of(&accounts[a].book.shares, quad));
        let marked = turn(simd, |a| quad_of(&accounts[a].book.marks, quad));
        let fills = turn(simd, |a| quad_of(row(a).fill, quad));
        let closes = turn(simd, |a| quad_of(row(a).close, quad));
        let decided = if GAPS { turn(simd, |a| quad_of(row(a).decided, quad)) } else { closes };
        let depths = Depths::<S>::new::<VARIES>(simd, row(0), row, quad);
        for k in 0..QUAD {
            let symbol = quad * QUAD + k;
            let order = Order {
                asked: orders[symbol],
                target: targets[symbol],
                current: current[symbol],
                held: held[k],
                mark: marked[k],
                nav,
                decided: decided[k],
                fill: fills[k],
                close: closes[k],
            };
            let fill = terms.fill::<GAPS, VARIES, OWES>(&order, depths.at(k));
            let parts = [fill.flow, fill.traded, fill.slipped, fill.pushed, fill.short, fill.value, fill.gross];
            for (sum, part) in sums.iter_mut().zip(parts) {
                sum[symbol] = zero + part;
            }
            misfit = misfit + fill.misfit;
            (shares[symbol], marks[symbol]) = (fill.shares, fill.mark);
        }
    }
    let [flow, traded, slipped, pushed, short, value, gross] = sums.map(|lanes| total(&lanes));
    let sums = Sums { flow, traded, slipped, pushed, short, value, gross };
    let settled = settle::<S, OWES>(simd, market, rules, (cash, nav), sums);
    let told = Told::new(simd, &settled, &sums, misfit + settled.misfit);
    for (a, (account, stepped)) in accounts.iter_mut().zip(stepped.iter_mut()).enumerate() {
        *stepped = told.of(a);
        if let Some(stepped) = stepped {
            (account.book.bar, account.book.cash, account.book.nav) = (account.book.bar + 1, told.cash(a), stepped.nav);
        }
    }
    for quad in 0..N / QUAD {
        let of = |columns: [Vector<S>; N]| std::array::from_fn(|k| columns[quad * QUAD + k]);
        let weight = |k: usize| {
            let (shares, mark) = (shares[quad * QUAD + k], marks[quad * QUAD + k]);
            shares.equals(zero).select(zero, shares * mark / settled.nav)
        };
        let weights = turn_back(simd, std::array::from_fn(weight));
        let (shares, marks) = (turn_back(simd, of(shares)), turn_back(simd, of(marks)));
        for (a, account) in accounts.iter_mut().enumerate().filter(|(a, _)| stepped[*a].is_some()) {
            let book = &mut *account.book;
            let place = quad * QUAD..(quad + 1) * QUAD;
            book.shares[0][place.clone()].copy_from_slice(&shares.as_flattened()[a * QUAD..][..QUAD]);
            book.marks[0][place.clone()].copy_from_slice(&marks.as_flattened()[a * QUAD..][..QUAD]);
            book.weights[0][place].copy_from_slice(&weights.as_flattened()[a * QUAD..][..QUAD]);
        }
    }
}

/// Returns four of the weights an account is to trade to; 0 beyond the last symbol.
#[inline(always)]
fn asked(account: Option<&Account<'_>>, quad: usize) -> [f64; QUAD] {
    let orders = account.map_or(&[][..], |account| account.orders);
    match orders.get(quad * QUAD..(quad + 1) * QUAD).and_then(|orders| orders.try_into().ok()) {
        Some(orders) => orders,
        None => std::array::from_fn(|k| orders.get(quad * QUAD + k).copied().unwrap_or(0.0)),
    }
}

/// What the costs of four symbols depend on.
struct Depths<S: Simd> {
    slippage: Option<[Vector<S>; QUAD]>,
    volume: Option<[Vector<S>; QUAD]>,
    ratio: Option<[Vector<S>; QUAD]>,
    root: Option<[Vector<S>; QUAD]>,
}

impl<S: Simd> Depths<S> {
    #[inline(always)]
    fn new<'a, const VARIES: bool>(
        simd: S,
        any: &Rows<'a>,
        row: impl Fn(usize) -> &'a Rows<'a> + Copy,
        quad: usize,
    ) -> Self {
        if !VARIES {
            return Self { slippage: None, volume: None, ratio: None, root: None };
        }
        let turned = |of: fn(&Rows<'a>) -> Option<&'a [Block]>| {
            of(any).map(|_| turn(simd, |a| quad_of(of(row(a)).expect("a row a bar"), quad)))
        };
        let ratio = turned(|rows| rows.ratios.map(|(ratio, _)| ratio));
        let root = turned(|rows| rows.ratios.map(|(_, root)| root));
        let volume = if ratio.is_some() { None } else { turned(|rows| rows.volume) };
        Self { slippage: turned(|rows| rows.slippage), volume, ratio, root }
    }

    #[inline(always)]
    fn at(&self, k: usize) -> Depth<S> {
        Depth {
            slippage: self.slippage.as_ref().map(|of| of[k]),
            volume: self.volume.as_ref().map(|of| of[k]),
            ratio: self.ratio.as_ref().zip(self.root.as_ref()).map(|(ratio, root)| (ratio[k], root[k])),
        }
    }
}

/// The numbers of steps, four to an account at a time.
struct Told {
    first: [Block; QUAD / 2],
    second: [Block; QUAD / 2],
    third: [Block; QUAD / 2],
}

impl Told {
    #[inline(always)]
    fn new<S: Simd>(simd: S, settled: &Settled<S>, sums: &Sums<Vector<S>>, misfit: Vector<S>) -> Self {
        Self {
            first: turn_back(simd, [settled.cash, settled.nav, settled.reward, settled.turnover]),
            second: turn_back(simd, [settled.fee, settled.idle, settled.own, settled.borrow]),
            third: turn_back(simd, [sums.slipped, sums.pushed, misfit, misfit]),
        }
    }

    #[inline(always)]
    fn cash(&self, a: usize) -> f64 {
        self.first.as_flattened()[a * QUAD]
    }

    /// Returns the step of an account, if it was plain.
    #[inline(always)]
    fn of(&self, a: usize) -> Option<Stepped> {
        let four = |rows: &[Block; QUAD / 2]| -> [f64; QUAD] {
            rows.as_flattened()[a * QUAD..][..QUAD].try_into().expect("four numbers")
        };
        let [_, nav, reward, turnover] = four(&self.first);
        let [fee, idle, own, borrow] = four(&self.second);
        let [slipped, pushed, misfit, _] = four(&self.third);
        if misfit > 0.0 {
            return None;
        }
        let (costs, interest) = account::costs((fee, slipped, pushed), (own, idle, borrow));
        Some(Stepped {
            nav,
            reward,
            costs,
            interest,
            dividends: 0.0,
            settlement: 0.0,
            shortfall: 0.0,
            turnover,
            terminated: false,
        })
    }
}
