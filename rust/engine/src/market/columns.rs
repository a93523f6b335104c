use crate::market::dates::Dates;
use crate::market::row_lines::RowLines;

/// The raw columns of a dataset.
///
/// Every table is time-major: `n_bars * n_symbols` values, oldest bar first.
#[derive(Clone, Debug, Default)]
pub struct Columns {
    /// ISO 8601 dates, strictly increasing, all of one form.
    pub dates: Dates,
    /// Unique names.
    pub symbols: Vec<String>,
    /// Closing prices in account currency; NaN where a symbol did not close.
    pub close: Vec<f64>,
    /// Opening prices; NaN where a symbol did not open.
    pub open: Option<Vec<f64>>,
    /// Highs.
    pub high: Option<Vec<f64>>,
    /// Lows.
    pub low: Option<Vec<f64>>,
    /// Shares traded; NaN where unknown.
    pub volume: Option<Vec<f64>>,
    /// Cash per pre-split share, on the ex-date; NaN or 0 for none.
    pub dividends: Option<Vec<f64>>,
    /// New shares per old share, on the ex-date; NaN or 1 for none.
    pub splits: Option<Vec<f64>>,
    /// Whether orders can be filled in the bar.
    pub tradable: Option<Vec<bool>>,
    /// Return from the last close to the cash paid, on the settlement bar.
    ///
    /// NaN elsewhere.
    pub delistings: Option<Vec<f64>>,
    /// Costs by symbol and bar, and funding, in the order of [`crate::Charge::ALL`].
    ///
    /// NaN where a symbol has none.
    pub charges: [Option<Vec<f64>>; 4],
    /// Risk-free return of each bar, from the bar before it.
    ///
    /// Absent if unknown.
    pub risk_free: Option<Vec<f64>>,
    /// Bars per year; NaN if unknown.
    pub periods_per_year: f64,
    /// Point-in-time fundamentals.
    pub fundamentals: Vec<Fundamental>,
    /// Point-in-time headlines.
    pub news: Vec<NewsItem>,
    /// Features, each known at the close of its bar.
    pub features: Vec<Feature>,
    /// Positions of the values in their source.
    pub origin: Origin,
}

/// Positions of values in the text or data frame of their source.
///
/// Error messages name these positions. By default bar t is in row t.
#[derive(Clone, Debug, Default)]
pub struct Origin {
    /// Whether positions are line numbers from 1; otherwise row numbers from 0.
    pub is_text: bool,
    /// The position of each bar of a wide source; empty if bar t is in row t.
    pub of_bar: Vec<usize>,
    /// The cell of each row of a long source.
    ///
    /// Empty if each cell is in the row of its bar, or if `n_placed` is not 0.
    pub cells: Vec<u32>,
    /// Number of rows of a long source in the order of the cells, 0 for another order.
    pub n_placed: usize,
    /// The line of each row of a long text.
    pub lines: RowLines,
}

impl Origin {
    /// Returns whether rows are those of a long source.
    pub(crate) fn is_long(&self) -> bool {
        self.n_placed > 0 || !self.cells.is_empty()
    }

    /// Returns the position of a bar in words.
    pub(crate) fn bar(&self, bar: usize, n_symbols: usize) -> String {
        let row = self.row(|cell| cell / n_symbols == bar);
        row.unwrap_or_else(|| self.words(self.of_bar.get(bar).copied().unwrap_or(bar)))
    }

    /// Returns the position of a cell in words.
    pub(crate) fn cell(&self, cell: usize, n_symbols: usize) -> String {
        self.row(|found| found == cell).unwrap_or_else(|| self.bar(cell / n_symbols, n_symbols))
    }

    /// Returns the first position of a symbol in words, after a space.
    ///
    /// Empty if the symbol is in a header.
    pub(crate) fn symbol(&self, column: usize, n_symbols: usize) -> String {
        self.row(|cell| cell % n_symbols == column).map(|place| format!(" {place}")).unwrap_or_default()
    }

    /// Returns the positions of two rows of a long source in words.
    pub(crate) fn pair(&self, first: usize, second: usize) -> String {
        let (first, second) = (self.position(first), self.position(second));
        format!("{} {first} and {second}", if self.is_text { "on lines" } else { "at rows" })
    }

    /// Returns the first row of a long source with a cell, in words.
    ///
    /// Only a refusal needs it, so that rows are searched then.
    fn row(&self, is_it: impl Fn(usize) -> bool) -> Option<String> {
        let placed = (0..self.n_placed).find(|cell| is_it(*cell));
        let row = placed.or_else(|| self.cells.iter().position(|cell| is_it(*cell as usize)))?;
        Some(self.words(self.position(row)))
    }

    fn position(&self, row: usize) -> usize {
        if self.is_text { self.lines.of(row) } else { row }
    }

    fn words(&self, place: usize) -> String {
        if self.is_text { format!("on line {place}") } else { format!("at row {place}") }
    }
}

/// A fundamental of a symbol, known from `available_at` on.
///
/// A later value of the same name restates it. One name has one value at one time. Splits do not change it.
#[derive(Clone, Debug, PartialEq)]
pub struct Fundamental {
    /// Symbol index.
    pub symbol: usize,
    /// ISO 8601 date or time from which an agent may know it.
    pub available_at: String,
    /// Name of the fundamental.
    pub name: String,
    /// Value of the fundamental.
    pub value: f64,
}

/// A headline about a symbol, known from `available_at` on.
#[derive(Clone, Debug, PartialEq)]
pub struct NewsItem {
    /// Symbol index.
    pub symbol: usize,
    /// ISO 8601 date or time from which an agent may know it.
    pub available_at: String,
    /// The headline.
    pub headline: String,
}

/// What a feature has one value per bar of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FeatureScope {
    /// Each symbol.
    #[default]
    Symbol,
    /// The market.
    Market,
}

impl FeatureScope {
    /// The names of the scopes.
    pub const NAMES: [&'static str; 2] = ["symbol", "market"];

    /// Returns the name.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }

    /// Returns a scope by its name.
    #[must_use]
    pub fn by_name(name: &str) -> Option<Self> {
        [Self::Symbol, Self::Market].into_iter().find(|scope| scope.name() == name)
    }
}

/// A feature: a number per bar that is known at the close of the bar.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Feature {
    /// Name, unique in the dataset.
    pub name: String,
    /// Whether each symbol or the market has a value.
    pub scope: FeatureScope,
    /// One value per bar and symbol, or per bar, bar after bar.
    ///
    /// Finite wherever the symbol is listed. Other values are not kept.
    pub values: Vec<f64>,
}
