//! Random markets, orders, costs and limits.
//!
//! They cover rare branches of the bar timeline.

use openoutcry_engine::{Columns, CostModel, Dataset, Fundamental, Limits, NewsItem};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

use crate::place_hash::CellDraws;

/// The seed of every property test, so that a run is repeatable.
///
/// A failure prints its shrunken `Case`.
const SEED: u64 = 20_260_101;

/// Returns the configuration of a property test.
///
/// It has ten times the cases with `OPENOUTCRY_FULL=1`.
pub fn config(cases: u32) -> ProptestConfig {
    let full = std::env::var("OPENOUTCRY_FULL").is_ok_and(|value| value == "1");
    let cases = if full { 10 * cases } else { cases };
    println!("{cases} cases of seed {SEED}");
    // Rejected cases grow with the number of cases, so a fixed bound would be reached.
    let max_global_rejects = cases;
    let rng_seed = RngSeed::Fixed(SEED);
    ProptestConfig { cases, max_global_rejects, rng_seed, failure_persistence: None, ..ProptestConfig::default() }
}

/// The features of a random market; its cells follow from the seed.
#[derive(Clone, Debug)]
pub struct Case {
    pub seed: u64,
    pub n_bars: usize,
    pub n_symbols: usize,
    pub start: usize,
    pub has: Features,
    pub costs: CostModel,
    pub limits: Limits,
    /// The largest |weight| drawn.
    pub reach: f64,
}

/// Rare features of a market.
#[expect(clippy::struct_excessive_bools, reason = "each feature is there or not, in any combination")]
#[derive(Clone, Copy, Debug, Default)]
pub struct Features {
    pub opens: bool,
    pub volume: bool,
    pub dividends: bool,
    pub splits: bool,
    /// Whether splits other than powers of two are drawn.
    pub odd_splits: bool,
    pub halts: bool,
    pub mask: bool,
    pub late: bool,
    pub delistings: bool,
    /// Whether a price may more than halve or double in a bar.
    pub jumps: bool,
    /// Whether symbols have costs of their own, and funding.
    pub charges: bool,
}

pub fn cases() -> impl Strategy<Value = Case> {
    let shape = (any::<u64>(), 2..13_usize, 1..19_usize, 0..4_usize);
    (shape, features(), costs(), limits(), prop::sample::select(vec![0.3, 1.0, 3.0, 30.0])).prop_map(
        |((seed, n_bars, n_symbols, start), has, costs, limits, reach)| {
            let has = Features { charges: seed.is_multiple_of(6), ..has };
            let start = start.min(n_bars - 2);
            Case { seed, n_bars, n_symbols, start, has, costs, limits, reach }
        },
    )
}

fn features() -> impl Strategy<Value = Features> {
    prop::array::uniform10(any::<bool>()).prop_map(|on| Features {
        opens: on[0],
        volume: on[1],
        dividends: on[2],
        splits: on[3],
        odd_splits: on[4],
        halts: on[5],
        mask: on[6],
        late: on[7],
        delistings: on[8],
        jumps: on[9],
        charges: false,
    })
}

fn costs() -> impl Strategy<Value = CostModel> {
    let size = |usual: f64, absurd: f64| prop_oneof![3 => Just(0.0), 5 => 0.0..usual, 1 => 0.0..absurd];
    let rates = (size(500.0, 50_000.0), size(500.0, 20_000.0), size(1000.0, 50_000.0));
    let fills = (size(20.0, 500.0), size(30.0, 6000.0), size(200.0, 8000.0));
    let jitter = prop_oneof![Just(0.0), 0.0..=1.0];
    (fills, rates, jitter, prop::sample::select(vec![1e3, 1e6, 3.7e8])).prop_map(|(fills, rates, jitter, capital)| {
        CostModel {
            fee_bps: fills.0,
            slippage_bps: fills.1,
            impact_bps: fills.2,
            slippage_jitter: jitter,
            financing_bps: rates.0,
            cash_bps: rates.1,
            borrow_bps: rates.2,
            capital,
            ..CostModel::zero()
        }
    })
}

fn limits() -> impl Strategy<Value = Limits> {
    let most = |usual: f64| prop_oneof![Just(f64::INFINITY), Just(usual), 0.05..2.0 * usual];
    let participation = prop_oneof![2 => Just(None), 3 => (0.001..1.5).prop_map(Some)];
    let margin = prop_oneof![2 => Just(0.0), 1 => 0.01..0.4];
    let account = prop_oneof![Just((true, false)), Just((false, false)), Just((false, true))];
    (most(1.0), most(1.0), account, participation, margin).prop_map(|(weight, gross, account, volume, margin)| {
        let (short, cash) = account;
        Limits {
            max_weight: weight,
            max_gross: gross,
            allow_short: short,
            max_participation: volume,
            maintenance_margin: margin,
            cash_account: cash,
        }
    })
}

