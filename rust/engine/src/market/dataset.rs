use std::sync::OnceLock;

use crate::error::DataError;
use crate::market::bar_frequency::inferred_periods_per_year;
use crate::market::columns::{Columns, Feature, Origin};
use crate::market::corporate_actions::ActionTable;
use crate::market::dates::Dates;
use crate::market::fill_prices::{self, FillPrices};
use crate::market::grid::Grid;
use crate::market::market_tables::MarketTables;
use crate::market::{csv_reader, validation};
use crate::vector::lane_sums::{self, Block};

/// Default number of bars per year: the trading days of a US year.
pub const DEFAULT_PERIODS_PER_YEAR: f64 = 252.0;

/// An immutable market of bars by symbols, validated once and shared by all runs.
#[derive(Debug)]
pub struct Dataset {
    pub(crate) dates: Dates,
    pub(crate) symbols: Vec<String>,
    pub(crate) periods_per_year: f64,
    pub(crate) tables: MarketTables,
    pub(crate) risk_free: Option<Vec<f64>>,
    pub(crate) fundamentals: Vec<PointInTime<(String, f64)>>,
    pub(crate) news: Vec<PointInTime<String>>,
    pub(crate) features: Vec<Feature>,
    pub(crate) listed_at: Vec<usize>,
    pub(crate) settled_at: Vec<usize>,
    all_live: bool,
    has_gaps: bool,
    has_actions: Vec<bool>,
    has_any_actions: bool,
    fill_prices: FillPrices,
    by_name: Vec<usize>,
    pub(super) fingerprint: OnceLock<[u8; 32]>,
}

/// A point-in-time item of a symbol, and the first bar at which it is known.
#[derive(Clone, Debug)]
pub(crate) struct PointInTime<T> {
    pub(crate) symbol: usize,
    pub(crate) available_at: String,
    pub(crate) bar: usize,
    pub(crate) item: T,
}

impl Dataset {
    /// Returns the dataset of `columns`.
    ///
    /// # Errors
    ///
    /// Returns the first fault with its row and column. Nothing is repaired.
    pub fn new(columns: Columns) -> Result<Self, DataError> {
        let are_positive = validation::check(&columns)?;
        // Positions are for refusals only, and as large as a table.
        let mut columns = Columns { origin: Origin::default(), ..columns };
        let tables = MarketTables::from_columns(&mut columns);
        let (dates, symbols) = (columns.dates, columns.symbols);
        let mut dataset = Self::of_grids(dates, symbols, columns.periods_per_year, tables, are_positive);
        dataset.risk_free = columns.risk_free;
        for item in columns.fundamentals {
            let known = dataset.known(item.symbol, item.available_at, (item.name, item.value));
            dataset.fundamentals.push(known);
        }
        for item in columns.news {
            let known = dataset.known(item.symbol, item.available_at, item.headline);
            dataset.news.push(known);
        }
        // Stable sort: headlines of one time stay in the given order.
        dataset
            .fundamentals
            .sort_by(|a, b| (a.symbol, &a.item.0, &a.available_at).cmp(&(b.symbol, &b.item.0, &b.available_at)));
        dataset.news.sort_by(|a, b| (a.symbol, &a.available_at).cmp(&(b.symbol, &b.available_at)));
        dataset.keep_features(columns.features)?;
        Ok(dataset)
    }

    /// Returns the dataset of `columns`, with stated or inferred bars per year.
    ///
    /// The number is unknown if it is not stated and the dates do not show it; NaN states that it is unknown.
    ///
    /// # Errors
    ///
    /// Returns the first fault, as [`Dataset::new`] does.
    pub fn with_periods_per_year(columns: Columns, stated: Option<f64>) -> Result<Self, DataError> {
        let periods_per_year = stated.or_else(|| inferred_periods_per_year(&columns.dates)).unwrap_or(f64::NAN);
        Self::new(Columns { periods_per_year, ..columns })
    }

