//! The cases in the files, and their market, rules and environment.

use std::sync::Arc;

use openoutcry::{
    Backtest, Columns, ConfigError, CostModel, DataError, Dataset, Fundamental, Limits, NewsItem, TradingEnv, Window,
};
use serde::{Deserialize, Serialize};

#[derive(Deserialize)]
pub struct File {
    pub cases: Vec<Case>,
}

#[derive(Deserialize)]
pub struct Case {
    pub name: String,
    pub given: Given,
    pub expected: Expected,
}

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Given {
    pub dataset: Data,
    pub window: [usize; 2],
    pub lookback: usize,
    pub seed: u64,
    pub costs: Costs,
    pub limits: Limited,
    pub decisions: Vec<String>,
    #[serde(default)]
    pub weights: Vec<Vec<Option<f64>>>,
}

#[derive(Deserialize)]
pub struct Expected {
    pub reset: String,
    pub steps: Vec<Step>,
}

#[derive(Deserialize)]
pub struct Step {
    pub observation: String,
    pub reward: f64,
    pub done: bool,
    pub info: String,
}

type Table = Vec<Vec<Option<f64>>>;

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Data {
    dates: Vec<String>,
    symbols: Vec<String>,
    periods_per_year: f64,
    close: Table,
    open: Option<Table>,
    volume: Option<Table>,
    dividends: Option<Table>,
    splits: Option<Table>,
    tradable: Option<Vec<Vec<bool>>>,
    delistings: Option<Table>,
    #[serde(default)]
    fundamentals: Vec<Number>,
    #[serde(default)]
    news: Vec<Heard>,
}

#[derive(Clone, Deserialize)]
struct Number {
    symbol: String,
    available_at: String,
    name: String,
    value: f64,
}

#[derive(Clone, Deserialize)]
struct Heard {
    symbol: String,
    available_at: String,
    headline: String,
}

#[derive(Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Costs {
    fee_bps: f64,
    slippage_bps: f64,
    slippage_jitter: f64,
    impact_bps: f64,
    financing_bps: f64,
    cash_bps: f64,
    borrow_bps: f64,
    capital: f64,
}

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limited {
    max_weight: Option<f64>,
    max_gross: Option<f64>,
    allow_short: bool,
    max_participation: Option<f64>,
    maintenance_margin: f64,
}

/// Returns the cells of a table, NaN for a missing one.
fn cells(table: &Table) -> Vec<f64> {
    table.iter().flatten().map(|cell| cell.unwrap_or(f64::NAN)).collect()
}

impl Data {
    pub fn dataset(&self) -> Result<Dataset, DataError> {
        let optional = |table: &Option<Table>| table.as_ref().map(cells);
        let place = |name: &str| self.symbols.iter().position(|symbol| symbol == name).expect("a symbol");
        let fundamentals = self.fundamentals.iter().map(|item| Fundamental {
            symbol: place(&item.symbol),
            available_at: item.available_at.clone(),
            name: item.name.clone(),
            value: item.value,
        });
        let news = self.news.iter().map(|item| NewsItem {
            symbol: place(&item.symbol),
            available_at: item.available_at.clone(),
            headline: item.headline.clone(),
        });
        Dataset::new(Columns {
            dates: self.dates.clone().into(),
            symbols: self.symbols.clone(),
            periods_per_year: self.periods_per_year,
            close: cells(&self.close),
            open: optional(&self.open),
            volume: optional(&self.volume),
            dividends: optional(&self.dividends),
            splits: optional(&self.splits),
            tradable: self.tradable.as_ref().map(|table| table.concat()),
            delistings: optional(&self.delistings),
            fundamentals: fundamentals.collect(),
            news: news.collect(),
            features: Vec::new(),
            ..Columns::default()
        })
    }
}

impl Given {
    pub fn window(&self) -> Window {
        Window { start: self.window[0], end: self.window[1] }
    }

    pub fn costs(&self) -> CostModel {
        let costs = &self.costs;
        CostModel {
            fee_bps: costs.fee_bps,
            slippage_bps: costs.slippage_bps,
            slippage_jitter: costs.slippage_jitter,
            impact_bps: costs.impact_bps,
            financing_bps: costs.financing_bps,
            cash_bps: costs.cash_bps,
            borrow_bps: costs.borrow_bps,
            capital: costs.capital,
            ..CostModel::zero()
        }
    }

    pub fn limits(&self) -> Limits {
        let limits = &self.limits;
        Limits {
            max_weight: limits.max_weight.unwrap_or(f64::INFINITY),
            max_gross: limits.max_gross.unwrap_or(f64::INFINITY),
            allow_short: limits.allow_short,
            max_participation: limits.max_participation,
            maintenance_margin: limits.maintenance_margin,
            ..Limits::default()
        }
    }

    pub fn environment(&self) -> Result<TradingEnv, ConfigError> {
        let data = Arc::new(self.dataset.dataset().expect("a valid market"));
        let env = TradingEnv::new(data, self.window(), self.costs(), self.seed)?.with_limits(self.limits())?;
        env.with_lookback(self.lookback)
    }

    pub fn backtest<'a>(&self, data: &'a Dataset) -> Backtest<'a> {
        let backtest = Backtest::new(data, self.window(), self.seed, self.costs()).expect("a valid window");
        backtest.with_limits(self.limits()).expect("valid limits")
    }

    /// Returns the weights of the window, NaN for a hold and after the last decision.
    pub fn table(&self) -> Vec<f64> {
        let mut table = cells(&self.weights);
        table.resize(self.window().n_decisions() * self.dataset.symbols.len(), f64::NAN);
        table
    }

    /// Returns the rows of weights if they have no hold.
    pub fn full_rows(&self) -> Option<Vec<Vec<f64>>> {
        self.weights.iter().map(|row| row.iter().copied().collect()).collect()
    }
}
