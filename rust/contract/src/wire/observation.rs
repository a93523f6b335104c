use std::collections::BTreeMap;

use openoutcry_engine::{AsOf, Book};
use serde::Deserialize;

use crate::wire::canonical_json;

/// The observation of an agent at the close of a bar.
///
/// It does not depend on later bars.
///
/// The JSON reader ignores unknown fields, as every agent must.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
pub struct MarketObservation {
    /// ISO 8601 date of the bar.
    pub date: String,
    /// Cash in units of the starting NAV, negative if borrowed.
    pub cash: f64,
    /// The listed symbols, in the order of the dataset.
    pub symbols: Vec<SymbolHistory>,
    /// The positions, in the order of the dataset.
    pub portfolio: Vec<Position>,
    /// Features of the market by name, as of the bar.
    #[serde(default)]
    pub market_features: BTreeMap<String, f64>,
}

/// A listed symbol and its last closes.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
pub struct SymbolHistory {
    /// Name of the symbol.
    pub symbol: String,
    /// Closes, oldest first, up to and including the bar.
    pub close_history: Vec<f64>,
    /// Features by name, as of the bar.
    #[serde(default)]
    pub features: BTreeMap<String, f64>,
    /// Latest known fundamentals by name.
    #[serde(default)]
    pub fundamentals: BTreeMap<String, f64>,
    /// Headlines published within the history, oldest first.
    #[serde(default)]
    pub news: Vec<String>,
}

/// A position.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Position {
    /// Name of the symbol.
    pub symbol: String,
    /// Signed shares, per starting NAV of 1.
    pub shares: f64,
    /// Average fill price of the open position.
    pub avg_price: f64,
}

impl MarketObservation {
    /// Returns the observation, with at most `lookback` closes per symbol.
    #[must_use]
    pub fn new(as_of: AsOf<'_>, book: &Book, lookback: usize) -> Self {
        let names = |i: &usize| as_of.symbol(*i).map(str::to_owned);
        let symbols = (0..as_of.n_symbols()).filter(|i| as_of.is_listed(*i)).filter_map(|i| {
            let mut close_history = vec![0.0; as_of.history_len(i, lookback)];
            as_of.close_history(i, &mut close_history);
            let news = as_of.news(i, lookback).map(str::to_owned).collect();
            let (features, fundamentals) = (by_name(as_of.features(i)), by_name(as_of.fundamentals(i)));
            Some(SymbolHistory { symbol: names(&i)?, close_history, features, fundamentals, news })
        });
        let portfolio = (0..as_of.n_symbols()).filter(|i| book.shares(*i) != 0.0).filter_map(|i| {
            Some(Position { symbol: names(&i)?, shares: book.shares(i), avg_price: book.avg_price(i) })
        });
        Self {
            date: as_of.date().to_string(),
            cash: book.cash(),
            symbols: symbols.collect(),
            portfolio: portfolio.collect(),
            market_features: by_name(as_of.market_features()),
        }
    }

    /// Returns the observation in a JSON text; unknown fields are ignored.
    ///
    /// # Errors
    ///
    /// Returns the missing field, with its position.
    pub fn from_json(text: &str) -> Result<Self, String> {
        serde_json::from_str(text).map_err(|error| format!("an observation is required; received {error}"))
    }

    /// Returns the canonical JSON of this observation.
    ///
    /// Empty optional fields are left out.
    ///
    /// # Panics
    ///
    /// Panics if a number is not finite. No engine creates one.
    #[must_use]
    pub fn to_json(&self) -> String {
        let mut text = String::new();
        open(
            &mut text,
            self.cash,
            &self.date,
            self.market_features.iter().map(|(name, value)| (name.as_str(), *value)),
        );
        canonical_json::push_array(&mut text, &self.portfolio, |text, held| {
            push_position(text, &held.symbol, held.shares, held.avg_price);
        });
        canonical_json::push_key(&mut text, "symbols");
        canonical_json::push_array(&mut text, &self.symbols, |text, symbol| {
            let closes = |text: &mut String| push_numbers(text, &symbol.close_history);
            let features = symbol.features.iter().map(|(name, value)| (name.as_str(), *value));
            let fundamentals = symbol.fundamentals.iter().map(|(name, value)| (name.as_str(), *value));
            push_symbol(text, &symbol.symbol, closes, features, fundamentals, symbol.news.iter().map(String::as_str));
        });
        text.push('}');
        text
    }
}

/// A cache of the closes of a market as JSON text.
///
/// An observation copies the text instead of formatting numbers.
///
/// It grows bar by bar from views of the market, so that it holds no close before an agent can know it.
#[derive(Clone, Debug)]
pub struct PrintedCloses {
    first: usize,
    /// Per symbol, each close followed by a comma; empty for a bar without a close.
    text: Vec<String>,
    /// Per symbol, the position of the text of each bar.
    starts: Vec<Vec<usize>>,
}

impl PrintedCloses {
    /// Returns an empty cache of the closes from bar `first` on.
    #[must_use]
    pub fn new(first: usize, n_symbols: usize) -> Self {
        Self { first, text: vec![String::new(); n_symbols], starts: vec![vec![0]; n_symbols] }
    }

