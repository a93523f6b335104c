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
}

/// A number about a symbol, known from `available_at` on.
///
/// A later one of the same name restates it.
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
