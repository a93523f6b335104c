/// The raw columns of a dataset.
///
/// Every table is time-major: `n_bars * n_symbols` values, oldest bar first.
#[derive(Clone, Debug, Default)]
pub struct Columns {
    /// ISO 8601 dates, strictly increasing, all of one form.
    pub dates: Vec<String>,
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
    /// Whether a fill is allowed in the bar.
    pub tradable: Option<Vec<bool>>,
    /// Return from the last close to the cash paid, on the settlement bar.
    ///
    /// NaN elsewhere.
    pub delistings: Option<Vec<f64>>,
    /// Risk-free return of each bar, from the bar before it.
    ///
    /// None means that none is known.
    pub risk_free: Option<Vec<f64>>,
    /// Bars a year.
    pub periods_per_year: f64,
    /// Point-in-time numbers.
    pub fundamentals: Vec<Fundamental>,
    /// Point-in-time headlines.
    pub news: Vec<NewsItem>,
    /// Where the values stood before they were put in order.
    pub origin: Origin,
}

/// Where values stood in the text or frame they were read from.
///
/// An error names a place that its reader can find.
///
/// By default they stood where they stand: bar t in row t.
#[derive(Clone, Debug, Default)]
pub struct Origin {
    /// Whether places are lines, counted from 1; else they are rows, counted from 0.
    pub is_text: bool,
    /// The first place of each bar; empty where bars are in their places.
    pub of_bar: Vec<usize>,
    /// The place of each cell; empty where each stood in its bar's place.
    ///
    /// [`Origin::NOWHERE`] where a cell was left out.
    pub of_cell: Vec<usize>,
}

impl Origin {
    /// The place of a cell that was not given.
    pub const NOWHERE: usize = usize::MAX;

    /// Returns the place of a bar in words.
    pub(crate) fn bar(&self, bar: usize) -> String {
        self.words(self.of_bar.get(bar).copied().unwrap_or(bar))
    }

    /// Returns the place of a cell of `bar` in words.
    pub(crate) fn cell(&self, cell: usize, bar: usize) -> String {
        match self.of_cell.get(cell) {
            Some(place) if *place != Self::NOWHERE => self.words(*place),
            _ => self.bar(bar),
        }
    }

    /// Returns the first place of a symbol in words, with a space before them.
    ///
    /// Nothing where it stands in a header.
    pub(crate) fn symbol(&self, column: usize, n_symbols: usize) -> String {
        let places = self.of_cell.iter().skip(column).step_by(n_symbols);
        let first = places.filter(|place| **place != Self::NOWHERE).min();
        first.map(|place| format!(" {}", self.words(*place))).unwrap_or_default()
    }

    fn words(&self, place: usize) -> String {
        if self.is_text { format!("on line {place}") } else { format!("at row {place}") }
    }
}

/// A number about a symbol, known from `available_at` on.
///
/// A later one of the same name restates it; at one moment there is one. No split changes it.
#[derive(Clone, Debug, PartialEq)]
pub struct Fundamental {
    /// Symbol index.
    pub symbol: usize,
    /// ISO 8601 date or time from which an agent may know it.
    pub available_at: String,
    /// Name of the number.
    pub name: String,
    /// The number.
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