impl Case {
    pub fn dataset(&self) -> Dataset {
        Dataset::new(self.columns()).expect("a valid market")
    }

    pub fn cells(&self) -> impl Iterator<Item = (usize, usize)> + use<> {
        let n_symbols = self.n_symbols;
        (0..self.n_bars).flat_map(move |bar| (0..n_symbols).map(move |symbol| (bar, symbol)))
    }

    pub fn columns(&self) -> Columns {
        let splits = self.splits();
        let mut close = self.close(&splits);
        let mut open = self.has.opens.then(|| self.open(&close, &splits));
        let dividends = self.has.dividends.then(|| self.dividends(&close));
        let volume = self.has.volume.then(|| self.volume(&close));
        self.halt(&mut close, open.as_mut());
        let delistings = self.list_and_delist(&mut close, open.as_mut());
        let masked = CellDraws::new(self.seed, "mask");
        let mask = || self.cells().map(|(bar, symbol)| !masked.chance(0.15, bar, symbol)).collect();
        Columns {
            dates: (0..self.n_bars).map(date).collect(),
            symbols: (0..self.n_symbols).map(|i| format!("S{i:02}")).collect(),
            close,
            open,
            volume,
            dividends,
            splits: self.has.splits.then_some(splits),
            tradable: self.has.mask.then(mask),
            delistings: self.has.delistings.then_some(delistings),
            charges: if self.has.charges { self.charges() } else { Default::default() },
            periods_per_year: 252.0,
            fundamentals: self.fundamentals(),
            news: self.news(),
            features: Vec::new(),
            ..Columns::default()
        }
    }

    /// Costs by symbol and funding; some columns are absent, and some cells.
    fn charges(&self) -> [Option<Vec<f64>>; 4] {
        let column = |name: &str, low: f64, high: f64| {
            let draws = CellDraws::new(self.seed, name);
            let cell = |(bar, symbol)| {
                let known = draws.chance(0.7, bar + 1000, symbol);
                if known { draws.between(low, high, bar, symbol) } else { f64::NAN }
            };
            draws.chance(0.7, 0, 2000).then(|| self.cells().map(cell).collect())
        };
        [column("spread", 0.0, 40.0), column("fee", 0.0, 30.0), column("loan", 0.0, 900.0), column("swap", -0.01, 0.01)]
    }

    fn splits(&self) -> Vec<f64> {
        let draws = CellDraws::new(self.seed, "split");
        let ratios: &[f64] = if self.has.odd_splits { &[3.0, 1.5, 0.1, 7.0, 2.0] } else { &[2.0, 4.0, 0.5, 0.25] };
        let ratio = |bar, symbol| {
            let splits = self.has.splits && bar > 0 && draws.chance(0.12, bar, symbol);
            if splits { draws.pick(ratios, bar + 1000, symbol) } else { 1.0 }
        };
        self.cells().map(|(bar, symbol)| ratio(bar, symbol)).collect()
    }

    fn close(&self, splits: &[f64]) -> Vec<f64> {
        let (walk, jump) = (CellDraws::new(self.seed, "walk"), CellDraws::new(self.seed, "jump"));
        let mut close: Vec<f64> = Vec::with_capacity(splits.len());
        for (bar, symbol) in self.cells() {
            let mut move_ = walk.between(0.96, 1.04, bar, symbol);
            if self.has.jumps && jump.chance(0.06, bar, symbol) {
                move_ *= jump.pick(&[0.2, 0.45, 2.5, 4.0], bar + 1000, symbol);
            }
            let before = match close.len().checked_sub(self.n_symbols) {
                Some(cell) => close[cell],
                None => walk.pick(&[0.01, 1.0, 100.0, 5e4], 1000, symbol),
            };
            close.push(before * move_ / splits[close.len()]);
        }
        close
    }

    fn open(&self, close: &[f64], splits: &[f64]) -> Vec<f64> {
        let gap = CellDraws::new(self.seed, "gap");
        let open = |(cell, (bar, symbol)): (usize, (usize, usize))| {
            let before = cell.checked_sub(self.n_symbols).map_or(close[cell], |before| close[before] / splits[cell]);
            before * gap.between(0.985, 1.015, bar, symbol)
        };
        self.cells().enumerate().map(open).collect()
    }

    /// Dividends of up to a twentieth of the close before, occasionally most of it.
    fn dividends(&self, close: &[f64]) -> Vec<f64> {
        let draws = CellDraws::new(self.seed, "dividend");
        let dividend = |(cell, (bar, symbol)): (usize, (usize, usize))| {
            let part = if draws.chance(0.1, bar + 1000, symbol) { 0.8 } else { 0.05 };
            let pays = bar > 0 && draws.chance(0.15, bar, symbol);
            if pays { close[cell - self.n_symbols] * part * draws.uniform(bar + 2000, symbol) } else { 0.0 }
        };
        self.cells().enumerate().map(dividend).collect()
    }