    /// Formats the closes up to the bar of the view.
    fn reach(&mut self, as_of: AsOf<'_>) {
        for (symbol, (text, starts)) in self.text.iter_mut().zip(&mut self.starts).enumerate() {
            for bar in self.first + starts.len() - 1..=as_of.bar() {
                if let Some(close) = as_of.back_to(bar).close(symbol) {
                    canonical_json::push_number(text, close);
                    text.push(',');
                }
                starts.push(text.len());
            }
        }
    }

    /// Returns the last `n` closes of a symbol up to `bar`, without the last comma.
    fn last(&self, symbol: usize, bar: usize, n: usize) -> &str {
        let (start, end) = (bar + 1 - n - self.first, bar + 1 - self.first);
        let starts = &self.starts[symbol];
        &self.text[symbol][starts[start]..starts[end] - 1]
    }
}

/// Appends the canonical JSON of an observation.
///
/// The bytes are those of [`MarketObservation::to_json`], without building its parts.
///
/// # Panics
///
/// Panics if the cache begins after the first close of the observation.
pub fn write_observation(
    text: &mut String,
    as_of: AsOf<'_>,
    book: &Book,
    lookback: usize,
    printed: &mut PrintedCloses,
) {
    printed.reach(as_of);
    open(text, book.cash(), &as_of.date(), as_of.market_features());
    let held = (0..as_of.n_symbols()).filter(|i| book.shares(*i) != 0.0);
    canonical_json::push_array(text, held, |text, i| {
        push_position(text, as_of.symbol(i).unwrap_or_default(), book.shares(i), book.avg_price(i));
    });
    canonical_json::push_key(text, "symbols");
    let listed = (0..as_of.n_symbols()).filter(|i| as_of.is_listed(*i));
    canonical_json::push_array(text, listed, |text, i| {
        let n = as_of.history_len(i, lookback);
        let closes = |text: &mut String| {
            if n > 0 && as_of.is_plain(i, n) {
                text.push('[');
                text.push_str(printed.last(i, as_of.bar(), n));
                text.push(']');
            } else {
                let mut history = vec![0.0; n];
                as_of.close_history(i, &mut history);
                push_numbers(text, &history);
            }
        };
        let (features, fundamentals) = (as_of.features(i), as_of.fundamentals(i));
        push_symbol(text, as_of.symbol(i).unwrap_or_default(), closes, features, fundamentals, as_of.news(i, lookback));
    });
    text.push('}');
}

fn by_name<'a>(numbers: impl Iterator<Item = (&'a str, f64)>) -> BTreeMap<String, f64> {
    numbers.map(|(name, value)| (name.to_owned(), value)).collect()
}

fn open<'a>(text: &mut String, cash: f64, date: &str, features: impl Iterator<Item = (&'a str, f64)>) {
    text.push('{');
    canonical_json::push_key(text, "cash");
    canonical_json::push_number(text, cash);
    canonical_json::push_key(text, "date");
    canonical_json::push_string(text, date);
    push_named(text, "market_features", features);
    canonical_json::push_key(text, "portfolio");
}

fn push_numbers(text: &mut String, numbers: &[f64]) {
    canonical_json::push_array(text, numbers, |text, number| canonical_json::push_number(text, *number));
}

fn push_position(text: &mut String, symbol: &str, shares: f64, avg_price: f64) {
    text.push('{');
    canonical_json::push_key(text, "avg_price");
    canonical_json::push_number(text, avg_price);
    canonical_json::push_key(text, "shares");
    canonical_json::push_number(text, shares);
    canonical_json::push_key(text, "symbol");
    canonical_json::push_string(text, symbol);
    text.push('}');
}

fn push_symbol<'a>(
    text: &mut String,
    symbol: &str,
    push_closes: impl FnOnce(&mut String),
    features: impl Iterator<Item = (&'a str, f64)>,
    fundamentals: impl Iterator<Item = (&'a str, f64)>,
    news: impl Iterator<Item = &'a str>,
) {
    text.push('{');
    canonical_json::push_key(text, "close_history");
    push_closes(text);
    push_named(text, "features", features);
    push_named(text, "fundamentals", fundamentals);
    let mut news = news.peekable();
    if news.peek().is_some() {
        canonical_json::push_key(text, "news");
        canonical_json::push_array(text, news, canonical_json::push_string);
    }
    canonical_json::push_key(text, "symbol");
    canonical_json::push_string(text, symbol);
    text.push('}');
}

/// Appends an optional object of numbers by name; left out if it is empty.
fn push_named<'a>(text: &mut String, key: &str, numbers: impl Iterator<Item = (&'a str, f64)>) {
    let mut numbers: Vec<(&str, f64)> = numbers.collect();
    if numbers.is_empty() {
        return;
    }
    // RFC 8785 sorts keys by UTF-16 code units, not by code points.
    numbers.sort_by(|(a, _), (b, _)| a.encode_utf16().cmp(b.encode_utf16()));
    canonical_json::push_key(text, key);
    text.push('{');
    for (name, value) in numbers {
        if !text.ends_with('{') {
            text.push(',');
        }
        canonical_json::push_string(text, name);
        text.push(':');
        canonical_json::push_number(text, value);
    }
    text.push('}');
}