    /// Returns the dataset of generated tables, on weekdays from 2000-01-03 on.
    ///
    /// Shapes, listings and settlements are valid by construction.
    ///
    /// # Errors
    ///
    /// Returns an error if a value leaves its range, as [`Dataset::new`] does.
    pub(crate) fn drawn(n_bars: usize, n_symbols: usize, tables: MarketTables) -> Result<Self, DataError> {
        let is_sound = tables.are_sound();
        let symbols = (0..n_symbols).map(|i| format!("S{i:03}")).collect();
        let dataset = Self::of_grids(Dates::weekdays(n_bars), symbols, DEFAULT_PERIODS_PER_YEAR, tables, false);
        if !is_sound {
            validation::check(&dataset.columns())?;
        }
        Ok(dataset)
    }

    /// Returns the dataset of valid tables.
    ///
    /// `are_positive` states that every price and volume is known and above 0.
    fn of_grids(
        dates: Dates,
        symbols: Vec<String>,
        periods_per_year: f64,
        tables: MarketTables,
        are_positive: bool,
    ) -> Self {
        let mut dataset = Self {
            risk_free: None,
            fundamentals: Vec::new(),
            news: Vec::new(),
            features: Vec::new(),
            listed_at: Vec::new(),
            settled_at: Vec::new(),
            all_live: false,
            has_gaps: false,
            has_actions: Vec::new(),
            has_any_actions: false,
            fill_prices: FillPrices::unknown(),
            by_name: (0..symbols.len()).collect(),
            fingerprint: OnceLock::new(),
            periods_per_year,
            dates,
            symbols,
            tables,
        };
        dataset.derive(are_positive);
        dataset
    }

    /// Returns the dataset of a CSV text.
    ///
    /// The format is long (`date,symbol,close,...`) or wide (`date` and one column per symbol). Without
    /// `periods_per_year` it is inferred from the dates.
    ///
    /// # Errors
    ///
    /// Returns the first fault with its row and column. Nothing is repaired.
    pub fn from_csv(text: &str, periods_per_year: Option<f64>) -> Result<Self, DataError> {
        Self::with_periods_per_year(csv_reader::parse(text)?, periods_per_year)
    }

    fn known<T>(&self, symbol: usize, available_at: String, item: T) -> PointInTime<T> {
        let bar = self.dates.first_at_or_after(&available_at);
        PointInTime { symbol, available_at, bar, item }
    }

    fn derive(&mut self, are_positive: bool) {
        let (n_bars, n_symbols) = (self.n_bars(), self.n_symbols());
        let has_no_hole = fill_prices::has_no_hole(&self.tables, are_positive);
        let first = |holds: &dyn Fn(usize) -> bool| (0..n_bars).find(|bar| holds(*bar)).unwrap_or(usize::MAX);
        self.listed_at = (0..n_symbols).map(|i| first(&|bar| self.tables.close.get(bar, i).is_finite())).collect();
        self.settled_at = vec![usize::MAX; n_symbols];
        if let Some(delistings) = &self.tables.delistings {
            for bar in delistings.bars() {
                for (i, first) in self.settled_at.iter_mut().enumerate() {
                    *first = if delistings.get(bar, i).is_nan() { *first } else { bar.min(*first) };
                }
            }
        }
        self.all_live = self.listed_at.iter().all(|bar| *bar == 0) && self.settled_at.iter().all(|bar| *bar >= n_bars);
        self.has_actions = (0..n_bars).map(|bar| self.acts(bar)).collect();
        self.has_any_actions = self.has_actions.contains(&true);
        self.fill_prices = FillPrices::of(&self.tables, (n_bars, n_symbols), has_no_hole, self.has_any_actions);
        let has_gap =
            |row: &[Block]| row.iter().any(|block| block.iter().fold(false, |any, close| any | close.is_nan()));
        // A symbol that can fill has a close; nothing fills in the first bar.
        let n_unknown = if self.fill_prices.fill_all { n_bars.min(1) } else { n_bars };
        self.has_gaps = (0..n_unknown).any(|bar| has_gap(self.tables.close.row(bar)));
        self.by_name.sort_by(|a, b| self.symbols[*a].cmp(&self.symbols[*b]));
    }