    /// Volumes from a fraction of the account to many times it.
    fn volume(&self, close: &[f64]) -> Vec<f64> {
        let draws = CellDraws::new(self.seed, "volume");
        let volume = |(cell, (bar, symbol)): (usize, (usize, usize))| match draws.uniform(bar + 1000, symbol) {
            rare if rare < 0.05 => 0.0,
            rare if rare < 0.1 => f64::NAN,
            _ => {
                let account = self.costs.capital / close[cell];
                let volume =
                    account * draws.pick(&[0.05, 1.0, 30.0], 2000, symbol) * draws.between(0.5, 1.5, bar, symbol);
                // A market rescaled by a test must stay in the range of volumes too.
                volume.min(1e12)
            }
        };
        self.cells().enumerate().map(volume).collect()
    }

    fn halt(&self, close: &mut [f64], mut open: Option<&mut Vec<f64>>) {
        let draws = CellDraws::new(self.seed, "halt");
        for (cell, (bar, symbol)) in self.cells().enumerate().filter(|_| self.has.halts) {
            let halted = draws.chance(0.12, bar, symbol);
            if halted {
                close[cell] = f64::NAN;
            }
            if let Some(open) =
                open.as_deref_mut().filter(|_| draws.chance(if halted { 0.5 } else { 0.03 }, bar + 1000, symbol))
            {
                open[cell] = f64::NAN;
            }
        }
    }

    /// Blanks bars before a listing and from a settlement on; returns the settlements.
    fn list_and_delist(&self, close: &mut [f64], mut open: Option<&mut Vec<f64>>) -> Vec<f64> {
        let draws = CellDraws::new(self.seed, "listing");
        let mut delistings = vec![f64::NAN; close.len()];
        for symbol in 0..self.n_symbols {
            let late = self.has.late && draws.chance(0.4, 0, symbol);
            let listed = if late { draws.below(self.n_bars + 1, 1, symbol) } else { 0 };
            let settles = self.has.delistings && draws.chance(0.4, 2, symbol);
            let settled = if settles { 1 + draws.below(self.n_bars - 1, 3, symbol) } else { self.n_bars };
            let cell = |bar: usize| bar * self.n_symbols + symbol;
            let known = (listed..settled).any(|bar| close[cell(bar)].is_finite());
            for bar in (0..self.n_bars).filter(|bar| *bar < listed || (*bar >= settled && known)) {
                close[cell(bar)] = f64::NAN;
                if let Some(open) = open.as_deref_mut() {
                    open[cell(bar)] = f64::NAN;
                }
            }
            if settles && known {
                delistings[cell(settled)] = draws.pick(&[-1.0, 0.0, -0.4, 0.2], 4, symbol);
            }
        }
        delistings
    }

    /// Fundamentals that become known on some bar, most of them restated later.
    fn fundamentals(&self) -> Vec<Fundamental> {
        let draws = CellDraws::new(self.seed, "fundamental");
        let known = self.cells().filter(|(bar, symbol)| draws.chance(0.2, *bar, *symbol));
        let known = known.map(|(bar, symbol)| Fundamental {
            symbol,
            available_at: date(bar),
            name: draws.pick(&["eps", "book", "€"], bar + 1000, symbol).to_owned(),
            value: draws.between(-5.0, 5.0, bar + 2000, symbol),
        });
        known.collect()
    }

    fn news(&self) -> Vec<NewsItem> {
        let draws = CellDraws::new(self.seed, "news");
        let heard = self.cells().filter(|(bar, symbol)| draws.chance(0.1, *bar, *symbol));
        let heard = heard.map(|(bar, symbol)| NewsItem {
            symbol,
            available_at: format!("{}T12:00:00", date(bar)),
            headline: format!("headline {bar} of \"{symbol}\""),
        });
        heard.collect()
    }

    /// Returns the orders decided on a bar, one per symbol.
    ///
    /// They are holds, closes, and weights that are occasionally refused.
    pub fn orders(&self, bar: usize) -> Vec<f64> {
        let draws = CellDraws::new(self.seed, "order");
        let size = self.reach / self.n_symbols as f64;
        let order = |symbol: usize| match draws.uniform(bar + 1000, symbol) {
            rare if rare < 0.2 => f64::NAN,
            rare if rare < 0.35 => 0.0,
            rare if rare < 0.36 => 100.5,
            rare if rare < 0.8 => size * draws.uniform(bar, symbol) * 2.0,
            _ => -size * draws.uniform(bar, symbol) * 2.0,
        };
        (0..self.n_symbols).map(order).collect()
    }
}

/// Returns consecutive days as sortable text.
pub fn date(bar: usize) -> String {
    format!("2001-{:02}-{:02}", 1 + bar / 28, 1 + bar % 28)
}
