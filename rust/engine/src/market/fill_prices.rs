//! Steps 7 and 8 of the timeline: reference prices, and which symbols can fill.

use crate::market::corporate_actions::ActionTable;
use crate::market::grid::Grid;
use crate::market::market_tables::{MarketTables, all};
use crate::vector::cpu_features::Arch;
use crate::vector::dispatch::vectorized;
use crate::vector::lane_sums::{self, Block, LANES};

/// The reference prices of fills.
#[derive(Debug)]
pub(crate) struct FillPrices {
    source: Source,
    /// Whether each symbol can be traded in each bar except the first.
    pub(crate) fill_all: bool,
}

/// The source of the reference prices.
///
/// A price is NaN if the symbol cannot be traded.
#[derive(Debug)]
enum Source {
    PreviousClose,
    Open,
    Table(Grid),
}

impl FillPrices {
    /// Returns prices that are not computed yet.
    pub(crate) fn unknown() -> Self {
        Self { source: Source::PreviousClose, fill_all: false }
    }

    /// Returns the prices of a market with known columns and actions.
    ///
    /// A copy is made only if neither the opens nor the closes are the reference prices.
    pub(crate) fn of(
        market: &MarketTables,
        (n_bars, n_symbols): (usize, usize),
        has_no_hole: bool,
        has_any_actions: bool,
    ) -> Self {
        let (mut fill_all, mut opens_say_all) = (true, market.open.is_some());
        vectorized(
            Arch::new(),
            #[inline(always)]
            || {
                // Most markets have no hole, which flat loops show faster.
                let first = if has_no_hole { n_bars } else { 1 };
                for bar in first..n_bars {
                    for i in 0..lane_sums::n_blocks(n_symbols) {
                        let cells = Cells::new(market, bar, i);
                        // A symbol that cannot be traded may have no open. The opens are then the reference prices.
                        let reported = |k: usize| cells.can_fill(k) | !cells.prices[k].is_finite();
                        fill_all &= (0..LANES).fold(true, |all, k| all & cells.can_fill(k));
                        opens_say_all &= (0..LANES).fold(true, |all, k| all & reported(k));
                    }
                    if !(fill_all || opens_say_all) {
                        break;
                    }
                }
            },
        );
        let adjusted = market.open.is_none() && has_any_actions;
        let source = match &market.open {
            Some(_) if opens_say_all => Source::Open,
            None if fill_all && !adjusted => Source::PreviousClose,
            _ => Source::Table(table(market, n_bars)),
        };
        Self { source, fill_all }
    }

    /// Returns the table of the prices, and its lag in bars.
    pub(crate) fn grid<'a>(&'a self, market: &'a MarketTables) -> (&'a Grid, usize) {
        match (&self.source, &market.open) {
            (Source::Table(table), _) => (table, 0),
            (Source::Open, Some(open)) => (open, 0),
            _ => (&market.close, 1),
        }
    }
}

/// Returns whether every symbol has all its prices, and trades in every bar.
///
/// It may return false where it is so, if the market has actions. Prices and volumes that are known to be above 0 are not
/// read again.
pub(crate) fn has_no_hole(market: &MarketTables, are_positive: bool) -> bool {
    let has_actions = market.dividends.is_some() || market.splits.is_some() || market.tradable.is_some();
    if has_actions || are_positive {
        return !has_actions;
    }
    vectorized(
        Arch::new(),
        #[inline(always)]
        || {
            all(market.close.blocks().as_flattened(), f64::is_finite)
                && market.open.as_ref().is_none_or(|open| all(open.blocks().as_flattened(), f64::is_finite))
                && market
                    .volume
                    .as_ref()
                    .is_none_or(|volume| all(volume.blocks().as_flattened(), |volume| volume != 0.0))
        },
    )
}

/// Eight adjacent symbols in a bar.
struct Cells<'a> {
    prices: Block,
    close: &'a Block,
    tradable: &'a Block,
    volume: &'a Block,
}

impl<'a> Cells<'a> {
    #[inline(always)]
    fn new(market: &'a MarketTables, bar: usize, block: usize) -> Self {
        const NEUTRAL: &Block = &[1.0; LANES];
        let prices = match (&market.open, &market.dividends, &market.splits) {
            (Some(open), ..) => open.row(bar)[block],
            (None, None, None) => market.close.row(bar - 1)[block],
            _ => {
                let of = |table: &Option<ActionTable>, neutral| {
                    table.as_ref().map_or([neutral; LANES], |of| of.row(bar)[block])
                };
                let (paid, split) = (of(&market.dividends, 0.0), of(&market.splits, 1.0));
                let close = &market.close.row(bar - 1)[block];
                lane_sums::each(|k| (close[k] - paid[k]) / split[k])
            }
        };
        Self {
            prices,
            close: &market.close.row(bar)[block],
            tradable: market.tradable.as_ref().map_or(NEUTRAL, |table| &table.row(bar)[block]),
            volume: market.volume.as_ref().map_or(NEUTRAL, |table| &table.row(bar)[block]),
        }
    }

    /// Returns whether symbol `k` can be traded (step 8).
    #[inline(always)]
    fn can_fill(&self, k: usize) -> bool {
        // An unknown volume is not 0.
        self.prices[k].is_finite() && self.close[k].is_finite() && self.tradable[k] != 0.0 && self.volume[k] != 0.0
    }
}

fn table(market: &MarketTables, n_bars: usize) -> Grid {
    let mut table = market.close.clone();
    for bar in 1..n_bars {
        for (i, filled) in table.row_mut(bar).iter_mut().enumerate() {
            let cells = Cells::new(market, bar, i);
            *filled = lane_sums::each(|k| if cells.can_fill(k) { cells.prices[k] } else { f64::NAN });
        }
    }
    table
}