    fn acts(&self, bar: usize) -> bool {
        let any = |table: &Option<ActionTable>, neutral: f64| {
            let table = table.as_ref().filter(|table| table.has(bar));
            table.is_some_and(|table| table.row(bar).as_flattened().iter().any(|value| *value != neutral))
        };
        any(&self.tables.dividends, 0.0) || any(&self.tables.splits, 1.0) || self.settled_at.contains(&bar)
    }

    /// Returns the reference prices of bar t (steps 7 and 8).
    ///
    /// NaN for a symbol that cannot be traded.
    pub(crate) fn fill_prices(&self, bar: usize) -> &[Block] {
        let (grid, lag) = self.fill_grid();
        grid.row(bar - lag)
    }

    /// Returns the table of reference prices, and its lag in bars.
    pub(crate) fn fill_grid(&self) -> (&Grid, usize) {
        self.fill_prices.grid(&self.tables)
    }

    /// Returns the price at which orders of bar t - 1 fill in bar t (step 7).
    ///
    /// NaN without a price.
    pub(crate) fn reference_price(&self, bar: usize, symbol: usize) -> f64 {
        match &self.tables.open {
            Some(open) => open.get(bar, symbol),
            None => (self.tables.close.get(bar - 1, symbol) - self.dividend(bar, symbol)) / self.split(bar, symbol),
        }
    }

    /// Returns the closes of a bar, NaN where missing.
    pub(crate) fn closes(&self, bar: usize) -> &[Block] {
        self.tables.close.row(bar)
    }

    pub(crate) fn close_of(&self, bar: usize, symbol: usize) -> f64 {
        self.tables.close.get(bar, symbol)
    }

    /// Returns low and high of a symbol in a bar, NaN where unknown.
    pub(crate) fn range_of(&self, bar: usize, symbol: usize) -> (f64, f64) {
        let of = |table: &Option<Grid>| table.as_ref().map_or(f64::NAN, |grid| grid.get(bar, symbol));
        (of(&self.tables.low), of(&self.tables.high))
    }

    pub(crate) fn is_masked(&self, bar: usize, symbol: usize) -> bool {
        self.tables.tradable.as_ref().is_some_and(|grid| grid.get(bar, symbol) == 0.0)
    }

    /// Returns the shares traded in a bar, if known.
    pub(crate) fn volume_of(&self, bar: usize, symbol: usize) -> Option<f64> {
        self.tables.volume.as_ref().map(|grid| grid.get(bar, symbol)).filter(|volume| !volume.is_nan())
    }

    pub(crate) fn delisting_return(&self, bar: usize, symbol: usize) -> Option<f64> {
        self.tables.delistings.as_ref().map(|grid| grid.get(bar, symbol)).filter(|value| !value.is_nan())
    }

    pub(crate) fn dividend(&self, bar: usize, symbol: usize) -> f64 {
        self.tables.dividends.as_ref().map_or(0.0, |grid| grid.get(bar, symbol))
    }

    pub(crate) fn split(&self, bar: usize, symbol: usize) -> f64 {
        self.tables.splits.as_ref().map_or(1.0, |grid| grid.get(bar, symbol))
    }

    /// Returns whether some bar has a dividend, split or delisting.
    pub(crate) fn has_any_actions(&self) -> bool {
        self.has_any_actions
    }

    pub(crate) fn has_actions(&self, bar: usize) -> bool {
        self.has_actions[bar]
    }

    /// Returns whether every symbol closes in every bar and can be traded.
    ///
    /// The first bar fills no order and need not be tradable.
    pub(crate) fn is_whole(&self) -> bool {
        self.all_live && !self.has_gaps && self.fill_prices.fill_all
    }

    /// Returns the shares traded in a bar, NaN where unknown, if the data has volume.
    pub(crate) fn volumes(&self, bar: usize) -> Option<&[Block]> {
        self.tables.volume.as_ref().map(|grid| grid.row(bar))
    }

