//! A market in JSON: columns by name, one row per bar, `null` for a missing value.

use openoutcry::{Columns, Feature, FeatureScope, Fundamental, NewsItem, Origin};
use serde::Deserialize;
use wasm_bindgen::JsValue;

use crate::error::raise;
use crate::json_number::{Number, given};

type Table = Vec<Vec<Option<Number>>>;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Market {
    dates: Vec<String>,
    symbols: Vec<String>,
    #[serde(default, deserialize_with = "given")]
    periods_per_year: Option<Number>,
    close: Table,
    #[serde(default, deserialize_with = "given")]
    open: Option<Table>,
    #[serde(default, deserialize_with = "given")]
    high: Option<Table>,
    #[serde(default, deserialize_with = "given")]
    low: Option<Table>,
    #[serde(default, deserialize_with = "given")]
    volume: Option<Table>,
    #[serde(default, deserialize_with = "given")]
    dividends: Option<Table>,
    #[serde(default, deserialize_with = "given")]
    splits: Option<Table>,
    #[serde(default, deserialize_with = "given")]
    tradable: Option<Vec<Vec<bool>>>,
    #[serde(default, deserialize_with = "given")]
    delistings: Option<Table>,
    #[serde(default, deserialize_with = "given")]
    half_spread_bps: Option<Table>,
    #[serde(default, deserialize_with = "given")]
    fee_bps: Option<Table>,
    #[serde(default, deserialize_with = "given")]
    borrow_bps: Option<Table>,
    #[serde(default, deserialize_with = "given")]
    funding: Option<Table>,
    #[serde(default, deserialize_with = "given")]
    risk_free: Option<Vec<Number>>,
    #[serde(default)]
    fundamentals: Vec<Known>,
    #[serde(default)]
    news: Vec<Heard>,
    #[serde(default)]
    features: Vec<NamedFeature>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Known {
    symbol: String,
    available_at: String,
    name: String,
    value: Number,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Heard {
    symbol: String,
    available_at: String,
    headline: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NamedFeature {
    name: String,
    values: FeatureValues,
}

/// One row per bar, or one number per bar of a feature of the market.
#[derive(Deserialize)]
#[serde(untagged)]
enum FeatureValues {
    Symbol(Table),
    Market(Vec<Option<Number>>),
}

impl NamedFeature {
    fn feature(self, shape: (usize, usize)) -> Result<Feature, JsValue> {
        let (scope, values) = match self.values {
            FeatureValues::Symbol(table) => (FeatureScope::Symbol, numbers(&self.name, &table, shape)?),
            FeatureValues::Market(values) => (FeatureScope::Market, values.into_iter().map(number_or_nan).collect()),
        };
        Ok(Feature { name: self.name, scope, values })
    }
}

impl Market {
    /// Returns the columns, and the bars per year if they are stated.
    pub(crate) fn columns(self) -> Result<(Columns, Option<f64>), JsValue> {
        let shape = (self.dates.len(), self.symbols.len());
        let place = |name: &str| {
            let found = self.symbols.iter().position(|symbol| symbol == name);
            found.ok_or_else(|| {
                raise("symbol_invalid", &format!("a symbol of the dataset is required; received {name:?}"))
            })
        };
        let known = self.fundamentals.into_iter().map(|Known { symbol, available_at, name, value }| {
            Ok(Fundamental { symbol: place(&symbol)?, available_at, name, value: value.0 })
        });
        let fundamentals = known.collect::<Result<_, JsValue>>()?;
        let heard = self.news.into_iter().map(|Heard { symbol, available_at, headline }| {
            Ok(NewsItem { symbol: place(&symbol)?, available_at, headline })
        });
        let news = heard.collect::<Result<_, JsValue>>()?;
        let features = self.features.into_iter().map(|feature| feature.feature(shape));
        let features = features.collect::<Result<_, JsValue>>()?;
        let table = |name: &str, table: Option<Table>| table.map(|table| numbers(name, &table, shape)).transpose();
        let stated = self.periods_per_year.map(|Number(bars)| bars);
        let columns = Columns {
            close: numbers("close", &self.close, shape)?,
            open: table("open", self.open)?,
            high: table("high", self.high)?,
            low: table("low", self.low)?,
            volume: table("volume", self.volume)?,
            dividends: table("dividends", self.dividends)?,
            splits: table("splits", self.splits)?,
            tradable: self.tradable.map(|mask| cells("tradable", &mask, shape)).transpose()?,
            delistings: table("delistings", self.delistings)?,
            charges: [
                table("half_spread_bps", self.half_spread_bps)?,
                table("fee_bps", self.fee_bps)?,
                table("borrow_bps", self.borrow_bps)?,
                table("funding", self.funding)?,
            ],
            risk_free: self.risk_free.map(|rates| rates.into_iter().map(|Number(rate)| rate).collect()),
            periods_per_year: 0.0,
            origin: Origin::default(),
            dates: self.dates.into(),
            symbols: self.symbols,
            fundamentals,
            news,
            features,
        };
        Ok((columns, stated))
    }
}

fn numbers(name: &str, table: &Table, shape: (usize, usize)) -> Result<Vec<f64>, JsValue> {
    let values = cells(name, table, shape)?;
    Ok(values.into_iter().map(number_or_nan).collect())
}

fn number_or_nan(cell: Option<Number>) -> f64 {
    cell.map_or(f64::NAN, |Number(value)| value)
}

/// Returns the cells of a table, row by row.
///
/// A row of another length would shift the rows after it.
fn cells<T: Copy>(name: &str, table: &[Vec<T>], (n_bars, n_symbols): (usize, usize)) -> Result<Vec<T>, JsValue> {
    let odd = table.iter().find(|row| row.len() != n_symbols).map_or(n_symbols, Vec::len);
    if table.len() != n_bars || odd != n_symbols {
        let wanted = format!("`{name}` must have shape ({n_bars}, {n_symbols})");
        return Err(raise("shape_mismatch", &format!("{wanted}; received ({}, {odd})", table.len())));
    }
    Ok(table.concat())
}
