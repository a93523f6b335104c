//! The tables of a dataset, read back as columns.

use crate::error::DataError;
use crate::market::charges::Charge;
use crate::market::columns::{Columns, Fundamental, NewsItem};
use crate::market::corporate_actions::ActionTable;
use crate::market::dataset::Dataset;
use crate::market::grid::Grid;

impl Dataset {
    /// Returns one column, time-major, if the dataset has it.
    ///
    /// A missing value is NaN. Names: `open`, `high`, `low`, `close`, `volume`, `dividends`, `splits`, `tradable` (1 or
    /// 0), `delistings`, and the names of [`Charge`].
    #[must_use]
    pub fn column(&self, name: &str) -> Option<Vec<f64>> {
        let cells = |get: &dyn Fn(usize, usize) -> f64| {
            (0..self.n_bars()).flat_map(|bar| (0..self.n_symbols()).map(move |i| get(bar, i))).collect()
        };
        let dense = |table: &Grid| table.values(self.n_symbols());
        let rare = |table: &ActionTable| cells(&|bar, i| table.get(bar, i));
        match name {
            "close" => Some(dense(&self.tables.close)),
            "open" => self.tables.open.as_ref().map(dense),
            "high" => self.tables.high.as_ref().map(dense),
            "low" => self.tables.low.as_ref().map(dense),
            "volume" => self.tables.volume.as_ref().map(dense),
            "dividends" => self.tables.dividends.as_ref().map(rare),
            "splits" => self.tables.splits.as_ref().map(rare),
            "tradable" => self.tables.tradable.as_ref().map(rare),
            "delistings" => self.tables.delistings.as_ref().map(rare),
            name => {
                let charge = Charge::ALL.into_iter().find(|charge| charge.name() == name)?;
                self.tables.charges.table(charge).map(dense)
            }
        }
    }

    /// Returns the tables as columns.
    pub(crate) fn columns(&self) -> Columns {
        Columns {
            dates: self.dates.clone(),
            symbols: self.symbols.clone(),
            close: self.column("close").unwrap_or_default(),
            open: self.column("open"),
            high: self.column("high"),
            low: self.column("low"),
            volume: self.column("volume"),
            dividends: self.column("dividends"),
            splits: self.column("splits"),
            delistings: self.column("delistings"),
            tradable: self.column("tradable").map(|table| table.into_iter().map(|allowed| allowed != 0.0).collect()),
            charges: Charge::ALL.map(|charge| self.column(charge.name())),
            periods_per_year: self.periods_per_year,
            ..Columns::default()
        }
    }

    /// Returns this dataset with other charges, in the order of [`Charge::ALL`].
    ///
    /// # Errors
    ///
    /// Returns the first charge of another shape or out of its range.
    pub fn with_charges(&self, charges: [Option<Vec<f64>>; 4]) -> Result<Self, DataError> {
        let fundamentals = self.fundamentals.iter().map(|known| Fundamental {
            symbol: known.symbol,
            available_at: known.available_at.clone(),
            name: known.item.0.clone(),
            value: known.item.1,
        });
        let news = self.news.iter().map(|known| NewsItem {
            symbol: known.symbol,
            available_at: known.available_at.clone(),
            headline: known.item.clone(),
        });
        Self::new(Columns {
            charges,
            risk_free: self.risk_free.clone(),
            fundamentals: fundamentals.collect(),
            news: news.collect(),
            features: self.features.clone(),
            ..self.columns()
        })
    }
}