    /// Returns whether some symbol has no close in some bar.
    pub(crate) fn has_gaps(&self) -> bool {
        self.has_gaps
    }

    /// Returns whether all symbols close on the first bar and none is delisted.
    pub(crate) fn all_live(&self) -> bool {
        self.all_live
    }

    /// Returns the last real close by `bar`, on the share basis of that bar.
    ///
    /// It is 1 before the first close. A symbol that has never closed then needs no branch: no shares times 1 is 0.
    pub(crate) fn marks(&self, bar: usize) -> Vec<Block> {
        let mut marks = vec![[1.0; lane_sums::LANES]; lane_sums::n_blocks(self.n_symbols())];
        self.write_marks(bar, &mut marks);
        marks
    }

    /// Writes the marks of [`Dataset::marks`].
    pub(crate) fn write_marks(&self, bar: usize, marks: &mut [Block]) {
        marks.fill([1.0; lane_sums::LANES]);
        for symbol in (0..self.n_symbols()).filter(|i| self.listed_at[*i] <= bar) {
            let last = (0..=bar).rev().find(|t| self.tables.close.get(*t, symbol).is_finite()).unwrap_or(bar);
            let splits = (last + 1..=bar).map(|t| self.split(t, symbol));
            lane_sums::set(marks, symbol, splits.fold(self.tables.close.get(last, symbol), |mark, split| mark / split));
        }
    }

    /// Returns the number of bars.
    #[must_use]
    pub fn n_bars(&self) -> usize {
        self.dates.len()
    }

    /// Returns the number of symbols.
    #[must_use]
    pub fn n_symbols(&self) -> usize {
        self.symbols.len()
    }

    /// Returns the dates of the bars.
    #[must_use]
    pub fn dates(&self) -> &Dates {
        &self.dates
    }

    /// Returns the names of the symbols.
    #[must_use]
    pub fn symbols(&self) -> &[String] {
        &self.symbols
    }

    /// Returns the number of bars per year, or `None` if it is unknown.
    #[must_use]
    pub fn periods_per_year(&self) -> Option<f64> {
        (!self.periods_per_year.is_nan()).then_some(self.periods_per_year)
    }

    /// Returns the divisor of annual rates.
    ///
    /// Rules on a market without a known number have rates of 0 only, see [`crate::Rules::check_market`].
    pub(crate) fn accruals_per_year(&self) -> f64 {
        self.periods_per_year().unwrap_or(1.0)
    }

    /// Returns the risk-free return of each bar, if the dataset has one.
    #[must_use]
    pub fn risk_free(&self) -> Option<&[f64]> {
        self.risk_free.as_deref()
    }

    /// Returns all fundamentals as (symbol, available at, name, value).
    pub fn fundamentals(&self) -> impl Iterator<Item = (&str, &str, &str, f64)> {
        let known = self.fundamentals.iter();
        known.map(|known| {
            (self.symbols[known.symbol].as_str(), known.available_at.as_str(), known.item.0.as_str(), known.item.1)
        })
    }

    /// Returns all headlines as (symbol, available at, headline).
    pub fn news(&self) -> impl Iterator<Item = (&str, &str, &str)> {
        let known = self.news.iter();
        known.map(|known| (self.symbols[known.symbol].as_str(), known.available_at.as_str(), known.item.as_str()))
    }

    /// Returns whether orders fill at opens.
    ///
    /// Otherwise they fill at the close of the decision.
    #[must_use]
    pub fn has_opens(&self) -> bool {
        self.tables.open.is_some()
    }

    /// Returns the index of a symbol by name, even if it never closes.
    ///
    /// For the harness only. [`crate::AsOf::index_of`] looks up names of an agent and knows no later listing.
    #[must_use]
    pub fn index_of(&self, name: &str) -> Option<usize> {
        let found = self.by_name.binary_search_by(|i| self.symbols[*i].as_str().cmp(name));
        found.ok().map(|place| self.by_name[place])
    }
}
